import AssayIO
import AssayWire

/// Leads a server from its start to its end: the reload of its settings, the drain, the end.
/// Nothing else changes the settings and the phase of its context. Owns the heartbeat.
final class Lifecycle {
    private let context: ServerContext
    private let acceptor: Acceptor
    private let connections: ConnectionTable
    private let admission: Admission
    private let scheduler: Scheduler
    private let publisher: StatePublisher
    private let report: @Sendable (ServerEvent) -> Void
    private var heartbeat: Timer?

    /// - Parameter report: called for each event, on the loop's thread.
    init(
        _ context: ServerContext, _ acceptor: Acceptor, _ connections: ConnectionTable,
        _ admission: Admission, _ scheduler: Scheduler, _ publisher: StatePublisher,
        report: @escaping @Sendable (ServerEvent) -> Void
    ) {
        self.context = context
        self.acceptor = acceptor
        self.connections = connections
        self.admission = admission
        self.scheduler = scheduler
        self.publisher = publisher
        self.report = report
    }

    private var log: Log { context.telemetry.log }

    // MARK: Reload

    /// Applies a configuration to later requests and connections.
    ///
    /// - Returns: the settings that need a restart to change.
    func reload(_ new: ServerConfiguration) -> [String] {
        context.replaceSettings(with: new.reloadable)
        admission.settingsDidChange()
        scheduler.settingsDidChange()
        acceptor.settingsDidChange()
        connections.endForbidden()
        context.telemetry.metrics.didReload(true)
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
        context.telemetry.metrics.didReload(false)
        for reason in reasons { log.write(.error, "reload_failed", ["reason": .text(reason)]) }
    }

    /// Reports SIGHUP: the process reads the configuration and calls `reload`.
    func hangUp() { report(.hangup) }

    // MARK: Heartbeat

    /// Calls `action` periodically on a worker's thread, which shows that the loop and a worker
    /// run.
    func followHeartbeat(
        everyMilliseconds period: UInt64, on workers: any Executor,
        _ action: @escaping @Sendable () -> Void
    ) throws(LoopError) {
        let timer = try Timer(on: context.loop)
        timer.start(afterMilliseconds: 0, everyMilliseconds: period) { workers.submit(action) }
        heartbeat = timer
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
        context.enter(.leaving(until: context.now + context.limits.drainDelayMilliseconds))
        log.write(.info, "draining", ["connections": .number(connections.count)])
        report(.draining)
        connections.announceDrain()
        publisher.publish()
        advance()
    }

    /// Advances the drain when its times have passed.
    func advance() {
        let now = context.now
        switch context.phase {
        case .leaving(let until) where now >= until:
            context.enter(.draining(until: now + context.limits.drainMilliseconds))
            acceptor.finish()
            // Clients that connected in the meantime were not notified yet.
            connections.announceDrain()
        case .draining(let until) where now >= until:
            log.write(.warning, "drain_timeout", ["connections": .number(connections.count)])
            connections.closeAll()
            acceptor.closeHandshakes()
        case .serving, .leaving, .draining, .ended: break
        }
    }

    /// Ends the server if it is draining and nothing is left to do. Returns whether it did.
    func endIfDrained() -> Bool {
        guard case .draining = context.phase, connections.isEmpty, scheduler.isIdle,
            acceptor.isIdle
        else { return false }
        context.enter(.ended)
        heartbeat?.close()
        scheduler.stop()
        log.write(.info, "stopped")
        publisher.publish()
        report(.ended(.drained))
        return true
    }

    private func stopAtOnce(on signal: ProcessSignal) {
        if case .ended = context.phase { return }
        context.enter(.ended)
        acceptor.close()
        log.write(
            .warning, "stopped_at_once",
            [
                "connections": .number(connections.count),
                "requests": .number(connections.requestsInFlight),
            ])
        publisher.publish()
        report(.ended(.stopped(signal)))
    }
}
