package import AssayIO
import AssayTelemetry

/// A client: the connections of one address, or of one user of Unix sockets. Together they have one
/// client's part of a worker's memory, and one client's turns in its queues.
///
/// The one place where memory is admitted for a client, and counted as its own.
/// Belongs to the loop's thread.
package final class Peer {
    let key: PeerKey
    private let budget: Budget
    /// Connections that are open.
    private(set) var connections = 0
    /// What its connections and its requests hold.
    private(set) var held = PeerBytes()
    let waiting = RequestQueue.Peer()
    let short = RequestQueue.Peer()
    let mayWait = RequestQueue.Peer()
    let bodies = ParseOrder<ParseJob>.Peer()
    /// Connections that began while memory was full, and were not read yet.
    private var firstReads = Ring<() -> Bool>()
    /// What its connections took of turns beyond their quotas, in requests of the usual size.
    private(set) var debt = 0

    package init(_ key: PeerKey, _ budget: Budget) {
        self.key = key
        self.budget = budget
    }

    /// Whether nothing of it is left, so that it can be forgotten. The memory of its requests
    /// counts longer than its connections: a client that reconnects is still the same client.
    package var isGone: Bool { connections == 0 && held == PeerBytes() && firstReads.isEmpty }

    // MARK: Connections

    package func didConnect() { connections += 1 }
    package func didDisconnect() { connections -= 1 }

    /// Bytes that its connections and requests hold.
    package var heldBytes: Int { held.memory }

    /// Whether connections wait for their first read.
    package var hasFirstReads: Bool { !firstReads.isEmpty }

    /// Queues the first read of a connection.
    package func addFirstRead(_ read: @escaping () -> Bool) { firstReads.append(read) }

    /// Takes the first read whose turn it is.
    package func takeFirstRead() -> (() -> Bool)? { firstReads.popFirst() }

    // MARK: Time

    /// Records what a connection took of a turn beyond its quota.
    package func owe(_ requests: Int) { debt = min(debt + requests, Self.mostDebt) }

    /// Pays a part of its debt with a turn that goes to others. Returns false if it has none.
    package func payDebt() -> Bool {
        guard debt > 0 else { return false }
        debt = max(debt - Self.payment, 0)
        return true
    }

    package func forgiveDebt() { debt = 0 }

    /// What a connection usually takes of a turn.
    private static let payment = 32
    /// A step of eight milliseconds: none of an honest client takes so long.
    private static let mostDebt = 64 * payment

    // MARK: Admission

    /// Whether nothing more is read from it until memory is freed.
    package var isFull: Bool { budget.isFull(for: held.memory) }

    func admits(_ bytes: Int) -> Bool { budget.admits(bytes, for: held.memory) }

    func admits(_ cost: RequestCost) -> Bool { admits(cost.bytes + cost.answer) }

    /// Whether a receipt of this size is admitted.
    func admits(receipt bytes: Int) -> Bool { budget.admits(receipt: bytes, for: held) }

    /// Whether a body that is read whole can grow further.
    ///
    /// - Parameter bytes: those that it holds.
    package func admits(bodyOf bytes: Int) -> Bool { budget.admits(bodyOf: bytes, for: held) }

    /// Whether these bytes can ever be admitted.
    func canFit(_ bytes: Int) -> Bool { budget.canFit(bytes) }

    func canFit(_ cost: RequestCost) -> Bool { canFit(cost.bytes + cost.answer) }

    /// Whether a receipt of this size can ever be received.
    func canFit(receipt bytes: Int) -> Bool { budget.canFit(receipt: bytes) }

    /// Whether an answer without reserved memory is admitted.
    package func admits(answer bytes: Int) -> Bool { budget.admits(answer: bytes, for: held) }

    /// Whether a connection with these bytes of answers can have further answers made.
    package func canAnswer(unread: Int, due: Int) -> Bool {
        budget.canAnswer(unread: unread, due: due, for: held)
    }

    // MARK: Counts

    /// Counts what a connection holds, apart from its requests.
    ///
    /// - Parameter former: what was counted of it before.
    package func count(_ bytes: HeldBytes, insteadOf former: HeldBytes) {
        held.memory += bytes.total - former.total
        held.answers += bytes.answers - former.answers
        held.bodies += bytes.body - former.body
        budget.count(bytes, insteadOf: former)
    }

    func give(_ cost: RequestCost) {
        held.memory += cost.bytes + cost.answer
        held.answers += cost.answer
        budget.give(cost)
    }

    func takeBack(_ cost: RequestCost) {
        held.memory -= cost.bytes + cost.answer
        held.answers -= cost.answer
        budget.takeBack(cost)
    }

    func give(receipt bytes: Int) {
        held.memory += bytes
        held.receipts += bytes
        budget.give(receipt: bytes)
    }

    func takeBack(receipt bytes: Int) {
        held.memory -= bytes
        held.receipts -= bytes
        budget.takeBack(receipt: bytes)
    }

    func give(body bytes: Int) {
        held.memory += bytes
        held.bodies += bytes
        budget.give(body: bytes)
    }

    func takeBack(body bytes: Int) {
        held.memory -= bytes
        held.bodies -= bytes
        budget.takeBack(body: bytes)
    }

    func give(parsed bytes: Int) {
        held.memory += bytes
        budget.give(parsed: bytes)
    }

    func takeBack(parsed bytes: Int) {
        held.memory -= bytes
        budget.takeBack(parsed: bytes)
    }
}

/// What one client holds of a worker's memory, in bytes.
package struct PeerBytes: Equatable {
    /// Everything, answers that are due included.
    package var memory = 0
    /// Parts of it: answers that are due or unread, receipts that are arriving, and bodies of HTTP
    /// requests.
    var answers = 0
    var receipts = 0
    var bodies = 0
}

/// The part of a shared resource that one client can have: it gets more as long as it has at most
/// eight times what is then left free. So a client alone has about eight ninths, several have equal
/// parts, and one that has nothing gets what is free (dynamic thresholds: Choudhury and Hahne,
/// 1998).
package enum PeerPart {
    private static let timesFree = 8

    /// - Parameters:
    ///   - own: what the client has already.
    ///   - free: what is left for all, once it gets more.
    static func allows(_ own: Int, leaving free: Int) -> Bool {
        free >= 0 && own <= timesFree * free
    }
}
