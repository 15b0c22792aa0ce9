import AssayIO

/// Describes the server's state, and publishes it to the monitor if there is one.
final class StatePublisher {
    private let context: ServerContext
    private let acceptor: Acceptor
    private let connections: ConnectionTable
    private let turns: Turns
    private let budget: Budget
    private let scheduler: Scheduler

    init(
        _ context: ServerContext, _ acceptor: Acceptor, _ connections: ConnectionTable,
        _ turns: Turns, _ budget: Budget, _ scheduler: Scheduler
    ) {
        self.context = context
        self.acceptor = acceptor
        self.connections = connections
        self.turns = turns
        self.budget = budget
        self.scheduler = scheduler
    }

    func publish() {
        guard let monitor = context.fixed.monitor else { return }
        monitor.publish(
            ServerState(
                phase: shownPhase, metrics: context.telemetry.metrics, holdings: holdings,
                traffic: context.loop.traffic, limits: context.limits,
                version: context.settings.version, workers: context.fixed.workers,
                connectionLimit: acceptor.socketLimit, endpoints: acceptor.endpoints,
                certificateEnd: context.settings.tls?.notAfter,
                apps: context.settings.apps, now: context.fixed.clock()))
    }

    private var shownPhase: ServerState.Phase {
        switch context.phase {
        case .serving: acceptor.endpoints.isEmpty ? .starting : .serving
        case .leaving, .draining: .draining
        case .ended: .stopped
        }
    }

    var holdings: ServerHoldings {
        var holdings = ServerHoldings()
        holdings.evidenceBytes = budget.evidence + budget.parsed + budget.receipts
        holdings.bufferedBytes = budget.buffered + budget.parsing
        holdings.heldBytes = budget.held
        holdings.turns = turns.number
        connections.add(to: &holdings)
        scheduler.add(to: &holdings)
        acceptor.add(to: &holdings)
        return holdings
    }
}
