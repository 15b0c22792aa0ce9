import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Which request is verified next, and which connection waits for whom.
@Suite struct RoundRobinQueueTests {
    private typealias Queue = RoundRobinQueue<String>

    /// A flow of a peer of its own.
    private static func flow() -> Queue.Line { Queue.Line(of: Queue.Peer()) }

    private struct Numbers: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private static func takeAll(_ queue: inout Queue) -> [String] {
        var order: [String] = []
        while let element = queue.take() { order.append(element) }
        return order
    }

    @Test("line 120: one element waits for a quantum of each greedy flow, not for their queues")
    func newcomer() {
        var queue = Queue(leastQuantum: 50)
        let greedy = (0..<8).map { _ in Self.flow() }
        for index in 0..<1_000 {
            for flow in greedy { queue.append("\(index)", cost: 10, to: flow) }
        }
        for _ in 0..<77 { _ = queue.take() }
        queue.append("honest", cost: 10, to: Self.flow())
        let order = Self.takeAll(&queue)
        #expect(order.firstIndex(of: "honest")! <= 8 * 50 / 10)
        #expect(order.count == 8_000 - 77 + 1)
    }

    @Test("line 120: flows get equal cost, however expensive their elements are")
    func equalCosts() {
        let cases = [(1, [1, 100]), (50, [10, 1_000]), (900, [999, 1, 3_000])]
        for (leastQuantum, costs) in cases {
            var queue = Queue(leastQuantum: leastQuantum)
            let flows = costs.map { _ in Self.flow() }
            for (flow, cost) in zip(flows, costs) {
                for _ in 0..<(60_000 / cost) { queue.append("\(cost)", cost: cost, to: flow) }
            }
            var served: [String: Int] = [:]
            let before = queue.cost
            while queue.cost > before - 50_000 {
                let element = queue.take()!
                served[element, default: 0] += Int(element)!
            }
            let (least, most) = (served.values.min()!, served.values.max()!)
            #expect(served.count == costs.count)
            #expect(most - least <= 2 * (queue.quantum + costs.max()!), "\(served)")
        }
    }

    @Test("line 266: the flows of a peer share its turns, and alone it gets everything")
    func peers() {
        for (flows, others) in [(1, 1), (64, 1), (64, 3), (64, 0)] {
            var queue = Queue(leastQuantum: 50)
            let greedy = Queue.Peer()
            for _ in 0..<flows {
                let flow = Queue.Line(of: greedy)
                for _ in 0..<30 { queue.append("greedy", cost: 10, to: flow) }
            }
            let honest = (0..<others).map { _ in Self.flow() }
            for flow in honest {
                #expect(queue.isLight(flow, from: flow.peer))
                for _ in 0..<30 { queue.append("honest", cost: 10, to: flow) }
            }
            #expect(queue.peerCount == others + 1)
            for flow in honest {
                let predicted = queue.cost(before: 10, of: flow, from: flow.peer)
                #expect(predicted <= (others + 1) * 350, "\(predicted)")
            }
            // A new connection of the greedy peer is no light flow beside another peer.
            #expect(queue.isLight(nil, from: greedy) == (others == 0 && flows > 1))
            let order = Self.takeAll(&queue)
            #expect(order.count == 30 * (flows + others))
            let last = order.lastIndex(of: "honest") ?? -1
            #expect(last <= 30 * (others + 1), "\(flows) flows beside \(others): \(last)")
        }
    }

    @Test("line 266: each flow of a peer has its share of the peer's turns")
    func flowsOfAPeer() {
        var queue = Queue(leastQuantum: 50)
        let (peer, other) = (Queue.Peer(), Self.flow())
        let (heavy, light) = (Queue.Line(of: peer), Queue.Line(of: peer))
        for _ in 0..<1_000 {
            queue.append("heavy", cost: 10, to: heavy)
            queue.append("other", cost: 10, to: other)
        }
        queue.append("light", cost: 10, to: light)
        // A quantum of each flow of the peer, and as much of the other peer.
        #expect(queue.cost(before: 10, of: light, from: peer) <= 300)
        let order = Self.takeAll(&queue)
        #expect(order.firstIndex(of: "light")! <= 20)
    }

