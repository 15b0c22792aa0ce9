import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// The server's state on the thread of its listeners: accepts connections for the workers, leads
/// the server through its life, and publishes its state.
final class Supervisor {
    let context: ServerContext
    let acceptor: Acceptor
    let lifecycle: Lifecycle
    let publisher: StatePublisher
    private let memory: MemoryReturner
    private var sweepTimer: Timer?
    /// Whether a worker does not report.
    private var isStalled = false

    /// - Parameters:
    ///   - workers: have begun, and get connections from now on.
    ///   - report: called for each event, on the loop's thread.
    init(
        _ configuration: ServerConfiguration, on loop: EventLoop, _ workers: [Worker],
        _ shared: SharedResources, _ transport: any Transport,
        report: @escaping @Sendable (ServerEvent) -> Void
    ) throws(LoopError) {
        context = ServerContext(configuration, on: loop, transport)
        acceptor = Acceptor(context, workers)
        publisher = StatePublisher(context, acceptor, workers)
        lifecycle = Lifecycle(context, acceptor, workers, publisher, report: report)
        memory = MemoryReturner(context, shared.background)
        let timer = try Timer(on: loop)
        timer.start(
            afterMilliseconds: WorkerLoop.sweepMilliseconds,
            everyMilliseconds: WorkerLoop.sweepMilliseconds
        ) { [self] in sweep() }
        // A server serves until its end, even if nothing refers to it.
        sweepTimer = timer
        context.telemetry.log.writeTrust(of: configuration.apps)
        context.telemetry.log.writeEngine(of: configuration.apps)
    }

    /// Advances the loop's clock and checks the timeouts. For tests.
    func advanceClock(byMilliseconds duration: UInt64) {
        if context.phase.hasEnded { return }
        context.loop.clock.advance(byMilliseconds: duration)
        sweep()
    }

    /// Logs when a worker has not reported for longer than any work takes, and when all report
    /// again.
    private func checkStall() {
        let limit = context.limits.workerStallMilliseconds
        // Read first: workers go on reporting.
        let oldest = publisher.oldestReport
        let age = (context.loop.nanoseconds - oldest) / 1_000_000
        guard (age > limit) != isStalled else { return }
        isStalled = age > limit
        context.telemetry.log.writeStall(isStalled, limit: limit)
    }

    /// Checks everything that takes time. Called several times a second.
    private func sweep() {
        if context.phase.hasEnded {
            sweepTimer?.close()
            return
        }
        memory.sweep(held: publisher.heldResources.heldBytes)
        checkStall()
        context.telemetry.flushFaults()
        lifecycle.advance()
        publisher.publish()
    }
}
