package import AssayIO
import AssayService
package import AssayTelemetry
import AssayWire

/// Secures the connections of a worker's TLS listeners, and passes on those that are established.
/// Belongs to the loop's thread.
package final class SecuredStreams {
    private let clients: ConnectionContext
    private let workers: Int
    /// Nil before the first TLS connection.
    private var handshakes: Handshakes?
    /// Called when the queue of handshakes becomes full, and when it has drained to half.
    package var onFull: (Bool) -> Void = { _ in }
    private var isFull = false
    /// The number of client sockets that the server can have.
    package var socketLimit = 1 {
        didSet { settingsDidChange() }
    }

    package init(_ clients: ConnectionContext, workers: Int) {
        self.clients = clients
        self.workers = workers
    }

    private var context: ServiceContext { clients.server }

    /// Whether no TLS handshake is in progress.
    package var isIdle: Bool { handshakes?.count ?? 0 == 0 }

    /// Adds the numbers of TLS handshakes.
    package func add(to heldResources: inout HeldResources) {
        heldResources.handshakes = handshakes?.count ?? 0
        heldResources.handshakesWaiting = handshakes?.waitingCount ?? 0
    }

    /// Applies the settings of a reload. A configuration without TLS is rejected for a server with
    /// TLS listeners.
    package func settingsDidChange() {
        guard let handshakes else { return }
        if let tls = clients.settings.tls { handshakes.context = tls }
        handshakes.change(most: limit, percent: context.limits.handshakePercent)
    }

    /// Starts the handshake of a connection, once there is memory for it.
    package func begin(_ stream: Stream) {
        let peer = clients.table.peer(stream.peer)
        guard peer.isFull else { return shakeHands(stream) }
        clients.turns.enqueueFirstRead(of: peer) { [unowned self] in
            guard !stream.isClosing, !stream.hasPeerLeft else {
                stream.close()
                return false
            }
            shakeHands(stream)
            return true
        }
    }

    private func shakeHands(_ stream: Stream) {
        if handshakes == nil, let tls = clients.settings.tls {
            let new = Handshakes(
                tls, most: limit, percent: context.limits.handshakePercent
            ) { [unowned self] outcome in didShakeHands(outcome) }
            new.onMemory = { [unowned self] stream, isHeld in
                let held = HeldBytes(engine: TLSSession.handshakeMemoryBytes)
                clients.table.peer(stream.peer).count(
                    isHeld ? held : HeldBytes(), insteadOf: isHeld ? HeldBytes() : held)
            }
            handshakes = new
        }
        handshakes?.begin(stream)
    }

    /// Handshakes that wait for their peer get a quarter of all sockets, and queued ones another
    /// quarter. Half of the sockets are left for established connections.
    private static let handshakePart = 4

    /// This worker's part of the server's limit.
    private var limit: Int {
        let all = min(context.limits.handshakes, max(socketLimit / Self.handshakePart, 1))
        return max(all / workers, 1)
    }

    /// Limit for silent handshakes during a drain, which does not wait long for them.
    private static let drainingHandshakeMilliseconds: UInt64 = 1_000

    private func didShakeHands(_ outcome: Handshakes.Outcome) {
        switch outcome {
        case .secured(let stream): clients.serve(stream, finalAnswer: nil)
        case .plain(let stream):
            context.telemetry.logFault("a connection without TLS at a TLS address")
            clients.serve(stream, finalAnswer: .speaksTLS)
        case .failed(let error): context.telemetry.logFault(error)
        }
    }

    /// Continues queued handshakes. Called after all ready sockets are read and the answers are
    /// written.
    package func continueHandshakes() {
        guard let handshakes, handshakes.waitingCount > 0 else { return }
        // Connections without TLS continue.
        if handshakes.isFull { pause() }
        // Requests another turn, which begins with the established connections.
        if handshakes.work(now: context.now, isHurried: context.phase.isDraining) {
            context.loop.post {}
        }
        resume()
    }

    /// Closes handshakes past their deadline.
    package func sweep() {
        defer { resume() }
        guard let handshakes, handshakes.count > 0 else { return }
        let most = context.limits.handshakeMilliseconds
        handshakes.sweep(
            now: context.now,
            silent: context.phase.isDraining
                ? min(most, Self.drainingHandshakeMilliseconds) : most,
            waiting: most)
        continueHandshakes()
    }

    package func closeAll() { handshakes?.closeAll() }

    private func pause() {
        guard !isFull else { return }
        isFull = true
        context.telemetry.logFault(
            "the queue of TLS handshakes is full: more connections wait")
        onFull(true)
    }

    private func resume() {
        guard isFull, handshakes?.hasDrained ?? true else { return }
        isFull = false
        onFull(false)
    }
}
