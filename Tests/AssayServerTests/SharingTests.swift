import Testing

@testable import AssayServer
@testable import AssayService

/// What a busy worker gives to idle ones.
@Suite struct SharingTests {
    @Test("A millisecond of work, then the sockets; a read can take as long as the work")
    func shareOfTheLoop() {
        let slice: UInt64 = 1_000_000
        var share = LoopQuota(began: 1000)
        for (worked, canWork) in [(0, true), (slice - 1, true), (slice, false), (2 * slice, false)]
        {
            share.worked = worked
            #expect(share.canWork == canWork)
            #expect(share.canRead(at: 1000 + worked + slice - 1))
            #expect(!share.canRead(at: 1000 + worked + slice))
        }
        // A rest without reading makes the share longer.
        share.end = 3 * slice
        #expect(share.canWork)
    }

    @Test(
        "The first slice goes when two wait, the next when one does, the rest unless it is tiny",
        arguments: [
            (requestsPerSlice: 64, slice: 64, rest: 32, tooFew: 8),
            (requestsPerSlice: 10, slice: 10, rest: 5, tooFew: 5),
            (requestsPerSlice: 1, slice: 2, rest: 1, tooFew: 1),
        ])
    func least(_ expected: (requestsPerSlice: Int, slice: Int, rest: Int, tooFew: Int)) {
        let batch = Batch(backgroundThreads: 1, requestsPerSlice: expected.requestsPerSlice)
        #expect(batch.leastToLend(keeping: .slice) == expected.slice)
        #expect(batch.leastToLend(keeping: .rest) == expected.rest)
        #expect(batch.leastToLend(keeping: .tooFew) == expected.tooFew)
    }
}
