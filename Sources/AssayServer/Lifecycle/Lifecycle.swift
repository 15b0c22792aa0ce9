import AssayIO
import AssayTelemetry
import AssayWire

/// Leads a server from its start to its end: the reload of its settings, the drain, the end. Owns
/// the heartbeat. Belongs to the thread of the listeners, and posts to the workers their part of
/// each step.
final class Lifecycle {
    private let context: ServerContext
    private let acceptor: Acceptor
    private let workers: [Worker]
    private let publisher: StatePublisher
    private let report: @Sendable (ServerEvent) -> Void
    private var heartbeat: Timer?
    /// Workers whose drain has not ended.
    private var busyWorkers: Int

    /// - Parameter report: called for each event, on the thread of the listeners.
    init(
        _ context: ServerContext, _ acceptor: Acceptor, _ workers: [Worker],
        _ publisher: StatePublisher, report: @escaping @Sendable (ServerEvent) -> Void
    ) {
        self.context = context
        self.acceptor = acceptor
        self.workers = workers
        self.publisher = publisher
        self.report = report
        busyWorkers = workers.count
    }

    private var log: Log { context.telemetry.log }

    private func postToAll(_ action: @escaping @Sendable (WorkerLoop) -> Void) {
        for worker in workers { worker.post(action) }
    }

    // MARK: Reload

    /// Applies a configuration to what is accepted later. The workers have theirs already.
    ///
    /// - Returns: the settings that need a restart to change.
    func reload(_ new: ServerConfiguration) -> [String] {
        context.replaceSettings(with: new.reloadable)
        acceptor.settingsDidChange()
        context.telemetry.didReload(true)
        if let tls = new.tls { log.writeExpiry(of: tls) }
        log.write(.info, "reloaded", ["apps": .number(new.apps.count)])
        log.writeTrust(of: new.apps)
        let needRestart = context.fixed.differences(from: new.fixed)
        for name in needRestart {
            log.write(.warning, "restart_needed", ["setting": .text(name)])
        }
        return needRestart
    }

    func noteFailedReload(_ reasons: [String]) {
        context.telemetry.didReload(false)
        for reason in reasons { log.write(.error, "reload_failed", ["reason": .text(reason)]) }
    }

    /// Reports SIGHUP: the process reads the configuration and calls `reload`.
    func hangUp() { report(.hangup) }

    // MARK: Heartbeat

    /// Calls `action` periodically while the thread of the listeners and every worker run: the
    /// beat passes through all of them.
    func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(LoopError) {
        let timer = try Timer(on: context.loop)
        let workers = workers[...]
        timer.start(afterMilliseconds: 0, everyMilliseconds: period) {
            Self.beat(through: workers, action)
        }
        heartbeat = timer
    }

    private static func beat(
        through workers: ArraySlice<Worker>, _ action: @escaping @Sendable () -> Void
    ) {
        guard let next = workers.first else { return action() }
        let rest = workers.dropFirst()
        next.post { _ in beat(through: rest, action) }
    }

    // MARK: Drain

    /// Stops the server on a signal; the second signal stops it at once.
    func leave(on signal: ProcessSignal) {
        if context.phase.isReady { drain() } else { stopAtOnce(on: signal) }
    }

    /// Starts the drain: notifies clients, rejects new connections and requests after the delay,
    /// and ends when the accepted requests are answered.
    func drain() {
        guard context.phase.isReady else { return }
        let until = context.now + context.limits.drainDelayMilliseconds
        context.enter(.leaving(until: until))
        log.write(.info, "draining", ["connections": .number(acceptor.count)])
        report(.draining)
        // Without a delay the drain itself notifies them: no request fits in between.
        if until > context.now { postToAll { $0.leave(until: until) } }
        publisher.publish()
        advance()
    }

    /// Advances the drain when its delay has passed.
    func advance() {
        guard case .leaving(let delay) = context.phase, context.now >= delay else { return }
        let until = context.now + context.limits.drainMilliseconds
        context.enter(.draining(until: until))
        // Each worker gets the last connections before it drains.
        acceptor.finish()
        let lifecycle = LoopBound(self, to: context.loop)
        postToAll { worker in
            worker.drain(until: until) { lifecycle.post { $0.workerDidEnd() } }
        }
    }

    private func workerDidEnd() {
        busyWorkers -= 1
        guard busyWorkers == 0, case .draining = context.phase else { return }
        end()
        log.write(.info, "stopped")
        publisher.publish()
        report(.ended(.drained))
    }

    private func stopAtOnce(on signal: ProcessSignal) {
        if context.phase.hasEnded { return }
        end()
        acceptor.close()
        let requests = workers.reduce(0) { $0 + $1.lastState.heldResources.requestsInFlight }
        log.write(
            .warning, "stopped_at_once",
            ["connections": .number(acceptor.count), "requests": .number(requests)])
        publisher.publish()
        report(.ended(.stopped(signal)))
    }

    private func end() {
        context.enter(.ended)
        heartbeat?.close()
    }
}
