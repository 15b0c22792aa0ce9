import AssayIO
import BenchAllocations
import Foundation

/// One in-process measurement.
struct Measurement {
    let name: String
    /// The work of one call of `body`, for example the number of signatures in a batch.
    let unitsPerCall: Int
    /// Runs before each call of `body`, and is not measured.
    let prepare: (() -> Void)?
    let body: () -> Void
    /// Microseconds of processor time per unit, one value per round. Other processes disturb
    /// processor time less than wall-clock time.
    private(set) var samples: [Double] = []

    init(
        _ name: String, units: Int = 1, prepare: (() -> Void)? = nil,
        _ body: @escaping () -> Void
    ) {
        self.name = name
        unitsPerCall = units
        self.prepare = prepare
        self.body = body
    }

    var median: Double { samples.median }
    /// The interquartile range.
    var spread: Double { samples.spread }

    /// Calls `body` repeatedly for about the given duration.
    mutating func sample(for duration: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        var used = ProcessorTime.ofThread
        var calls = 0
        repeat {
            if let prepare {
                let before = ProcessorTime.ofThread
                prepare()
                used += ProcessorTime.ofThread - before
            }
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

    /// The row of this measurement. Its ratio is `base` ÷ this; more is better.
    func row(against base: Measurement? = nil) -> Row {
        guard let base else { return row }
        var row = row(withRatios: zip(base.samples, samples).map { $0 / $1 })
        row.isMoreBetter = true
        return row
    }

    /// The row of this measurement. Its ratio is this ÷ `base`; less is better.
    func row(over base: Measurement) -> Row {
        row(withRatios: zip(base.samples, samples).map { $1 / $0 })
    }

    /// Takes the ratio within each round, where the measurements follow each other directly: the
    /// speed of a shared machine varies over time.
    private func row(withRatios ratios: [Double]) -> Row {
        var row = row
        row.ratio = ratios.median
        row.ratioSpread = ratios.spread
        return row
    }

    /// The number of malloc calls per unit in the steady state, by Swift and OpenSSL together.
    func allocations(as name: String) -> Row {
        let calls = 10
        for _ in 0..<calls { body() }
        let before = bench_allocations()
        for _ in 0..<calls { body() }
        let count = Double(bench_allocations() - before)
        return Row(name: name, value: count / Double(calls * unitsPerCall), spread: 0, unit: "")
    }

    /// The row without a ratio.
    var row: Row {
        Row(name: name, value: median, spread: spread, unit: "µs", rounds: samples.count)
    }
}

extension [Double] {
    /// Each value ÷ the mean of the base values measured before and after it.
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
    /// The number with two digits after the decimal point, or none from 1000 on.
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
