import Testing

@testable import AssayServer

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

    private static func queue(seed: UInt64 = 1) -> FairQueue<Int, String> {
        FairQueue(random: Numbers(state: seed))
    }

    @Test("line 82: a new flow precedes 50 flows with 200 keys each, in 20 of 20 tries")
    func newcomers() {
        var queue = Self.queue()
        for flow in 1...50 {
            for index in 0..<200 { queue.add("\(flow)-\(index)", of: flow, isPreferred: true) }
        }
        // Every flow has had turns.
        for _ in 0..<200 { _ = queue.take() }
        for genuine in 0..<20 {
            queue.add("genuine \(genuine)", of: 100 + genuine, isPreferred: false)
            var turns = 1
            while let key = queue.take(), key != "genuine \(genuine)" { turns += 1 }
            // At most the other flows of this round.
            #expect(turns <= 51)
        }
    }

    @Test("line 82: a flow with one key at a time gets no more turns than the others")
    func oneAtATime() {
        var queue = Self.queue()
        for index in 0..<1_000 { queue.add("ordinary \(index)", of: 0, isPreferred: false) }
        var counts = [0, 0]
        for index in 0..<400 {
            let key = "eager \(index)"
            if queue.count(of: 1) == 0 { queue.add(key, of: 1, isPreferred: false) }
            counts[queue.take()?.hasPrefix("eager") == true ? 1 : 0] += 1
        }
        #expect(abs(counts[0] - counts[1]) <= 2, "\(counts)")
    }

    @Test("line 82: within a flow validated issuers are first, then keys with most waiters")
    func ranks() {
        var queue = Self.queue()
        for index in 0..<100 { queue.add("forged \(index)", of: 0, isPreferred: false) }
        for _ in 0..<3 { queue.add("wanted", of: 0, isPreferred: false) }
        queue.add("issued", of: 0, isPreferred: true)
        for index in 0..<2 { queue.add("shared", of: index, isPreferred: false) }
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

    @Test("line 82: keys of a flood are dropped, not those of short flows")
    func victims() {
        var queue = Self.queue()
        queue.add("genuine", of: 0, isPreferred: false)
        for index in 0..<20_000 {
            let flow = 1 + index % 50
            queue.add("\(index)", of: flow, isPreferred: true)
            if queue.count > 1_500, let victim = queue.victim() { queue.remove(victim) }
            #expect(queue.contains("genuine"))
        }
        #expect(queue.count == 1_500)
        // Early and late keys are dropped alike, not just the latest.
        var late = 0
        while let key = queue.take() { if Int(key) ?? 0 >= 19_000 { late += 1 } }
        #expect((300...1_300).contains(late), "\(late)")
    }

    @Test("line 82: within a flow, keys with many waiters or a validated issuer stay")
    func victimsOfOneFlow() {
        var queue = Self.queue()
        for _ in 0..<5 { queue.add("wanted", of: 0, isPreferred: false) }
        queue.add("issued", of: 0, isPreferred: true)
        for index in 0..<10_000 {
            queue.add("\(index)", of: 0, isPreferred: false)
            if queue.count > 100, let victim = queue.victim(of: 0) { queue.remove(victim) }
        }
        #expect(queue.contains("wanted") && queue.contains("issued") && queue.count == 100)
    }

    @Test func cancelledRequestsLeave() {
        var queue = Self.queue()
        for flow in [0, 0, 1] { queue.add("key", of: flow, isPreferred: false) }
        queue.removeRequest(for: "key", of: 0)
        #expect(queue.count == 1 && queue.count(of: 0) == 1)
        queue.removeRequest(for: "key", of: 0)
        #expect(queue.count == 1 && queue.count(of: 0) == 0 && queue.flowCount == 1)
        queue.removeRequest(for: "key", of: 0)
        queue.removeRequest(for: "key", of: 1)
        #expect(queue.count == 0 && queue.flowCount == 0 && queue.take() == nil)
        #expect(queue.victim() == nil && queue.victim(of: 1) == nil)
    }
}
