import Assay
public import AssayIO
import AssayKeepers
import AssayModels
import AssayService
import AssayTelemetry
import Synchronization

/// Verifies evidence of purchases over TCP, TLS and Unix sockets.
///
/// ```swift
/// let server = try Server(configuration)
/// print(server.endpoints)
/// try server.followSignals()
/// await server.run()
/// ```
///
/// A `ServiceGroup` of swift-service-lifecycle can run it: `run()` drains when the group shuts down
/// or its task is cancelled.
public final class Server: Sendable {
    /// The addresses it listens on, with the ports that the system chose.
    public let endpoints: [Endpoint]

    /// The thread of the listeners.
    private let loop: EventLoop
    private let supervisor: LoopBound<Supervisor>
    let workers: [Worker]
    private let shared: SharedResources
    private let watchers = Locked<[LoopBound<SignalWatcher>]>([])
    private let messages: Mailbox<ServerEvent>
    private let followers = EventFollowers()
    private let readiness = Readiness()
    #if ServerSide
        /// What the service counts.
        let monitor: ServerMonitor
        /// What the service exports until its end.
        let spans: SpanService?
    #endif

    /// Starts the server. When this returns, the server listens on every address.
    public init(_ configuration: ServerConfiguration) throws(ServerError) {
        try Self.check(configuration)
        #if ServerSide
            let monitored = configuration.monitored
            let configuration = monitored.configuration
            monitor = monitored.monitor
            spans = configuration.spans
        #endif
        do throws(LoopError) {
            messages = try Mailbox()
            let threads = try ServerThreads(configuration)
            (loop, workers, shared) = (threads.loop, threads.workers, threads.shared)
        } catch {
            throw .system(error)
        }
        let (loop, workers, shared) = (loop, workers, shared)
        let (messages, readiness, followers) = (messages, readiness, followers)
        do throws(LoopError) {
            supervisor = try loop.call { () throws(LoopError) in
                let supervisor = try Supervisor(
                    configuration, on: loop, workers, shared, SystemTransport()
                ) { event in
                    if event != .hangup { readiness.isReady.store(false, ordering: .releasing) }
                    messages.put(event)
                    followers.put(event)
                }
                return LoopBound(supervisor, to: loop)
            }
        } catch {
            Self.stop(loop, workers, shared)
            throw .system(error)
        }
        endpoints = try Self.listen(supervisor, loop, workers, shared, configuration)
        readiness.isReady.store(true, ordering: .releasing)
        publishState()
    }

    /// Publishes the state of a server that has just started: a probe that follows the ready line
    /// must not find it starting.
    private func publishState() {
        let supervisor = supervisor
        try? loop.call { () throws(LoopError) in supervisor.value.publisher.publish() }
    }

    private static func listen(
        _ supervisor: LoopBound<Supervisor>, _ loop: EventLoop, _ workers: [Worker],
        _ shared: SharedResources, _ configuration: ServerConfiguration
    ) throws(ServerError) -> [Endpoint] {
        var bound: [Endpoint] = []
        for endpoint in configuration.fixed.listenOnAll {
            do throws(LoopError) {
                bound += try loop.call { () throws(LoopError) in
                    try supervisor.value.acceptor.listen(on: endpoint)
                }
            } catch {
                stop(loop, workers, shared)
                throw .listen(endpoint, error)
            }
        }
        loop.post { supervisor.value.acceptor.warnOfDescriptors() }
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
        let supervisor = supervisor
        do throws(LoopError) {
            shared.limitsDidChange(configuration.limits)
            for worker in workers { try worker.call { $0.reload(configuration.reloadable) } }
            return try loop.call { () throws(LoopError) in
                supervisor.value.lifecycle.reload(configuration)
            }
        } catch {
            throw .system(error)
        }
    }

    /// Logs why a configuration was rejected.
    public func noteFailedReload(_ reasons: [String]) {
        let supervisor = supervisor
        loop.post { supervisor.value.lifecycle.noteFailedReload(reasons) }
    }

    /// Calls `action` periodically while all workers are running.
    package func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(ServerError) {
        let supervisor = supervisor
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in
                try supervisor.value.lifecycle.followHeartbeat(
                    everyMilliseconds: period, action)
            }
        } catch {
            throw .system(error)
        }
    }

    private static func stop(
        _ loop: EventLoop, _ workers: [Worker], _ shared: SharedResources
    ) {
        // Workers first: what they post to the thread of the listeners still runs there.
        for worker in workers { worker.loop.stop() }
        for worker in workers { worker.loop.join() }
        loop.stop()
        loop.join()
        shared.stop()
    }

    /// Drains the server: rejects new requests, answers accepted ones within the drain timeout,
    /// then ends.
    public func drain() {
        let supervisor = supervisor
        loop.post { supervisor.value.lifecycle.drain() }
    }

    /// Whether clients can use this server: from its start until it is asked to stop.
    public var isReady: Bool { readiness.isReady.load(ordering: .acquiring) }

    /// Drains on SIGTERM and SIGINT, ends at once on the second of these signals, and reports
    /// SIGHUP as an event.
    public func followSignals() throws(ServerError) {
        let supervisor = supervisor
        for signal in [ProcessSignal.terminate, .interrupt] {
            try follow(signal) { supervisor.value.lifecycle.leave(on: signal) }
        }
        try follow(.hangup) { supervisor.value.lifecycle.hangUp() }
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

    /// The resources that the server holds now; nil after it has ended. Must not be called on a
    /// thread of the server's.
    package var heldResources: HeldResources? {
        try? workers.reduce(into: HeldResources()) { sum, worker in
            sum.add(try worker.call { $0.heldResources })
        }
    }

    /// Calls back with what each worker holds, now and at the end of each of its turns, on its
    /// thread. For tests. Must not be called on a thread of the server's.
    ///
    /// - Parameter action: replaces an earlier one; nil for none.
    /// - Returns: whether the server still runs.
    @discardableResult
    package func followHeldResources(
        _ action: (@Sendable (_ worker: Int, HeldResources) -> Void)?
    ) -> Bool {
        do throws(LoopError) {
            for worker in workers {
                try worker.call { loop in
                    loop.onTurn = action.map { action in { action(worker.index, $0) } }
                    loop.onTurn?(loop.heldResources)
                }
            }
            return true
        } catch {
            return false
        }
    }

    /// The server's metrics; nil after it has ended. Must not be called on a thread of the
    /// server's.
    package var metrics: ServerMetrics? {
        let supervisor = supervisor
        let first = try? loop.call { () throws(LoopError) in
            supervisor.value.context.telemetry.metrics
        }
        return try? workers.reduce(into: first) { sum, worker in
            sum?.add(try worker.call { $0.context.telemetry.metrics })
        }
    }

    /// Lets time pass for all timeouts of the server without waiting: it checks them as often as
    /// in that time, once in a turn of each loop. For tests. Does nothing after the server has
    /// ended. Must not be called on a thread of the server's.
    package func advanceClock(byMilliseconds duration: UInt64) {
        let supervisor = supervisor
        var left = duration
        while left > 0 {
            let step = min(left, WorkerLoop.sweepMilliseconds)
            for worker in workers {
                try? worker.call { $0.advanceClock(byMilliseconds: step) }
            }
            try? loop.call { () throws(LoopError) in
                supervisor.value.advanceClock(byMilliseconds: step)
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
            if end == .drained { Self.stop(loop, workers, shared) }
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
        if end == .drained { Self.stop(loop, workers, shared) }
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
