import Assay
public import AssayIO
import AssayModels
import Synchronization

/// Verifies App Store evidence over TCP and Unix sockets.
///
/// ```swift
/// let server = try Server(configuration)
/// print(server.endpoints)
/// server.followSignals()
/// server.wait()
/// ```
public final class Server: Sendable {
    /// Where it listens, with the ports that the system chose.
    public let endpoints: [Endpoint]

    private let loop: EventLoop
    private let workers: WorkerPool
    private let server: LoopBound<ServerLoop>
    private let watchers = Locked<[LoopBound<SignalWatcher>]>([])
    private let events: Mailbox<ServerEvent>
    private let readiness = Readiness()

    /// Starts: when it returns, every address is listened on.
    public init(_ configuration: ServerConfiguration) throws(ServerError) {
        try Self.check(configuration)
        do throws(LoopError) {
            events = try Mailbox()
            loop = try EventLoop(name: "assay-loop")
            try loop.start()
        } catch {
            throw .system(error)
        }
        do throws(LoopError) {
            workers = try WorkerPool(count: configuration.workers, name: "assay-worker")
        } catch {
            loop.stop()
            loop.join()
            throw .system(error)
        }
        let (loop, workers, events, readiness) = (loop, workers, events, readiness)
        do throws(LoopError) {
            server = try loop.call { () throws(LoopError) in
                let server = try ServerLoop(configuration, on: loop, workers: workers) { event in
                    if event != .hangup { readiness.isReady.store(false, ordering: .releasing) }
                    events.put(event)
                }
                return LoopBound(server, to: loop)
            }
        } catch {
            Self.stop(loop, workers)
            throw .system(error)
        }
        endpoints = try Self.listen(server, loop, workers, configuration)
        readiness.isReady.store(true, ordering: .releasing)
    }

    private static func listen(
        _ server: LoopBound<ServerLoop>, _ loop: EventLoop, _ workers: WorkerPool,
        _ configuration: ServerConfiguration
    ) throws(ServerError) -> [Endpoint] {
        var bound: [Endpoint] = []
        for endpoint in configuration.listenOnAll {
            do throws(LoopError) {
                bound += try loop.call { () throws(LoopError) in
                    try server.value.listen(on: endpoint)
                }
            } catch {
                stop(loop, workers)
                throw .listen(endpoint, error)
            }
        }
        return bound
    }

    private static func check(_ configuration: ServerConfiguration) throws(ServerError) {
        guard !configuration.listenOnAll.isEmpty else { throw .noListener }
        guard !configuration.apps.isEmpty else { throw .noApp }
        guard configuration.workers > 0 else { throw .noWorker }
        let hasTLS = configuration.tls != nil
        if let problem = ServerError.of(configuration.listen, hasTLS: hasTLS) { throw problem }
        if let name = configuration.defaultApp, configuration.apps[name] == nil {
            throw .unknownDefaultApp(name)
        }
    }

    /// Takes what a configuration says for what comes from now on: app entries, users, limits. What
    /// has been accepted goes on under what it was accepted under. A configuration that can't be
    /// served changes nothing.
    ///
    /// - Returns: the settings that are other than before, and need a restart.
    @discardableResult
    public func reload(_ configuration: ServerConfiguration) throws(ServerError) -> [String] {
        var listening = configuration
        listening.listen = endpoints
        try Self.check(listening)
        let server = server
        do throws(LoopError) {
            return try loop.call { () throws(LoopError) in server.value.reload(configuration) }
        } catch {
            throw .system(error)
        }
    }

    /// Logs why a configuration was not taken.
    public func noteFailedReload(_ reasons: [String]) {
        let server = server
        loop.post { server.value.noteFailedReload(reasons) }
    }

    /// Calls back again and again, as long as the loop and a worker do their work.
    package func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let server = server
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in
                try server.value.followHeartbeat(everyMilliseconds: period, action)
            }
        } catch {
            throw .system(error)
        }
    }

    private static func stop(_ loop: EventLoop, _ workers: WorkerPool) {
        loop.stop()
        loop.join()
        workers.stop()
    }

    /// Ends: no new requests; what was accepted is answered, within the drain's time.
    public func drain() {
        let server = server
        loop.post { server.value.drain() }
    }

    /// Whether clients should come here: from its start until it is asked to end.
    public var isReady: Bool { readiness.isReady.load(ordering: .acquiring) }

    /// Drains on SIGTERM and SIGINT, and ends at once when one comes again; tells of SIGHUP.
    public func followSignals() throws(ServerError) {
        let server = server
        for signal in [ProcessSignal.terminate, .interrupt] {
            try follow(signal) { server.value.leave(on: signal) }
        }
        try follow(.hangup) { server.value.report(.hangup) }
    }

    private func follow(
        _ signal: ProcessSignal, _ action: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let loop = loop
        do throws(LoopError) {
            let watcher = try loop.call { () throws(LoopError) in
                LoopBound(try SignalWatcher(signal, on: loop, action), to: loop)
            }
            watchers.withLock { $0.append(watcher) }
        } catch {
            throw .system(error)
        }
    }

    /// What the server holds at the moment; nil when it has ended. Not from the loop's thread.
    package var holdings: ServerHoldings? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.holdings }
    }

    /// What it counts; nil when it has ended. Not from the loop's thread.
    package var metrics: ServerMetrics? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.metrics }
    }

    /// Waits for the next event. One caller at a time; the end is told again and again.
    public func nextEvent() -> ServerEvent {
        let event = events.take()
        if case .ended(let end) = event {
            events.put(event)
            // An end at once does not wait for the workers either.
            if end == .drained { Self.stop(loop, workers) }
        }
        return event
    }

    /// Waits until the server has ended, and everything is closed.
    @discardableResult
    public func wait() -> ServerEnd {
        while true {
            if case .ended(let end) = nextEvent() { return end }
        }
    }
}

private final class Readiness: Sendable {
    let isReady = Atomic(false)
}

/// What a server holds, for tests to compare with its limits.
package struct ServerHoldings: Equatable, Sendable {
    /// Nothing at all.
    package static let none = ServerHoldings()

    package var connections = 0
    /// Bytes of evidence that was accepted and is not answered.
    package var evidenceBytes = 0
    /// Bytes received of frames that were not taken yet.
    package var bufferedBytes = 0
    /// Bytes of answers that the system has not taken.
    package var unwrittenBytes = 0
    /// Memory of all of these, as the limit counts it: above the sum where a small request keeps
    /// what else was received with it.
    package var heldBytes = 0
    package var requestsInFlight = 0
    /// Requests that wait for a worker.
    package var waiting = 0
    /// Chains that wait to be validated or are being, and the requests that wait for them.
    package var unknownChains = 0
    package var unknownChainRequests = 0
    /// TLS handshakes that have not ended, and those of them that wait for their turn.
    package var handshakes = 0
    package var handshakesWaiting = 0
    package var turns: UInt64 = 0

    package init() {}
}
