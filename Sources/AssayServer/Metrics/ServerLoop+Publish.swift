import AssayIO

extension ServerLoop {
    /// Publishes the server's state to the monitor, if there is one.
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
