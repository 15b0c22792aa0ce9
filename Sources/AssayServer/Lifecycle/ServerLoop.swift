import AssayIO
import AssayWire

/// The server's state on its loop's thread: makes the owners of its parts, and ends each turn.
final class ServerLoop {
    let context: ServerContext
    let acceptor: Acceptor
    let lifecycle: Lifecycle
    let publisher: StatePublisher
    let connections: ConnectionTable
    private let turns: Turns
    private let budget: Budget
    private let scheduler: Scheduler
    private let memory: MemoryReturner
    private var turnEnd: TurnEnd?
    private var pollWatch: PollWatch?
    private var sweepTimer: Timer?
    private var lastSweep: UInt64 = 0

    /// How often timeouts are checked; the limits are seconds.
    static let sweepMilliseconds: UInt64 = 100
    /// After a delay of this length, the loop has bytes to read before it judges its peers.
    private static let lateSweepMilliseconds: UInt64 = 1_000

    /// Creates the state of a server.
    ///
    /// - Parameter report: called for each event, on the loop's thread.
    init(
        _ configuration: ServerConfiguration, on loop: EventLoop, _ transport: any Transport,
        workers: any Executor,
        report: @escaping @Sendable (ServerEvent) -> Void
    ) throws(LoopError) {
        let codec = MessageCodec()
        context = ServerContext(configuration, on: loop, transport)
        connections = ConnectionTable(context)
        turns = Turns(loop)
        budget = Budget(limit: context.limits.evidenceBytes) { [loop] in loop.receivedBytes }
        scheduler = try Scheduler(
            context, connections, turns, budget, codec, workers: workers)
        let admission = Admission(context, budget, scheduler, codec)
        let clients = ConnectionContext(
            context, connections, turns, budget, scheduler, admission, codec)
        acceptor = Acceptor(context) { stream, lastWord in
            clients.serve(stream, lastWord: lastWord)
        }
        publisher = StatePublisher(context, acceptor, connections, turns, budget, scheduler)
        lifecycle = Lifecycle(
            context, acceptor, connections, admission, scheduler, publisher, report: report)
        memory = MemoryReturner(context, workers)
        turnEnd = try TurnEnd(on: loop) { [self] in endTurn() }
        pollWatch = try PollWatch(on: loop)
        let timer = try Timer(on: loop)
        timer.start(
            afterMilliseconds: Self.sweepMilliseconds, everyMilliseconds: Self.sweepMilliseconds
        ) { [self] in sweep() }
        sweepTimer = timer
        context.telemetry.log.writeTrust(of: configuration.apps)
        context.telemetry.log.writeEngine(of: configuration.apps)
    }

    /// Ends a turn, after all ready sockets were read: has the requests verified and the answers
    /// written.
    private func endTurn() {
        turns.beginEnd()
        scheduler.work()
        scheduler.advanceChainQueue()
        turns.writeAnswers()
        acceptor.continueHandshakes()
        turns.end()
        endIfDrained()
    }

    /// Advances the loop's clock and checks the timeouts. For tests, which would have to wait
    /// otherwise.
    func advanceClock(byMilliseconds duration: UInt64) {
        if case .ended = context.phase { return }
        context.loop.clock.advance(byMilliseconds: duration)
        sweep()
    }

    /// Checks everything that takes time. Called several times a second.
    private func sweep() {
        scheduler.sweep()
        let isLate = context.now - lastSweep > Self.lateSweepMilliseconds
        lastSweep = context.now
        for connection in connections.all { connection.sweep(isLate: isLate) }
        connections.refuseSlow { budget.isLow }
        memory.sweep(held: budget.held)
        context.telemetry.flushFaults()
        acceptor.sweepHandshakes()
        lifecycle.advance()
        // Timers run before the loop blocks: no answer can be left for the end of a turn.
        turns.writeAnswers()
        publisher.publish()
        endIfDrained()
    }

    private func endIfDrained() {
        guard lifecycle.endIfDrained() else { return }
        sweepTimer?.close()
        turnEnd?.close()
        pollWatch?.close()
    }
}
