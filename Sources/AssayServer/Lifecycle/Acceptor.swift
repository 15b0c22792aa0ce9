import AssayIO
import AssayWire

/// Accepts clients, and hands over those whose stream is established.
///
/// Owns the listeners, the TLS handshakes, the counts of client sockets, and the reasons for which
/// a listener is paused. Clients of a paused listener wait in the kernel's queue.
final class Acceptor {
    private let context: ServerContext
    /// Receives a client and nil, or an error response after which its connection ends.
    private let onClient: (Stream, ResponseHead?) -> Void
    private var listeners: [any StreamListener] = []
    /// Nil without TLS listeners.
    private var handshakes: Handshakes?
    /// The sockets of each listener's clients.
    private var shares = ListenerShares(limit: 0)
    /// Accepts no connection until one has closed.
    private var isShortOfDescriptors = false
    /// Accepts no TLS connection until the queue of handshakes has drained to half.
    private var isTLSPaused = false
    /// Descriptors in use when the server began to listen.
    private var ownDescriptors = 0
    /// A connection with this descriptor or a higher one leaves too few descriptors free.
    private let descriptorLimit: Int

    init(_ context: ServerContext, onClient: @escaping (Stream, ResponseHead?) -> Void) {
        self.context = context
        self.onClient = onClient
        let descriptors = Descriptors.limit
        descriptorLimit = descriptors - context.fixed.reservedDescriptors(of: descriptors)
    }