    @Test("a round serves an element of each flow on average, whatever the costs")
    func quantum() {
        var queue = Queue(leastQuantum: 50)
        #expect(queue.quantum == 50 && queue.meanCost == 0)
        let flow = Self.flow()
        for cost in [1_000_000, 3_000_000] { queue.append("", cost: cost, to: flow) }
        #expect(queue.quantum == 2_000_000 && queue.meanCost == 2_000_000)
        queue.append("", cost: 0, to: flow)
        #expect(queue.cost == 4_000_001)
    }

    @Test("elements of a flow keep their order; those that waited elsewhere go first")
    func order() {
        var queue = Queue(leastQuantum: 1)
        let (one, two) = (Self.flow(), Self.flow())
        for index in 0..<10 { queue.append("1-\(index)", cost: 1 + index % 3, to: one) }
        for index in 0..<10 { queue.append("2-\(index)", cost: 3 - index % 3, to: two) }
        queue.prepend("1-first", cost: 2, to: one)
        #expect(queue.allSatisfy { $0.contains("-") } && !queue.allSatisfy { $0.hasPrefix("1") })
        let order = Self.takeAll(&queue)
        let numbers = (0..<10).map(String.init)
        #expect(order.filter { $0.hasPrefix("1") } == (["first"] + numbers).map { "1-" + $0 })
        #expect(order.filter { $0.hasPrefix("2") } == numbers.map { "2-" + $0 })
        #expect(queue.isEmpty && queue.cost == 0 && queue.peerCount == 0)
    }

    @Test("line 120: the elements of a closed flow leave, and its later ones wait like others")
    func removal() {
        var queue = Queue(leastQuantum: 1)
        let flows = (0..<3).map { _ in Self.flow() }
        for index in 0..<9 { queue.append("\(index)", cost: 5, to: flows[index % 3]) }
        #expect(queue.removeAll(of: flows[1]) == ["1", "4", "7"])
        #expect(queue.count == 6 && queue.cost == 30 && queue.peerCount == 2)
        #expect(flows[1].isEmpty && flows[1].cost == 0)
        queue.append("late", cost: 5, to: flows[1])
        #expect(Set(queue.removeAll { $0 == "0" || $0 == "8" }) == ["0", "8"])
        #expect(queue.count == 5 && queue.cost == 25 && queue.peerCount == 3)
        #expect(Set(Self.takeAll(&queue)) == ["2", "3", "5", "6", "late"])
        #expect(queue.take() == nil && queue.peerCount == 0 && queue.cost == 0)
    }

    @Test("an idle flow saves no credit")
    func credit() {
        var queue = Queue(leastQuantum: 10)
        let (idle, busy) = (Self.flow(), Self.flow())
        for _ in 0..<100 {
            queue.append("idle", cost: 1, to: idle)
            #expect(queue.take() == "idle")
        }
        for _ in 0..<100 {
            queue.append("busy", cost: 10, to: busy)
            queue.append("idle", cost: 10, to: idle)
        }
        let order = Self.takeAll(&queue).prefix(20)
        #expect(order.count { $0 == "idle" } == 10, "\(order)")
    }

