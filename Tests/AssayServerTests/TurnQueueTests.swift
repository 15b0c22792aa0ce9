import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// The order in which waiting connections get turns of the loop.
@Suite("Turns of clients") struct TurnQueueTests {
    private let budget = Budget(sharing: SharedBudget(limit: 9 << 20, workers: 1))

    private func order(_ queue: inout TurnQueue<String>, _ count: Int = .max) -> [String] {
        var names: [String] = []
        while names.count < count, let name = queue.next() { names.append(name) }
        return names
    }

    @Test("Clients take turns, and the connections of each come in the order of their arrival")
    func clients() {
        let (many, one) = (Peer(.user(1), budget), Peer(.user(2), budget))
        var queue = TurnQueue<String>()
        #expect(queue.isEmpty && queue.next() == nil)
        for number in 1...4 { queue.enqueue("many \(number)", of: many) }
        queue.enqueue("one 1", of: one)
        #expect(queue.count == 5)
        #expect(order(&queue, 3) == ["many 1", "one 1", "many 2"])
        queue.enqueue("one 2", of: one)
        #expect(order(&queue) == ["many 3", "one 2", "many 4"])
        #expect(queue.isEmpty)
    }

    @Test("A client that owes time is passed over while others wait, until it has paid")
    func debt() {
        let (slow, quick) = (Peer(.user(1), budget), Peer(.user(2), budget))
        var queue = TurnQueue<String>()
        slow.owe(33)
        for number in 1...3 {
            queue.enqueue("slow \(number)", of: slow)
            queue.enqueue("quick \(number)", of: quick)
        }
        #expect(order(&queue) == ["quick 1", "quick 2", "slow 1", "quick 3", "slow 2", "slow 3"])
        #expect(slow.debt == 0)
    }

    @Test("A client alone owes nobody, and one that owes much does not wait for ever")
    func limits() {
        let (slow, quick) = (Peer(.user(1), budget), Peer(.user(2), budget))
        var queue = TurnQueue<String>()
        slow.owe(.max / 2)
        #expect(slow.debt == 2_048)
        queue.enqueue("slow", of: slow)
        for number in 0..<100 { queue.enqueue("quick \(number)", of: quick) }
        #expect(order(&queue).firstIndex(of: "slow") == 64)
        slow.owe(100)
        queue.enqueue("slow", of: slow)
        #expect(order(&queue) == ["slow"] && slow.debt == 0)
        // Where all owe, they take turns nevertheless.
        slow.owe(2_000)
        quick.owe(2_000)
        for _ in 0..<2 {
            queue.enqueue("slow", of: slow)
            queue.enqueue("quick", of: quick)
        }
        #expect(order(&queue) == ["slow", "quick", "slow", "quick"])
    }
}
