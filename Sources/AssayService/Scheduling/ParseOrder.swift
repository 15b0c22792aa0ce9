/// The order in which waiting bodies are parsed: short ones go before long ones, which get every
/// fourth turn. Within these, clients take turns by bytes, and the connections of each.
package struct ParseOrder<Job> {
    /// The bodies of one client.
    package final class Peer {
        fileprivate let short = Queue.Peer()
        fileprivate let long = Queue.Peer()
    }

    fileprivate typealias Queue = RoundRobinQueue<Job>

    private var short = Queue(leastQuantum: shortBytes)
    private var long = Queue(leastQuantum: shortBytes)
    /// Turns of short bodies since the last long one.
    private var passed = 0

    /// Bodies up to this size are short: they take less than a millisecond.
    static var shortBytes: Int { 64 << 10 }
    private static var shortTurns: Int { 3 }

    var isEmpty: Bool { short.isEmpty && long.isEmpty }

    /// Adds the body of a connection that has no other one.
    mutating func add(_ job: Job, bytes: Int, of peer: Peer) {
        if bytes <= Self.shortBytes {
            short.append(job, cost: bytes, to: Queue.Line(of: peer.short))
        } else {
            long.append(job, cost: bytes, to: Queue.Line(of: peer.long))
        }
    }

    mutating func next() -> Job? {
        if long.isEmpty || !short.isEmpty && passed < Self.shortTurns {
            passed = long.isEmpty ? 0 : passed + 1
            return short.take()
        }
        passed = 0
        return long.take()
    }
}
