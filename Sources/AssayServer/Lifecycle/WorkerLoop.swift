import Assay
import AssayIO
import AssayService
import AssaySessions
import AssayTelemetry
import AssayWire

/// A worker of the server: an event loop that does everything for its connections. It reads,
/// decodes, admits, verifies and answers. A request needs nothing that belongs to another worker.
final class WorkerLoop {
    let context: ServiceContext
    let connections: ConnectionTable
    private let turns: Turns
    let budget: Budget
    let scheduler: Scheduler
    private let admission: Admission
    private let clients: ConnectionContext
    private let secured: SecuredStreams
    private let worker: Worker
    private var turnEnd: TurnEnd?
    private var pollWatch: PollWatch?
    private var sweepTimer: Timer?
    private var lastSweep: UInt64 = 0
    /// Called at the end of each turn and each sweep. For tests.
    var onTurn: ((HeldResources) -> Void)?
    /// Called once, when the drain has ended.
    private var onEnd: @Sendable () -> Void = {}

    /// How often timeouts are checked; the limits are seconds.
    static let sweepMilliseconds: UInt64 = 100
    /// After a delay of this length, the loop has bytes to read before it judges its peers.
    private static let lateSweepMilliseconds: UInt64 = 1_000

    init(
        _ configuration: ServerConfiguration, _ worker: Worker, _ shared: SharedResources
    ) throws(LoopError) {
        let loop = worker.loop
        self.worker = worker
        let codec = MessageCodec()
        context = configuration.makeServiceContext(on: loop)
        budget = Budget(sharing: shared.bytes) { [loop] in loop.receivedBytes }
        connections = ConnectionTable(context, budget, worker: worker.index)
        turns = Turns(loop)
        scheduler = try Scheduler(
            context, codec, shared, worker: worker.index,
            handsOver: configuration.fixed.handsOver
        ) { [turns] in turns.writeAnswers() }
        worker.helper.begin(scheduler)
        admission = Admission(context, budget, scheduler, codec)
        clients = ConnectionContext(
            context, configuration.reloadable.connections, connections, turns,
            Service(context, admission, scheduler), codec)
        secured = SecuredStreams(clients, workers: shared.helpers.count)
        turnEnd = try TurnEnd(on: loop) { [self] in endTurn() }
        pollWatch = try PollWatch(on: loop) { [scheduler] in
            worker.helper.setIdle(scheduler.canHelp)
        }
        let timer = try Timer(on: loop)
        timer.start(
            afterMilliseconds: Self.sweepMilliseconds, everyMilliseconds: Self.sweepMilliseconds
        ) { [self] in sweep() }
        sweepTimer = timer
    }

    // MARK: Connections

    /// Serves a connection.
    ///
    /// - Parameters:
    ///   - accepted: it was accepted on another loop.
    ///   - onClose: called once, on any outcome.
    func take(
        _ accepted: any DetachedConnection, at endpoint: Endpoint,
        onClose: @escaping @Sendable () -> Void
    ) {
        guard let stream = try? accepted.open(on: context.loop) else { return onClose() }
        stream.endpoint = endpoint
        stream.onClose = onClose
        if context.phase.hasEnded { return stream.close() }
        if endpoint.isTLS {
            secured.begin(stream)
        } else {
            clients.serve(stream, finalAnswer: nil)
        }
    }

    /// Calls back when the queue of TLS handshakes becomes full, and when it has drained.
    func followHandshakes(_ action: @escaping @Sendable (_ isFull: Bool) -> Void) {
        secured.onFull = action
    }

    /// Applies the number of client sockets that the server can have.
    func socketLimitDidChange(_ limit: Int) { secured.socketLimit = limit }

    // MARK: Turns

    /// Ends a turn, after all ready sockets were read: has the requests verified and the answers
    /// written.
    private func endTurn() {
        worker.helper.setIdle(false)
        turns.beginEnd()
        scheduler.work(Reading(turns: turns, table: connections))
        scheduler.advanceChainQueue()
        turns.writeAnswers()
        secured.continueHandshakes()
        turns.end()
        budget.giveBackSurplus()
        onTurn?(heldResources)
        endIfDrained()
    }

    /// Advances the loop's clock and checks the timeouts. For tests, which would have to wait
    /// otherwise.
    func advanceClock(byMilliseconds duration: UInt64) {
        if context.phase.hasEnded { return }
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
        connections.endSilent(at: context.now, while: budget.isMemoryLow)
        turns.readWithoutMemory()
        connections.forgetPeers()
        budget.giveBackUnused()
        context.telemetry.flushFaults()
        context.telemetry.flushRecords()
        secured.sweep()
        advance()
        // Timers run before the loop blocks: no answer can be left for the end of a turn.
        turns.writeAnswers()
        report()
        onTurn?(heldResources)
        endIfDrained()
    }

    /// What this thread keeps of the verifiers' caches.
    var threadCache: ThreadCache { scheduler.threadCache }

    /// Publishes the worker's state to other threads.
    func report() {
        worker.report(
            WorkerState(
                metrics: context.telemetry.metrics, heldResources: heldResources,
                traffic: context.loop.traffic, reportedAt: context.loop.nanoseconds,
                hasEnded: context.phase.hasEnded))
    }

    var heldResources: HeldResources {
        var heldResources = HeldResources()
        budget.add(to: &heldResources)
        heldResources.turns = turns.number
        connections.add(to: &heldResources)
        scheduler.add(to: &heldResources)
        secured.add(to: &heldResources)
        return heldResources
    }

    // MARK: Life

    /// Applies the settings of a reload to later requests and connections.
    func reload(_ new: ServerConfiguration.Reloadable) {
        context.replaceSettings(with: new.service)
        clients.apply(new.connections)
        admission.settingsDidChange()
        scheduler.settingsDidChange()
        secured.settingsDidChange()
        clients.endForbidden()
    }

    /// Notifies the clients that the server will drain. Still serves.
    func leave(until time: UInt64) {
        context.enter(.leaving(until: time))
        connections.announceDrain()
        turns.writeAnswers()
    }

    /// Rejects new requests, answers the accepted ones, and ends by this time.
    func drain(until time: UInt64, onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
        context.enter(.draining(until: time))
        // Clients that connected in the meantime were not notified yet.
        connections.announceDrain()
    }

    private func advance() {
        guard case .draining(let until) = context.phase, context.now >= until else { return }
        if !connections.isEmpty {
            context.telemetry.log.write(
                .warning, "drain_timeout", ["connections": .number(connections.count)])
        }
        connections.closeAll()
        secured.closeAll()
    }

    /// Ends the worker if it is draining and nothing is left to do.
    private func endIfDrained() {
        guard case .draining = context.phase, connections.isEmpty, scheduler.isIdle,
            secured.isIdle
        else { return }
        context.enter(.ended)
        context.telemetry.flushRecords()
        budget.giveBackUnused()
        scheduler.stop()
        sweepTimer?.close()
        turnEnd?.close()
        pollWatch?.close()
        report()
        onEnd()
    }
}

/// What the connections of a worker have to read.
private struct Reading: ReadingState {
    let turns: Turns
    let table: ConnectionTable

    var connections: Int { table.count }
    var hasMoreToRead: Bool { turns.hasMoreToRead }
    func wakeIfReadingResumed() { turns.wakeIfReadingResumed() }
}
