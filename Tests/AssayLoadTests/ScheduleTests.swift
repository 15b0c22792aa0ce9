import AssayModels
import AssayWire
import Testing

@testable import AssayLoad

@Suite("Schedules and mixes")
struct ScheduleTests {
    /// Returns the times of the first requests, in nanoseconds after the start.
    private func times(
        _ count: Int, rate: Double, _ arrivals: Arrivals, index: Int = 0, of parts: Int = 1
    ) -> [UInt64] {
        let start: UInt64 = 7_000_000_000_000
        var schedule = Schedule(rate: rate, arrivals, from: start, index: index, of: parts)
        return (0..<count).map { _ in
            defer { schedule.advance() }
            return schedule.next - start
        }
    }

    @Test("constant gaps are equal")
    func constant() {
        #expect(times(4, rate: 1000, .constant) == [1_000_000, 2_000_000, 3_000_000, 4_000_000])
        // The interval is not a whole number of nanoseconds. Rounding errors must not add up.
        let last = times(300_000, rate: 3000, .constant)[299_999]
        #expect(abs(Int64(last) - 100_000_000_000) <= 1)
    }

    @Test("constant gaps of several threads interleave")
    func interleaved() {
        let parts = (0..<4).map { times(2, rate: 4000, .constant, index: $0, of: 4) }
        #expect(
            parts.flatMap(\.self).sorted() == (1...8).map { UInt64($0) * 250_000 })
    }

    @Test("Poisson arrivals: exponential gaps with the mean of the rate")
    func poisson() {
        let count = 100_000
        let due = times(count, rate: 2000, .poisson)
        let gaps = zip(due.dropFirst(), due).map { Double($0 - $1) }
        let mean = gaps.reduce(0, +) / Double(gaps.count)
        #expect(abs(mean / 500_000 - 1) < 0.01)
        // An exponential distribution's standard deviation equals its mean, and 1/e of it lies
        // above.
        let variance = gaps.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(gaps.count)
        #expect(abs(variance.squareRoot() / mean - 1) < 0.02)
        let above = Double(gaps.count { $0 > mean }) / Double(gaps.count)
        #expect(abs(above - 0.3679) < 0.01)
    }

    @Test("Poisson gaps are independent, also between threads")
    func independent() {
        func correlation(_ left: [Double], _ right: [Double]) -> Double {
            let count = Double(min(left.count, right.count))
            let (a, b) = (left.reduce(0, +) / count, right.reduce(0, +) / count)
            let pairs = zip(left, right)
            let both = pairs.map { ($0 - a) * ($1 - b) }.reduce(0, +)
            let first = pairs.map { ($0.0 - a) * ($0.0 - a) }.reduce(0, +)
            let second = pairs.map { ($0.1 - b) * ($0.1 - b) }.reduce(0, +)
            return both / (first * second).squareRoot()
        }
        func gaps(_ index: Int) -> [Double] {
            let due = times(50_001, rate: 1000, .poisson, index: index, of: 2)
            return zip(due.dropFirst(), due).map { Double($0 - $1) }
        }
        let (one, two) = (gaps(0), gaps(1))
        // For 50,000 independent pairs, 0.02 is more than four standard deviations.
        #expect(abs(correlation(one, Array(one.dropFirst()) + [one[0]])) < 0.02)
        #expect(abs(correlation(one, two)) < 0.02)
        #expect(one != two)
        #expect(one == gaps(0), "the same seed, the same times")
    }

    private func group(_ name: String, _ weight: Double, _ count: Int) -> LoadGroup {
        let call = VerifyCall(kind: .transaction)
        let items = (0..<count).map { LoadItem(call, [UInt8($0)], expecting: .valid) }
        return LoadGroup(name, weight: weight, items)
    }

    @Test("a mix takes groups by weight, and a group's items in turn")
    func mix() {
        let groups = [group("a", 3, 5), group("b", 1, 2), group("none", 0, 1)]
        var mix = Mix(groups, index: 0, of: 1)
        let taken = (0..<40_000).map { _ in mix.take() }
        let share = Double(taken.count { $0.group == 0 }) / Double(taken.count)
        #expect(abs(share - 0.75) < 0.01)
        #expect(!taken.contains { $0.group == 2 })
        let first = taken.filter { $0.group == 0 }.prefix(7).map { $0.item.evidence[0] }
        #expect(first == [0, 1, 2, 3, 4, 0, 1])
    }

    @Test("threads divide a group's items")
    func strides() {
        let groups = [group("a", 1, 6)]
        let taken = (0..<2).map { index in
            var mix = Mix(groups, index: index, of: 2)
            return (0..<3).map { _ in mix.take().item.evidence[0] }
        }
        #expect(taken == [[0, 2, 4], [1, 3, 5]])
    }
}
