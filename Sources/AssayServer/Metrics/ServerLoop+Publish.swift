import AssayIO

extension ServerLoop {
    /// Shows the server's state to whoever looks; nothing where nobody does.
    func publish() {
        guard let monitor = configuration.monitor else { return }
        monitor.publish(
            ServerState(
                phase: shownPhase, metrics: metrics, holdings: holdings, traffic: loop.traffic,
                limits: limits, version: configuration.version, workers: configuration.workers,
                endpoints: endpoints, certificateEnd: configuration.tls?.notAfter,
                apps: configuration.apps, now: configuration.clock()))
    }

    private var shownPhase: ServerState.Phase {
        switch phase {
        case .serving: endpoints.isEmpty ? .starting : .serving
        case .leaving, .draining: .draining
        case .ended: .stopped
        }
    }
}
