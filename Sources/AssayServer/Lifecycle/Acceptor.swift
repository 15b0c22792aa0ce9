import AssayIO
import AssayTelemetry

/// Accepts clients for all workers: each goes to the worker with the fewest.
///
/// Owns the listeners, the counts of client sockets, and the reasons for which a listener is
/// paused. Clients of a paused listener wait in the kernel's queue. Belongs to the thread of the
/// listeners.
final class Acceptor {
    private let context: ServerContext
    private let workers: [Worker]
    /// The sockets of each worker's clients.
    private var socketsOfWorkers: [Int]
    private var listeners: [any StreamListener] = []
    /// The sockets of each listener's clients.
    private var socketsOfListeners = ListenerSockets(limit: 0)
    /// Accepts no connection until one has closed.
    private var isShortOfDescriptors = false
    /// The workers whose queue of TLS handshakes is full: no TLS connection is accepted until it
    /// has drained to half.
    private var fullWorkers: Set<Int> = []
    /// Descriptors in use when the server began to listen.
    private var ownDescriptors = 0
    /// A connection with this descriptor or a higher one leaves too few descriptors free.
    private let descriptorLimit: Int

    init(_ context: ServerContext, _ workers: [Worker]) {
        self.context = context
        self.workers = workers
        socketsOfWorkers = workers.map { _ in 0 }
        let descriptors = Descriptors.limit
        descriptorLimit = descriptors - context.fixed.reservedDescriptors(of: descriptors)
        let acceptor = LoopBound(self, to: context.loop)
        for worker in workers {
            let index = worker.index
            worker.post { worker in
                worker.followHandshakes { isFull in
                    acceptor.post { $0.queueOfHandshakes(of: index, isFull: isFull) }
                }
            }
        }
    }

    /// The endpoints of the listeners, with the ports that the system chose.
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }

    /// The number of client sockets, TLS handshakes included.
    var count: Int { socketsOfListeners.total }

    /// Applies the settings of a reload. TLS listeners stay: a configuration without TLS is
    /// rejected for them.
    func settingsDidChange() {
        passOnSocketLimit()
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
        let first = socketsOfListeners.listenerCount
        let added = try context.transport.listen(at: endpoint, for: context.fixed, on: context.loop)
        {
            [self] stream, index in welcome(stream, at: endpoint, first + index)
        }
        for _ in added { socketsOfListeners.addListener() }
        // The system assigns the lowest free descriptor.
        for listener in added { ownDescriptors = max(ownDescriptors, Int(listener.descriptor) + 1) }
        passOnSocketLimit()
        if endpoint.isTLS, let tls = context.settings.tls, !listeners.contains(where: isTLS) {
            context.telemetry.log.writeExpiry(of: tls)
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

    /// Passes a connection to a worker.
    private func welcome(_ stream: Stream, at endpoint: Endpoint, _ listener: Int) {
        if Int(stream.descriptor) >= descriptorLimit { isShortOfDescriptors = true }
        guard let accepted = stream.detach() else {
            // The listener's next connection finds a descriptor, or waits for one.
            return context.telemetry.logFault("no descriptor is free for a connection")
        }
        socketsOfListeners.didOpen(listener)
        let index = socketsOfWorkers.indices.min { socketsOfWorkers[$0] < socketsOfWorkers[$1] }!
        socketsOfWorkers[index] += 1
        let acceptor = LoopBound(self, to: context.loop)
        workers[index].post { worker in
            worker.take(accepted, at: endpoint) {
                acceptor.post { $0.didClose(listener, of: index) }
            }
        }
        updatePauses()
    }

    private func didClose(_ listener: Int, of worker: Int) {
        socketsOfWorkers[worker] -= 1
        socketsOfListeners.didClose(listener)
        isShortOfDescriptors = false
        updatePauses()
    }

    private func queueOfHandshakes(of worker: Int, isFull: Bool) {
        if isFull { fullWorkers.insert(worker) } else { fullWorkers.remove(worker) }
        updatePauses()
    }

    private func isTLS(_ listener: any StreamListener) -> Bool { listener.endpoint.isTLS }

    private func passOnSocketLimit() {
        let limit = socketLimit
        socketsOfListeners.limit = limit
        for worker in workers { worker.post { $0.socketLimitDidChange(limit) } }
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
        !isShortOfDescriptors && !isHeldForHandshakes(listener)
            && socketsOfListeners.canAccept(number)
    }

    private func isHeldForHandshakes(_ listener: any StreamListener) -> Bool {
        !fullWorkers.isEmpty && listener.endpoint.isTLS
    }
}
