import Assay
public import AssayIO
import AssayModels
import Synchronization

/// Verifies App Store evidence over TCP and Unix sockets.
///
/// ```swift
/// let server = try Server(configuration)
/// print(server.endpoints)
/// try server.followSignals()
/// await server.run()
/// ```
///
/// A `ServiceGroup` of swift-service-lifecycle can run it: `run()` drains when its task is
/// cancelled.
public final class Server: Sendable {
    /// The addresses it listens on, with the ports that the system chose.
    public let endpoints: [Endpoint]

    private let loop: EventLoop
    private let workers: any Executor
    private let server: LoopBound<ServerLoop>
    private let watchers = Locked<[LoopBound<SignalWatcher>]>([])
    private let messages: Mailbox<ServerEvent>
    private let followers = EventFollowers()
    private let readiness = Readiness()

    /// Starts the server. When this returns, the server listens on every address.
    public init(_ configuration: ServerConfiguration) throws(ServerError) {
        try Self.check(configuration)
        let transport = SystemTransport()
        do throws(LoopError) {
            messages = try Mailbox()
            loop = try EventLoop(name: "assay-loop")
            try loop.start()
        } catch {
            throw .system(error)
        }
        do throws(LoopError) {
            workers = try transport.makeExecutor(
                count: configuration.workers, name: "assay-worker", hasLowPriority: false)
        } catch {
            loop.stop()
            loop.join()
            throw .system(error)
        }
        let (loop, workers, messages, readiness) = (loop, workers, messages, readiness)
        let followers = followers
        do throws(LoopError) {
            server = try loop.call { () throws(LoopError) in
                let server = try ServerLoop(
                    configuration, on: loop, transport, workers: workers
                ) { event in
                    if event != .hangup { readiness.isReady.store(false, ordering: .releasing) }
                    messages.put(event)
                    followers.put(event)
                }
                return LoopBound(server, to: loop)
            }
        } catch {
            Self.stop(loop, workers)
            throw .system(error)
        }
        endpoints = try Self.listen(server, loop, workers, configuration)
        readiness.isReady.store(true, ordering: .releasing)
        publishState()
    }

    /// Publishes the state of a server that has just started: a probe that follows the ready line
    /// must not find it starting.
    private func publishState() {
        let server = server
        try? loop.call { () throws(LoopError) in server.value.publisher.publish() }
    }

    private static func listen(
        _ server: LoopBound<ServerLoop>, _ loop: EventLoop, _ workers: any Executor,
        _ configuration: ServerConfiguration
    ) throws(ServerError) -> [Endpoint] {
        var bound: [Endpoint] = []
        for endpoint in configuration.fixed.listenOnAll {
            do throws(LoopError) {
                bound += try loop.call { () throws(LoopError) in
                    try server.value.acceptor.listen(on: endpoint)
                }
            } catch {
                stop(loop, workers)
                throw .listen(endpoint, error)
            }
        }
        loop.post { server.value.acceptor.warnOfDescriptors() }
        return bound
    }

    private static func check(_ configuration: ServerConfiguration) throws(ServerError) {
        guard !configuration.fixed.listenOnAll.isEmpty else { throw .noListener }
        guard !configuration.apps.isEmpty else { throw .noApp }
        guard configuration.workers > 0 else { throw .noWorker }
        let hasTLS = configuration.tls != nil
        if let problem = ServerError.of(configuration.listen, hasTLS: hasTLS) { throw problem }
        if let name = configuration.defaultApp, configuration.apps[name] == nil {
            throw .unknownDefaultApp(name)
        }
    }

    /// Applies a new configuration: app entries, users, limits. Accepted requests continue under
    /// the configuration that accepted them. An invalid configuration changes nothing.
    ///
    /// - Returns: the changed settings that need a restart.
    @discardableResult
    public func reload(_ configuration: ServerConfiguration) throws(ServerError) -> [String] {
        var listening = configuration
        listening.listen = endpoints
        try Self.check(listening)
        let server = server
        do throws(LoopError) {
            return try loop.call { () throws(LoopError) in
                server.value.lifecycle.reload(configuration)
            }
        } catch {
            throw .system(error)
        }
    }

    /// Logs why a configuration was rejected.
    public func noteFailedReload(_ reasons: [String]) {
        let server = server
        loop.post { server.value.lifecycle.noteFailedReload(reasons) }
    }

    /// Calls `action` periodically while the loop and a worker are running.
    package func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let (server, workers) = (server, workers)
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in
                try server.value.lifecycle.followHeartbeat(
                    everyMilliseconds: period, on: workers, action)
            }
        } catch {
            throw .system(error)
        }
    }

    private static func stop(_ loop: EventLoop, _ workers: any Executor) {
        loop.stop()
        loop.join()
        workers.stop()
    }

    /// Drains the server: rejects new requests, answers accepted ones within the drain timeout,
    /// then ends.
    public func drain() {
        let server = server
        loop.post { server.value.lifecycle.drain() }
    }

    /// Whether clients can use this server: from its start until it is asked to stop.
    public var isReady: Bool { readiness.isReady.load(ordering: .acquiring) }

    /// Drains on SIGTERM and SIGINT, ends at once on the second of these signals, and reports
    /// SIGHUP as an event.
    public func followSignals() throws(ServerError) {
        let server = server
        for signal in [ProcessSignal.terminate, .interrupt] {
            try follow(signal) { server.value.lifecycle.leave(on: signal) }
        }
        try follow(.hangup) { server.value.lifecycle.hangUp() }
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

    /// The current holdings of the server; nil after it has ended. Must not be called on the
    /// loop's thread.
    package var holdings: ServerHoldings? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.publisher.holdings }
    }

    /// The server's metrics; nil after it has ended. Must not be called on the loop's thread.
    package var metrics: ServerMetrics? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.context.telemetry.metrics }
    }

    /// Lets time pass for all timeouts of the server without waiting: it checks them as often as
    /// in that time, once in a turn of the loop. For tests. Does nothing after the server has
    /// ended. Must not be called on the loop's thread.
    package func advanceClock(byMilliseconds duration: UInt64) {
        let server = server
        var left = duration
        while left > 0 {
            let step = min(left, ServerLoop.sweepMilliseconds)
            try? loop.call { () throws(LoopError) in
                server.value.advanceClock(byMilliseconds: step)
            }
            left -= step
        }
    }

    /// Waits for the next event. One caller at a time. Later calls return the end again.
    public func nextEvent() -> ServerEvent {
        let event = messages.take()
        if case .ended(let end) = event {
            messages.put(event)
            // After an immediate stop there is no wait for the workers.
            if end == .drained { Self.stop(loop, workers) }
        }
        return event
    }

    /// The events from now on, up to the end. Each caller gets all of them.
    public var events: AsyncStream<ServerEvent> { followers.follow() }

    /// Serves until the server has ended and everything is closed. A cancelled task drains the
    /// server first.
    @discardableResult
    public func run() async -> ServerEnd {
        let end = await withTaskCancellationHandler {
            await followers.waitForEnd()
        } onCancel: {
            drain()
        }
        if end == .drained { Self.stop(loop, workers) }
        return end
    }

    /// Waits until the server has ended and everything is closed.
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
