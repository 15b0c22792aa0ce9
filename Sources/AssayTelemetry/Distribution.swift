/// Counts of values between fixed bounds: a Prometheus histogram. Adding a value allocates
/// nothing and takes about ten comparisons at most.
package struct Distribution: Equatable, Sendable {
    /// The upper bounds, inclusive and ascending. `counts` has one more bucket, above the last
    /// bound.
    package let bounds: [UInt64]
    package private(set) var counts: [UInt64]
    package private(set) var sum: UInt64 = 0
    /// The last traced value of each bucket; empty until the first one.
    package private(set) var exemplars: [Exemplar?] = []

    package init(bounds: [UInt64]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    package var count: UInt64 { counts.reduce(0, &+) }

    /// - Parameter exemplar: where the value comes from; nil for most.
    package mutating func add(_ value: UInt64, from exemplar: Exemplar? = nil) {
        var (low, high) = (0, bounds.count)
        while low < high {
            let middle = (low + high) / 2
            if bounds[middle] < value { low = middle + 1 } else { high = middle }
        }
        counts[low] &+= 1
        sum &+= value
        if let exemplar { keep(exemplar, value, in: low) }
    }

    private mutating func keep(_ exemplar: Exemplar, _ value: UInt64, in bucket: Int) {
        if exemplars.isEmpty { exemplars = Array(repeating: nil, count: counts.count) }
        exemplars[bucket] = exemplar
        exemplars[bucket]?.value = value
    }

    /// Adds the values of another distribution with the same bounds.
    package mutating func add(_ other: Distribution) {
        for index in counts.indices { counts[index] &+= other.counts[index] }
        sum &+= other.sum
        guard !other.exemplars.isEmpty else { return }
        if exemplars.isEmpty { exemplars = Array(repeating: nil, count: counts.count) }
        for (bucket, theirs) in other.exemplars.enumerated() {
            guard let theirs else { continue }
            if let mine = exemplars[bucket], mine.time >= theirs.time { continue }
            exemplars[bucket] = theirs
        }
    }

    /// The values added since an earlier state of the same distribution.
    package func since(_ earlier: Distribution) -> Distribution {
        var difference = self
        for index in counts.indices { difference.counts[index] &-= earlier.counts[index] }
        difference.sum &-= earlier.sum
        return difference
    }

    /// The given quantile, interpolated linearly within its bucket; nil without values. Values
    /// above the last bound count as that bound.
    package func quantile(_ fraction: Double) -> Double? {
        let total = count
        guard total > 0 else { return nil }
        let rank = fraction * Double(total)
        var below: UInt64 = 0
        for (index, bound) in bounds.enumerated() {
            let here = counts[index]
            if here > 0, Double(below + here) >= rank {
                let lower = index == 0 ? 0 : Double(bounds[index - 1])
                let part = max(rank - Double(below), 0) / Double(here)
                return lower + (Double(bound) - lower) * part
            }
            below += here
        }
        return bounds.last.map { Double($0) }
    }
}

extension Distribution {
    /// Bounds in nanoseconds, from below the quickest verification to above the longest timeout
    /// of a request: about five per decade where answers usually lie, for a smooth curve.
    package static let times = Distribution(
        bounds: [
            20, 50, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000,
            15_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
            5_000_000, 10_000_000, 30_000_000,
        ].map { $0 * 1_000 })

    /// Requests that one worker takes at a time.
    package static let batchSizes = Distribution(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256])
}
