/// The order in which waiting bodies are parsed: short ones go before long ones, which get every
/// fourth turn. Within these, clients take turns by bytes, and the connections of each.
struct ParseOrder<Job> {
    /// The bodies of one client.
    final class Peer {
        fileprivate let short = Line.Peer()
        fileprivate let long = Line.Peer()
    }

    fileprivate typealias Line = RoundRobinQueue<Job>

    private var short = Line(leastQuantum: shortBytes)
    private var long = Line(leastQuantum: shortBytes)
    /// Turns of short bodies since the last long one.
    private var passed = 0

    /// Bodies up to this size are short: they take less than a millisecond.
    static var shortBytes: Int { 64 << 10 }
    private static var shortTurns: Int { 3 }

    var isEmpty: Bool { short.isEmpty && long.isEmpty }

    /// Adds the body of a connection that has no other one.
    mutating func add(_ job: Job, bytes: Int, of peer: Peer) {
        if bytes <= Self.shortBytes {
            short.append(job, cost: bytes, to: Line.Flow(of: peer.short))
        } else {
            long.append(job, cost: bytes, to: Line.Flow(of: peer.long))
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