    @Test(
        "line 120: the predicted wait is that of a simulation",
        arguments: 1...20 as ClosedRange<UInt64>)
    func prediction(seed: UInt64) {
        var numbers = Numbers(state: seed)
        var queue = Queue(leastQuantum: 100)
        let flows = (0..<Int.random(in: 1...40, using: &numbers)).map { _ in Self.flow() }
        let exponent = Int.random(in: 0...10, using: &numbers)
        for flow in flows {
            for _ in 0..<Int.random(in: 0...(1 << exponent), using: &numbers) {
                queue.append("", cost: Int.random(in: 1...50, using: &numbers), to: flow)
            }
        }
        for _ in 0..<Int.random(in: 0...(queue.count / 2), using: &numbers) { _ = queue.take() }
        for flow in flows + [Self.flow()] {
            let predicted = queue.cost(before: 30, of: flow, from: flow.peer)
            let exact = flows.reduce(0) { $0 + min($1.cost, flow.cost + 100) }
            #expect(predicted >= exact && predicted <= queue.cost)
            #expect(predicted <= 2 * exact, "\(predicted), exactly \(exact)")
            #expect(queue.cost(before: .max / 2, of: flow, from: flow.peer) == queue.cost)
        }
        let last = flows.randomElement(using: &numbers)!
        let predicted = queue.cost(before: 30, of: last, from: last.peer)
        queue.append("last", cost: 30, to: last)
        let total = queue.cost
        while let element = queue.take(), element != "last" {}
        let waited = total - queue.cost - 30
        // The turn that has begun, and the part of a quantum that its own round adds.
        #expect(waited <= predicted + flows.count * (100 + 50))
    }

    @Test("line 120: a light flow has few elements, beside flows with more")
    func lightness() {
        // Elements of one cost of the flow and of each other flow, the number of those, and
        // whether it is light, with a quantum of 100.
        let cases: [(own: Int, other: Int, count: Int, isLight: Bool)] = [
            (0, 0, 0, true), (1, 0, 0, false), (0, 2, 64, true), (0, 1, 64, false),
            (19, 10, 64, true), (20, 10, 64, false), (1, 1, 64, false), (1, 4, 1, true),
            (1, 3, 1, false), (15, 9, 1, false), (15, 10, 1, true), (19, 500, 1, true),
            (500, 19, 1, false),
        ]
        for (own, other, count, isLight) in cases {
            var queue = Queue(leastQuantum: 100)
            let flow = Self.flow()
            for _ in 0..<own { queue.append("", cost: 10, to: flow) }
            for _ in 0..<count {
                let greedy = Self.flow()
                for _ in 0..<other { queue.append("", cost: 10, to: greedy) }
            }
            let isFlowLight = queue.isLight(flow, from: flow.peer)
            #expect(isFlowLight == isLight, "\(own) beside \(count) times \(other)")
            if own == 0 {
                #expect(queue.isLight(nil, from: Queue.Peer()) == isLight)
            }
        }
    }
}

@Suite struct RingTests {
    @Test("elements leave in their order, from a buffer that is used again")
    func order() {
        var ring = Ring<Int>()
        var (next, expected) = (0, 0)
        for round in 1...200 {
            for _ in 0..<(round % 7) {
                ring.append(next)
                next += 1
            }
            for _ in 0..<(round % 5) where !ring.isEmpty {
                #expect(ring.first == expected && ring.popFirst() == expected)
                expected += 1
            }
            #expect(ring.count == next - expected)
            for index in 0..<ring.count { #expect(ring[index] == expected + index) }
        }
        while ring.popFirst() != nil {}
        let capacity = ring.capacity
        for number in 0..<10 * capacity {
            ring.append(number)
            #expect(ring.popFirst() == number)
        }
        #expect(ring.capacity == capacity && ring.first == nil)
    }

    @Test func prependAndRemove() {
        var ring = Ring<Int>()
        for number in 0..<5 { ring.append(number) }
        for number in 1...5 { ring.prepend(-number) }
        #expect((0..<10).map { ring[$0] } == Array(-5..<5))
        #expect(ring.removeAll { $0 % 2 == 0 } == [-4, -2, 0, 2, 4])
        #expect((0..<ring.count).map { ring[$0] } == [-5, -3, -1, 1, 3])
        #expect(ring.removeAll { _ in false }.isEmpty && ring.count == 5)
    }
}
