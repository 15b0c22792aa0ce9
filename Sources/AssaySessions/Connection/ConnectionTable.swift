import AssayIO
package import AssayService
package import AssayTelemetry
import AssayWire

/// The open connections. Belongs to the loop's thread.
package final class ConnectionTable {
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// The clients of the connections, and those whose requests still hold memory.
    private var peers: [PeerKey: Peer] = [:]
    private var lastNumber: UInt64
    private let context: ServiceContext
    private let budget: Budget

    /// - Parameter worker: the index of the worker, whose connections have numbers of their own.
    package init(_ context: ServiceContext, _ budget: Budget, worker: Int) {
        self.context = context
        self.budget = budget
        lastNumber = UInt64(worker) << 48
    }

    package var count: Int { connections.count }
    package var isEmpty: Bool { connections.isEmpty }

    /// All connections, in no order.
    package var all: some Sequence<Connection> { connections.values }

    /// Makes the flow of a connection, with a number that no other one has.
    func makeFlow(of key: PeerKey) -> Flow {
        lastNumber += 1
        return Flow(lastNumber, of: peer(key), context.telemetry, on: context.loop)
    }

    /// Returns the client of a connection.
    func peer(_ key: PeerKey) -> Peer {
        if let peer = peers[key] { return peer }
        let peer = Peer(key, budget)
        peers[key] = peer
        return peer
    }

    var allPeers: some Sequence<Peer> { peers.values }

    /// Forgets the clients of which nothing is left. Called several times a second.
    package func forgetPeers() {
        guard peers.values.contains(where: \.isGone) else { return }
        peers = peers.filter { !$0.value.isGone }
    }

    package func add(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = connection
        connection.peer.didConnect()
    }

    package func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        connection.peer.didDisconnect()
        // Requests another turn, which ends the server.
        if isEmpty, context.phase.isDraining { context.loop.post {} }
    }

    /// Notifies all clients that were not yet that the server is draining.
    package func announceDrain() {
        for connection in all { connection.announceDrain() }
    }

    package func closeAll() {
        for connection in all { connection.close() }
    }

    package var requestsInFlight: Int { all.reduce(0) { $0 + $1.flow.count } }

    /// Adds the numbers of connections, of their requests and of their unwritten bytes.
    package func add(to heldResources: inout HeldResources) {
        heldResources.connections = count
        heldResources.requestsInFlight = requestsInFlight
        heldResources.unwrittenBytes = all.reduce(0) {
            $0 + $1.unwrittenCount + $1.session.held.heldBack
        }
    }

    /// Ends the connections of peers that are no longer allowed after a reload. Their accepted
    /// requests are answered.
    package func endForbidden(by settings: ConnectionSettings) {
        for connection in all {
            guard connection.isOpen,
                let refusal = connection.refusal(by: settings)
            else { continue }
            context.telemetry.logFault("a peer that lost its permission")
            connection.end(refusal)
        }
    }

    /// Ends silent connections while memory is low: those of the client that holds the most first,
    /// and of these the ones that are silent for longest. Clients that hold less than the mean keep
    /// theirs.
    ///
    /// - Parameter isLow: whether memory is low without a number of bytes, which will be free.
    package func endSilent(at now: UInt64, while isLow: (Int) -> Bool) {
        guard isLow(0) else { return }
        var freed = all.reduce(0) { $0 + ($1.isOpen ? 0 : $1.counted.total) }
        let mean = peers.values.reduce(0) { $0 + $1.heldBytes } / max(peers.count, 1)
        let silent =
            all
            .compactMap { connection in connection.silentSince.map { (connection, $0) } }
            .filter { $0.peer.heldBytes >= mean && $1 + ServerLimits.silenceMilliseconds < now }
            .sorted {
                ($1.0.peer.heldBytes, $0.1) < ($0.0.peer.heldBytes, $1.1)
            }
        for (connection, _) in silent {
            guard isLow(freed) else { return }
            freed += connection.counted.total
            connection.endSilent()
        }
    }

    /// Rejects slow receipts and bodies of HTTP, the slowest first, while memory is low. They hold
    /// memory for long, and can be retried.
    package func refuseSlow(while isLow: () -> Bool) {
        guard isLow() else { return }
        for request in all.compactMap(\.slowest).sorted(by: { $0.rate < $1.rate }) {
            guard isLow() else { return }
            request.refuse()
        }
    }
}
