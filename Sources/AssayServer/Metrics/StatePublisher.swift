import AssayIO
import AssaySessions
import AssayTelemetry

/// Sums what the workers report, and publishes it to the monitor if there is one. Belongs to the
/// thread of the listeners.
final class StatePublisher {
    private let context: ServerContext
    private let acceptor: Acceptor
    private let workers: [Worker]

    init(_ context: ServerContext, _ acceptor: Acceptor, _ workers: [Worker]) {
        self.context = context
        self.acceptor = acceptor
        self.workers = workers
    }

    func publish() {
        guard let monitor = context.fixed.monitor else { return }
        var metrics = context.telemetry.metrics
        var traffic = LoopTraffic()
        for worker in workers {
            let state = worker.lastState
            metrics.add(state.metrics)
            traffic.add(state.traffic)
        }
        monitor.publish(
            since: oldestReport,
            ServerState(
                phase: shownPhase, metrics: metrics, heldResources: heldResources, traffic: traffic,
                limits: context.limits, version: context.settings.version,
                workers: context.fixed.workers, connectionLimit: acceptor.socketLimit,
                endpoints: acceptor.endpoints, certificateEnd: context.settings.tls?.notAfter,
                apps: context.service.apps, revocation: context.settings.revocation?.report,
                audit: context.settings.audit?.log.counts,
                spans: context.settings.spans?.queue.counts, now: context.fixed.clock()))
    }

    /// When the state of the worker was reported whose report is the oldest, in nanoseconds of the
    /// monotonic clock: a worker that hangs makes the whole state old.
    var oldestReport: UInt64 {
        let now = context.loop.nanoseconds
        return workers.map(\.lastState).filter { !$0.hasEnded }.compactMap(\.reportedAt)
            .min().map { min($0, now) } ?? now
    }

    private var shownPhase: ServerState.Phase {
        switch context.phase {
        case .serving: acceptor.endpoints.isEmpty ? .starting : .serving
        case .leaving, .draining: .draining
        case .ended: .stopped
        }
    }

    /// What all workers hold.
    var heldResources: HeldResources {
        workers.reduce(into: HeldResources()) { $0.add($1.lastState.heldResources) }
    }
}
