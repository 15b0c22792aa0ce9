import AssayIO
import AssayWire

/// The open connections. Belongs to the loop's thread.
final class ConnectionTable {
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// The clients of the connections.
    private var peers: [PeerKey: QueuePeer] = [:]
    private var lastNumber: UInt64
    private let context: ServerContext

    /// - Parameter worker: the index of the worker, whose connections have numbers of their own.
    init(_ context: ServerContext, worker: Int) {
        self.context = context
        lastNumber = UInt64(worker) << 48
    }

    var count: Int { connections.count }
    var isEmpty: Bool { connections.isEmpty }

    /// All connections, in no order.
    var all: some Sequence<Connection> { connections.values }

    /// Returns a number that no other connection has.
    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Returns the client of a new connection.
    func enter(_ key: PeerKey) -> QueuePeer {
        let peer = peers[key] ?? QueuePeer(key)
        peer.connections += 1
        peers[key] = peer
        return peer
    }

    private func leave(_ peer: QueuePeer) {
        peer.connections -= 1
        if peer.connections == 0 { peers[peer.key] = nil }
    }

    func add(_ connection: Connection) { connections[ObjectIdentifier(connection)] = connection }

    func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        leave(connection.peer)
        // Requests another turn, which ends the server.
        if isEmpty, context.phase.isDraining { context.loop.post {} }
    }

    /// Notifies all clients that were not yet that the server is draining.
    func announceDrain() {
        for connection in all { connection.announceDrain() }
    }

    func closeAll() {
        for connection in all { connection.stream.close() }
    }

    var requestsInFlight: Int { all.reduce(0) { $0 + $1.inFlight.count } }

    /// Adds the numbers of connections, of their requests and of their unwritten bytes.
    func add(to heldResources: inout HeldResources) {
        heldResources.connections = count
        heldResources.requestsInFlight = requestsInFlight
        heldResources.unwrittenBytes = all.reduce(0) {
            $0 + $1.unwrittenCount + $1.session.heldBackBytes
        }
    }

    /// Ends the connections of peers that are no longer allowed after a reload. Their accepted
    /// requests are answered.
    func endForbidden() {
        for connection in all {
            guard connection.isOpen,
                let refusal = context.settings.refusal(of: connection.stream)
            else { continue }
            context.telemetry.logFault("a peer that lost its permission")
            connection.end(refusal)
        }
    }

    /// Rejects slow receipts and bodies of HTTP, the slowest first, while memory is low. They hold
    /// memory for long, and can be retried.
    func refuseSlow(while isLow: () -> Bool) {
        guard isLow() else { return }
        let slow =
            all
            .compactMap { connection in connection.slowRate.map { (connection, $0) } }
            .sorted { $0.1 < $1.1 }
        for (connection, _) in slow {
            guard isLow() else { return }
            connection.session.refuseSlow(connection)
        }
    }
}
