import AssayIO
import BenchAllocations
import Foundation

/// One thing that is measured in process.
struct Measurement {
    let name: String
    /// What one call of `body` does, for instance signatures of a batch.
    let unitsPerCall: Int
    let body: () -> Void
    /// Microseconds of processor time a unit, one for each round: others on the machine disturb
    /// it less than they do a clock.
    private(set) var samples: [Double] = []

    init(_ name: String, units: Int = 1, _ body: @escaping () -> Void) {
        self.name = name
        unitsPerCall = units
        self.body = body
    }

    var median: Double { samples.median }
    /// From the first to the third quarter.
    var spread: Double { samples.spread }

    /// Calls for about that long.
    mutating func sample(for duration: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        let used = ProcessorTime.ofThread
        var calls = 0
        repeat {
            body()
            calls += 1
        } while start.duration(to: clock.now) < duration
        samples.append(
            Double(ProcessorTime.ofThread - used) / 1e3 / Double(calls * unitsPerCall))
    }

    static func rounds(
        _ count: Int, of duration: Duration, _ measurements: inout [Measurement]
    ) {
        for _ in 0..<count {
            for index in measurements.indices { measurements[index].sample(for: duration) }
        }
    }

    /// As a row; `base` ÷ it is its ratio.
    func row(against base: Measurement? = nil) -> Row {
        guard let base else { return row }
        var row = row(withRatios: zip(base.samples, samples).map { $0 / $1 })
        row.isMoreBetter = true
        return row
    }

    /// As a row of which more is worse: it ÷ `base` is its ratio.
    func row(over base: Measurement) -> Row {
        row(withRatios: zip(base.samples, samples).map { $1 / $0 })
    }

    /// Of each round, whose parts follow each other at once: a machine that others use, too, is
    /// now faster and now slower.
    private func row(withRatios ratios: [Double]) -> Row {
        var row = row
        row.ratio = ratios.median
        row.ratioSpread = ratios.spread
        return row
    }

    /// What malloc is asked for a unit, in the steady state, by Swift and OpenSSL together.
    func allocations(as name: String) -> Row {
        let calls = 10
        for _ in 0..<calls { body() }
        let before = bench_allocations()
        for _ in 0..<calls { body() }
        let count = Double(bench_allocations() - before)
        return Row(name: name, value: count / Double(calls * unitsPerCall), spread: 0, unit: "")
    }

    private var row: Row {
        Row(name: name, value: median, spread: spread, unit: "µs", rounds: samples.count)
    }
}

extension [Double] {
    /// Each ÷ the mean of the two of a base that it was measured between.
    func ratios(between base: [Double]) -> [Double] {
        precondition(base.count == count + 1)
        return indices.map { 2 * self[$0] / (base[$0] + base[$0 + 1]) }
    }

    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
    var spread: Double {
        isEmpty ? 0 : sorted()[count * 3 / 4] - sorted()[count / 4]
    }
}

extension Duration {
    var microseconds: Double {
        Double(components.seconds) * 1e6 + Double(components.attoseconds) / 1e12
    }
}

extension Double {
    /// With two digits behind the point, or none where there are many before it.
    var short: String {
        isFinite ? String(format: abs(self) < 1000 ? "%.2f" : "%.0f", self) : "-"
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: Swift.max(0, width - count)) + self
    }
}
