/// Latencies in nanoseconds, with three significant digits: a histogram with the layout of
/// HdrHistogram. Values are counted up to `LoadLimits.longestLatency`.
///
/// Bucket 0 counts the values below 2048 units, unit by unit. Each further bucket counts the upper
/// half of a range twice as large, in steps twice as large.
package struct Latencies: Sendable {
    /// The logarithm of a unit: 512 ns.
    private static let unitBits = 9
    /// The logarithm of the number of steps of half a bucket. A whole one has 2048, so that 1999
    /// and 2000 units differ.
    private static let halfBits = 10

    private var counts: [UInt64]
    private var most: UInt64 = 0
    package private(set) var totalCount: UInt64 = 0

    package init() {
        counts = Array(repeating: 0, count: Self.index(of: LoadLimits.longestLatency) + 1)
    }

    package mutating func note(_ nanoseconds: UInt64) {
        let value = min(nanoseconds, LoadLimits.longestLatency)
        counts[Self.index(of: value)] += 1
        totalCount += 1
        most = max(most, value)
    }

    mutating func add(_ other: Latencies) {
        for index in counts.indices { counts[index] += other.counts[index] }
        totalCount += other.totalCount
        most = max(most, other.most)
    }

    // MARK: Layout

    private static func index(of value: UInt64) -> Int {
        let bits = UInt64.bitWidth - value.leadingZeroBitCount
        let bucket = max(0, bits - unitBits - halfBits - 1)
        return bucket << halfBits + Int(value >> UInt64(bucket + unitBits))
    }

    /// The values that are counted at an index.
    private static func range(at index: Int) -> (lowest: UInt64, highest: UInt64) {
        let bucket = max(0, index >> halfBits - 1)
        let step = index - bucket << halfBits
        let lowest = UInt64(step) << UInt64(bucket + unitBits)
        return (lowest, lowest + 1 << UInt64(bucket + unitBits) - 1)
    }

    // MARK: Percentiles

    /// The smallest latency that at least this percentage of the latencies does not exceed; 0
    /// without latencies.
    func value(at percentile: Double) -> UInt64 {
        guard percentile < 100 else { return most }
        let wanted = max(1, (percentile.nextDown * Double(totalCount) / 100).rounded(.up))
        var count: UInt64 = 0
        for index in counts.indices {
            count += counts[index]
            if Double(count) >= wanted { return min(Self.range(at: index).highest, most) }
        }
        return 0
    }

    /// The latency at a percentile, in milliseconds.
    package func milliseconds(at percentile: Double) -> Double {
        Double(value(at: percentile)) / 1e6
    }

    struct Step {
        let percentile: Double
        let value: UInt64
        /// The number of latencies up to this one.
        let count: UInt64
    }

    /// The percentiles from 0 to 100 and their latencies. The steps become smaller: each half of
    /// the distance to 100 has the same number of ticks.
    func percentiles(ticksPerHalfDistance ticks: Int) -> [Step] {
        var steps: [Step] = []
        var (percentile, count) = (0.0, UInt64(0))
        for index in counts.indices where counts[index] > 0 {
            count += counts[index]
            let value = Self.range(at: index).highest
            while count < totalCount || steps.last?.count != totalCount,
                100 * Double(count) / Double(totalCount) >= percentile
            {
                steps.append(Step(percentile: percentile, value: value, count: count))
                // The distance to 100 was halved so often.
                let halvings = (100 / (100 - percentile)).exponent
                percentile += 100 / Double(ticks << (halvings + 1))
            }
            if count == totalCount {
                steps.append(Step(percentile: 100, value: value, count: count))
            }
        }
        return steps
    }

    // MARK: Text

    /// The percentile distribution in HdrHistogram's text form, in milliseconds.
    var percentileDistribution: String {
        var text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
        for step in percentiles(ticksPerHalfDistance: 5) {
            let share = step.percentile / 100
            text += Self.milliseconds(step.value) + " " + Self.fixed(share, digits: 12, width: 14)
            text += " " + Self.padded("\(step.count)", 10)
            if share < 1 { text += " " + Self.fixed(1 / (1 - share), digits: 2, width: 14) }
            text += "\n"
        }
        let (mean, deviation) = moments
        let count = Self.padded("\(totalCount)", 12)
        let highest = totalCount == 0 ? 0 : Self.range(at: Self.index(of: most)).highest
        text += "#[Mean    = \(Self.fixed(mean / 1e6, digits: 3, width: 12)), "
        text += "StdDeviation   = \(Self.fixed(deviation / 1e6, digits: 3, width: 12))]\n"
        text += "#[Max     = \(Self.milliseconds(highest)), Total count    = \(count)]\n"
        let buckets = Self.index(of: LoadLimits.longestLatency) >> Self.halfBits
        text += "#[Buckets = \(Self.padded("\(buckets)", 12)), "
        text += "SubBuckets     = \(Self.padded("2048", 12))]\n"
        return text
    }

    /// The mean and the standard deviation. Each latency counts as the middle of its step.
    private var moments: (mean: Double, deviation: Double) {
        guard totalCount > 0 else { return (0, 0) }
        func average(_ value: (Double) -> Double) -> Double {
            var sum = 0.0
            for index in counts.indices where counts[index] > 0 {
                let (lowest, highest) = Self.range(at: index)
                sum += value(Double(lowest + (highest - lowest + 1) / 2)) * Double(counts[index])
            }
            return sum / Double(totalCount)
        }
        let mean = average { $0 }
        return (mean, average { ($0 - mean) * ($0 - mean) }.squareRoot())
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> String {
        fixed(Double(nanoseconds) / 1e6, digits: 3, width: 12)
    }

    /// A number that is not negative, with this many decimal digits.
    private static func fixed(_ value: Double, digits: Int, width: Int) -> String {
        let unit = (0..<digits).reduce(UInt64(1)) { unit, _ in unit * 10 }
        let scaled = UInt64((value * Double(unit)).rounded())
        let fraction = String(scaled % unit)
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return padded("\(scaled / unit).\(zeros)\(fraction)", width)
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
