import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Which chain is validated next, and which is dropped, amid floods.
@Suite struct FairQueueTests {
    /// Random numbers that are the same in each run.
    private struct Numbers: RandomNumberGenerator, Sendable {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    typealias Queue = FairQueue<Int, String>

    /// What the numbered flows of a test are: peers of one connection, or connections of one peer.
    enum Level: CaseIterable {
        case peers, connections

        func flow(_ number: Int) -> Queue.FlowKey {
            switch self {
            case .peers: Queue.FlowKey(peer: number, number: 0)
            case .connections: Queue.FlowKey(peer: 0, number: UInt64(number))
            }
        }
    }

    private static func queue(seed: UInt64 = 1) -> Queue {
        Queue(random: Numbers(state: seed))
    }

    @Test(
        "line 82: a new flow precedes 50 flows with 200 keys each, in 20 of 20 tries",
        arguments: Level.allCases)
    func newcomers(level: Level) {
        var queue = Self.queue()
        for flow in 1...50 {
            for index in 0..<200 {
                queue.add("\(flow)-\(index)", of: level.flow(flow), isPreferred: true)
            }
        }
        // Every flow has had turns.
        for _ in 0..<200 { _ = queue.take() }
        for genuine in 0..<20 {
            queue.add("genuine \(genuine)", of: level.flow(100 + genuine), isPreferred: false)
            var turns = 1
            while let key = queue.take(), key != "genuine \(genuine)" { turns += 1 }
            // At most the other flows of this round.
            #expect(turns <= 51)
        }
    }

    @Test(
        "line 82: a flow with one key at a time gets no more turns than the others",
        arguments: Level.allCases)
    func oneAtATime(level: Level) {
        var queue = Self.queue()
        for index in 0..<1_000 {
            queue.add("ordinary \(index)", of: level.flow(0), isPreferred: false)
        }
        var counts = [0, 0]
        for index in 0..<400 {
            let key = "eager \(index)"
            if queue.count(of: level.flow(1)) == 0 {
                queue.add(key, of: level.flow(1), isPreferred: false)
            }
            counts[queue.take()?.hasPrefix("eager") == true ? 1 : 0] += 1
        }
        #expect(abs(counts[0] - counts[1]) <= 2, "\(counts)")
    }

    @Test(
        "line 82: within a flow validated issuers are first, then keys with most waiters",
        arguments: Level.allCases)
    func ranks(level: Level) {
        var queue = Self.queue()
        for index in 0..<100 { queue.add("forged \(index)", of: level.flow(0), isPreferred: false) }
        for _ in 0..<3 { queue.add("wanted", of: level.flow(0), isPreferred: false) }
        queue.add("issued", of: level.flow(0), isPreferred: true)
        for index in 0..<2 { queue.add("shared", of: level.flow(index), isPreferred: false) }
        #expect(queue.count == 103 && queue.flowCount == 2)
        var order: [String] = []
        while let key = queue.take() { order.append(key) }
        // The other flow's only key is the shared one: its turn comes first or second.
        #expect(Set(order[..<4]).isSuperset(of: ["issued", "shared", "wanted"]), "\(order[..<4])")
        #expect(order.firstIndex(of: "issued")! < order.firstIndex(of: "wanted")!)
        #expect(order.count == 103 && queue.count == 0 && queue.flowCount == 0)
        // Keys of equal rank come in random order.
        let forged = order.filter { $0.hasPrefix("forged") }
        #expect(forged != (0..<100).map { "forged \($0)" })
    }

    @Test(
        "line 82: keys of a flood are dropped, not those of short flows", arguments: Level.allCases)
    func victims(level: Level) {
        var queue = Self.queue()
        queue.add("genuine", of: level.flow(0), isPreferred: false)
        for index in 0..<20_000 {
            let flow = 1 + index % 50
            queue.add("\(index)", of: level.flow(flow), isPreferred: true)
            if queue.count > 1_500, let victim = queue.victim() { queue.remove(victim) }
            #expect(queue.contains("genuine"))
        }
        #expect(queue.count == 1_500)
        // Early and late keys are dropped alike, not just the latest.
        var late = 0
        while let key = queue.take() { if Int(key) ?? 0 >= 19_000 { late += 1 } }
        #expect((300...1_300).contains(late), "\(late)")
    }

    @Test(
        "line 82: within a flow, keys with many waiters or a validated issuer stay",
        arguments: Level.allCases)
    func victimsOfOneFlow(level: Level) {
        var queue = Self.queue()
        for _ in 0..<5 { queue.add("wanted", of: level.flow(0), isPreferred: false) }
        queue.add("issued", of: level.flow(0), isPreferred: true)
        for index in 0..<10_000 {
            queue.add("\(index)", of: level.flow(0), isPreferred: false)
            if queue.count > 100, let victim = queue.victim(of: level.flow(0)) {
                queue.remove(victim)
            }
        }
        #expect(queue.contains("wanted") && queue.contains("issued") && queue.count == 100)
    }

    @Test(arguments: Level.allCases) func cancelledRequestsLeave(level: Level) {
        var queue = Self.queue()
        for flow in [0, 0, 1] { queue.add("key", of: level.flow(flow), isPreferred: false) }
        queue.removeRequest(for: "key", of: level.flow(0))
        #expect(queue.count == 1 && queue.count(of: level.flow(0)) == 1)
        queue.removeRequest(for: "key", of: level.flow(0))
        #expect(queue.count == 1 && queue.count(of: level.flow(0)) == 0 && queue.flowCount == 1)
        queue.removeRequest(for: "key", of: level.flow(0))
        queue.removeRequest(for: "key", of: level.flow(1))
        #expect(queue.count == 0 && queue.flowCount == 0 && queue.take() == nil)
        #expect(queue.victim() == nil && queue.victim(of: level.flow(1)) == nil)
    }

    @Test("line 82: a peer has the same turns through fifty connections as through one")
    func connectionsOfOnePeer() {
        var queue = Self.queue()
        for connection in 0..<50 {
            for index in 0..<20 {
                let flow = Queue.FlowKey(peer: 1, number: UInt64(connection))
                queue.add("many \(connection)-\(index)", of: flow, isPreferred: true)
            }
        }
        let one = Queue.FlowKey(peer: 2, number: 1)
        for index in 0..<20 { queue.add("one \(index)", of: one, isPreferred: false) }
        // Its twenty keys, each with one of the other peer's.
        #expect(queue.turns(of: one) == 40)
        #expect(queue.turns(of: Queue.FlowKey(peer: 1, number: 0)) == 1_020)
        let first = (0..<40).compactMap { _ in queue.take() }
        #expect(first.count { $0.hasPrefix("one") } == 20, "\(first)")
        // The peer with more keys loses some, although each of its connections has fewer.
        queue.add("one", of: one, isPreferred: false)
        for _ in 0..<500 { if let victim = queue.victim() { queue.remove(victim) } }
        #expect(queue.contains("one"))
    }
}
