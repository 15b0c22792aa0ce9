import Assay
public import AssayLoop
import AssayModels
import Synchronization

/// Verifies App Store evidence over TCP and Unix sockets.
///
/// ```swift
/// let server = try Server(configuration)
/// print(server.endpoints)
/// server.drainOnSignals()
/// server.wait()
/// ```
public final class Server: Sendable {
    /// Where it listens, with the ports that the system chose.
    public let endpoints: [Endpoint]

    private let loop: EventLoop
    private let workers: WorkerPool
    private let server: LoopBound<ServerLoop>
    private let watchers = Mutex<[LoopBound<SignalWatcher>]>([])
    private let ended: Gate

    /// Starts: when it returns, every address is listened on.
    public init(_ configuration: ServerConfiguration) throws(ServerError) {
        try Self.check(configuration)
        ignoreBrokenPipes()
        let ended: Gate
        do throws(LoopError) {
            ended = try Gate()
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
        self.ended = ended
        let (loop, workers) = (loop, workers)
        do throws(LoopError) {
            server = try loop.call { () throws(LoopError) in
                let server = try ServerLoop(configuration, on: loop, workers: workers) {
                    ended.open()
                }
                return LoopBound(server, to: loop)
            }
        } catch {
            Self.stop(loop, workers)
            throw .system(error)
        }
        endpoints = try Self.listen(server, loop, workers, configuration.listen)
    }

    private static func listen(
        _ server: LoopBound<ServerLoop>, _ loop: EventLoop, _ workers: WorkerPool,
        _ endpoints: [Endpoint]
    ) throws(ServerError) -> [Endpoint] {
        var bound: [Endpoint] = []
        for endpoint in endpoints {
            do throws(LoopError) {
                bound.append(
                    try loop.call { () throws(LoopError) in
                        try server.value.listen(on: endpoint)
                    })
            } catch {
                stop(loop, workers)
                throw .listen(endpoint, error)
            }
        }
        return bound
    }

    private static func check(_ configuration: ServerConfiguration) throws(ServerError) {
        guard !configuration.listen.isEmpty else { throw .noListener }
        guard !configuration.apps.isEmpty else { throw .noApp }
        guard configuration.workers > 0 else { throw .noWorker }
        if let name = configuration.defaultApp, configuration.apps[name] == nil {
            throw .unknownDefaultApp(name)
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

    /// Drains on SIGTERM and SIGINT.
    public func drainOnSignals() throws(ServerError) {
        let (loop, server) = (loop, server)
        for signal in [ProcessSignal.terminate, .interrupt] {
            do throws(LoopError) {
                let watcher = try loop.call { () throws(LoopError) in
                    LoopBound(
                        try SignalWatcher(signal, on: loop) { server.value.drain() }, to: loop)
                }
                watchers.withLock { $0.append(watcher) }
            } catch {
                throw .system(error)
            }
        }
    }

    /// What the server holds at the moment; nil when it has ended. Not from the loop's thread.
    package var holdings: ServerHoldings? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.holdings }
    }

    /// What it has refused so far; nil when it has ended. Not from the loop's thread.
    package var counters: ServerCounters? {
        let server = server
        return try? loop.call { () throws(LoopError) in server.value.counters }
    }

    /// Waits until a drain has ended, and everything is closed.
    public func wait() {
        ended.wait()
        Self.stop(loop, workers)
    }
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
    package var requestsInFlight = 0
    /// Requests that wait for a worker.
    package var waiting = 0
    /// Chains that wait to be validated or are being, and the requests that wait for them.
    package var unseenChains = 0
    package var unseenRequests = 0
    package var turns: UInt64 = 0

    package init() {}
}
