import Testing

@testable import AssayLoad

@Suite("Latencies")
struct LatenciesTests {
    private static func latencies(_ values: some Sequence<UInt64>) -> Latencies {
        var latencies = Latencies()
        for value in values { latencies.note(value) }
        return latencies
    }

    @Test(
        "three significant digits, from the unit of 512 ns to a minute",
        arguments: [
            (0, 511), (511, 511), (512, 1023), (1_048_063, 1_048_063), (1_048_064, 1_048_575),
            (1_048_576, 1_049_599), (2_097_151, 2_097_151), (2_097_152, 2_099_199),
            (5_000_000, 5_001_215), (59_999_999_999, 60_028_878_847),
            (60_000_000_000, 60_028_878_847),
        ] as [(UInt64, UInt64)])
    func steps(value: UInt64, highest: UInt64) {
        // The second value is larger, because the largest one is kept as it is.
        let latencies = Self.latencies([value, 60_000_000_000])
        #expect(latencies.value(at: 50) == min(highest, 60_000_000_000))
    }

    @Test("values above a minute count as a minute")
    func longest() {
        let latencies = Self.latencies([60_000_000_001, .max])
        #expect(latencies.totalCount == 2 && latencies.milliseconds(at: 100) == 60_000)
    }

    @Test(
        "percentiles are the smallest value with that share",
        arguments: [
            (0.0, 1), (0.1, 1), (0.11, 2), (50.0, 500), (50.001, 501), (99.0, 990), (99.9, 999),
            (99.91, 1000), (100.0, 1000),
        ])
    func percentiles(percentile: Double, expected: Int) {
        // Units of 512 ns in bucket 0, where each is counted on its own.
        let latencies = Self.latencies((1...1000).map { $0 * 512 })
        #expect(latencies.value(at: percentile) >> 9 == expected)
    }

    @Test("without latencies, each percentile is 0, and there are no steps")
    func empty() {
        let latencies = Latencies()
        #expect(latencies.milliseconds(at: 99) == 0 && latencies.milliseconds(at: 100) == 0)
        #expect(latencies.percentiles(ticksPerHalfDistance: 5).isEmpty)
        #expect(latencies.percentileDistribution.contains("#[Max     =        0.000, Total"))
    }

    @Test("the sum of two has the latencies of both")
    func sum() {
        var sum = Self.latencies([1_000_000])
        sum.add(Self.latencies([3_000_000, 3_000_000]))
        #expect(sum.totalCount == 3)
        #expect(sum.milliseconds(at: 30) < 1.01 && sum.milliseconds(at: 100) == 3)
    }

    /// What HdrHistogram 0.2.0 for Swift printed for the same latencies.
    @Test("HdrHistogram's text")
    func text() {
        #expect(Self.latencies((1...4).map { $0 * 1_000_000 }).percentileDistribution == Self.four)
    }

    private static let four = """
               Value     Percentile TotalCount 1/(1-Percentile)

               1.000 0.000000000000          1           1.00
               1.000 0.100000000000          1           1.11
               1.000 0.200000000000          1           1.25
               2.001 0.300000000000          2           1.43
               2.001 0.400000000000          2           1.67
               2.001 0.500000000000          2           2.00
               3.000 0.550000000000          3           2.22
               3.000 0.600000000000          3           2.50
               3.000 0.650000000000          3           2.86
               3.000 0.700000000000          3           3.33
               3.000 0.750000000000          3           4.00
               4.002 0.775000000000          4           4.44
               4.002 1.000000000000          4
        #[Mean    =        2.500, StdDeviation   =        1.118]
        #[Max     =        4.002, Total count    =            4]
        #[Buckets =           17, SubBuckets     =         2048]

        """
}