    /// The endpoints of the listeners, with the ports that the system chose.
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }

    /// Whether no TLS handshake is in progress.
    var isIdle: Bool { handshakes?.count ?? 0 == 0 }

    /// Adds the numbers of TLS handshakes.
    func add(to holdings: inout ServerHoldings) {
        holdings.handshakes = handshakes?.count ?? 0
        holdings.handshakesWaiting = handshakes?.waitingCount ?? 0
    }

    /// Applies the settings of a reload. TLS listeners stay: a configuration without TLS is
    /// rejected for them.
    func settingsDidChange() {
        if let handshakes {
            if let tls = context.settings.tls { handshakes.context = tls }
            handshakes.change(
                most: handshakeLimit, percent: context.limits.handshakePercent)
        }
        shares.limit = socketLimit
        warnOfDescriptors()
        updatePauses()
    }

    /// Logs that the process has too few descriptors for the configured number of connections.
    func warnOfDescriptors() {
        let configured = context.limits.connections
        guard socketLimit < configured else { return }
        context.telemetry.log.write(
            .warning, "few_descriptors",
            [
                "connections": .number(socketLimit), "configured": .number(configured),
                "descriptors": .number(Descriptors.limit),
            ])
    }

    // MARK: Listening

    /// Listens on an endpoint. Returns the addresses, with the ports that the system chose.
    func listen(on endpoint: Endpoint) throws(LoopError) -> [Endpoint] {
        let first = shares.listenerCount
        let added = try context.transport.listen(at: endpoint, for: context.fixed, on: context.loop)
        {
            [self] stream, index in welcome(stream, at: endpoint, first + index)
        }
        for _ in added { shares.addListener() }
        // The system assigns the lowest free descriptor.
        for listener in added { ownDescriptors = max(ownDescriptors, Int(listener.descriptor) + 1) }
        shares.limit = socketLimit
        if endpoint.isTLS, handshakes == nil, let tls = context.settings.tls {
            prepareHandshakes(tls)
        }
        for listener in added {
            context.telemetry.log.write(
                .info, "listening", ["address": .text("\(listener.endpoint)")])
        }
        listeners += added
        return added.map(\.endpoint)
    }

    /// Closes the listeners. Accepts queued connections first, so that they are not reset.
    func finish() {
        for listener in listeners { listener.finish() }
        listeners.removeAll()
    }

    /// Closes the listeners at once.
    func close() {
        for listener in listeners { listener.close() }
    }

    // MARK: Accepting

    private func welcome(_ stream: Stream, at endpoint: Endpoint, _ listener: Int) {
        shares.didOpen(listener)
        stream.endpoint = endpoint
        stream.onClose = { [unowned self] in
            shares.didClose(listener)
            isShortOfDescriptors = false
            updatePauses()
        }
        if Int(stream.descriptor) >= descriptorLimit { isShortOfDescriptors = true }
        updatePauses()
        if endpoint.isTLS { handshakes?.begin(stream) } else { onClient(stream, nil) }
    }

    /// The limit of client sockets: the configured number, or the number of free descriptors if
    /// that is lower; at least one.
    var socketLimit: Int {
        max(min(context.limits.connections, descriptorLimit - ownDescriptors), 1)
    }

    /// Pauses listeners at a limit, and resumes the others.
    private func updatePauses() {
        var isLimited = false
        for (number, listener) in listeners.enumerated() {
            guard canAccept(number, listener) else {
                isLimited = isLimited || !listener.isPaused && !isHeldForHandshakes(listener)
                listener.pause()
                continue
            }
            // Accepts a waiting connection, which can pause listeners again.
            listener.resume()
        }
        if isLimited {
            context.telemetry.logFault(
                "the limit of connections is reached: more wait")
        }
    }

    private func canAccept(_ number: Int, _ listener: any StreamListener) -> Bool {
        !isShortOfDescriptors && !isHeldForHandshakes(listener) && shares.canAccept(number)
    }

    private func isHeldForHandshakes(_ listener: any StreamListener) -> Bool {
        isTLSPaused && listener.endpoint.isTLS
    }

    // MARK: TLS handshakes

    /// Handshakes that wait for their peer get a quarter of all sockets, and queued ones another
    /// quarter. Half of the sockets are left for established connections.
    private static let handshakePart = 4

    private var handshakeLimit: Int {
        min(context.limits.handshakes, max(socketLimit / Self.handshakePart, 1))
    }

    /// Limit for silent handshakes during a drain, which does not wait long for them.
    private static let drainingHandshakeMilliseconds: UInt64 = 1_000

    private func prepareHandshakes(_ tls: TLSContext) {
        handshakes = Handshakes(
            tls, most: handshakeLimit, percent: context.limits.handshakePercent
        ) { [unowned self] outcome in didShakeHands(outcome) }
        context.telemetry.log.writeExpiry(of: tls)
    }

    private func didShakeHands(_ outcome: Handshakes.Outcome) {
        switch outcome {
        case .secured(let stream): onClient(stream, nil)
        case .plain(let stream):
            context.telemetry.logFault("a connection without TLS at a TLS address")
            onClient(stream, .speaksTLS)
        case .failed(let error): context.telemetry.logFault(error)
        }
    }

    /// Continues queued handshakes. Called after all ready sockets are read and the answers are
    /// written.
    func continueHandshakes() {
        guard let handshakes, handshakes.waitingCount > 0 else { return }
        // Connections without TLS continue.
        if handshakes.isFull { pauseTLS() }
        // Requests another turn, which begins with the established connections.
        if handshakes.work(now: context.now, isHurried: context.phase.isDraining) {
            context.loop.post {}
        }
        resumeTLS()
    }

    /// Closes handshakes past their deadline.
    func sweepHandshakes() {
        defer { resumeTLS() }
        guard let handshakes, handshakes.count > 0 else { return }
        let most = context.limits.handshakeMilliseconds
        handshakes.sweep(
            now: context.now,
            silent: context.phase.isDraining
                ? min(most, Self.drainingHandshakeMilliseconds) : most,
            waiting: most)
        continueHandshakes()
    }

    func closeHandshakes() { handshakes?.closeAll() }

    private func pauseTLS() {
        guard !isTLSPaused else { return }
        isTLSPaused = true
        context.telemetry.logFault(
            "the queue of TLS handshakes is full: more connections wait")
        updatePauses()
    }

    private func resumeTLS() {
        guard isTLSPaused, handshakes?.hasDrained ?? true else { return }
        isTLSPaused = false
        updatePauses()
    }
}
