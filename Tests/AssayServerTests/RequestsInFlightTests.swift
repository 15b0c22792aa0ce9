import AssayMint
import Testing

@testable import AssayService
@testable import AssayTelemetry

/// The requests of a connection that are in flight, and those that were given up.
@Suite struct RequestsInFlightTests {
    private static let cost = RequestCost(bytes: 100, state: 100, answer: 50)

    @Test("ids in any order are in flight until they end, each once")
    func ids() {
        var random = SplitMix64(state: 7)
        var requests = RequestsInFlight()
        var expected: Set<UInt64> = []
        for _ in 0..<5000 {
            let id = UInt64.random(in: 1...200, using: &random)
            if Bool.random(using: &random) {
                requests.insert(id)
                expected.insert(id)
            } else {
                requests.remove(id)
                expected.remove(id)
            }
            #expect(requests.count == expected.count)
            #expect(requests.contains(id) == expected.contains(id))
        }
        let found = (0...201 as ClosedRange<UInt64>).filter { requests.contains($0) }
        #expect(found == expected.sorted())
        for id: UInt64 in [.max, 0, .max - 1] { requests.insert(id) }
        #expect(requests.contains(.max) && requests.contains(0) && requests.contains(.max - 1))
    }

    @Test("a request that has ended is not given up, and its id begins anew")
    func givesUp() {
        var requests = RequestsInFlight()
        for id in 1...4 as ClosedRange<UInt64> { requests.insert(id, Self.cost) }
        requests.remove(1, Self.cost)
        let isMarked = [[], [1, 9], [1, 2, 3]].map { ids in requests.giveUp(ids) }
        #expect(isMarked == [false, false, true])
        #expect((1...4 as ClosedRange<UInt64>).filter(requests.hasGivenUp) == [2, 3])
        // It is in flight and holds its memory until it ends.
        #expect(requests.contains(2) && requests.evidenceBytes == 300)
        requests.remove(2, Self.cost)
        requests.insert(2, Self.cost)
        #expect(!requests.hasGivenUp(2) && requests.hasGivenUp(3))
        for id in 2...4 as ClosedRange<UInt64> { requests.remove(id, Self.cost) }
        requests.giveBackMemory()
        #expect(requests.isEmpty && requests.evidenceBytes == 0 && requests.answersDue == 0)
    }
}
