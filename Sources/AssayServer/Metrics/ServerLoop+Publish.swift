import AssayLoop

extension ServerLoop {
    /// Shows the server's state to whoever looks; nothing where nobody does.
    func publish() {
        guard let monitor = configuration.monitor else { return }
        monitor.publish(
            ServerState(
                phase: phase, metrics: metrics, holdings: holdings, traffic: loop.traffic,
                limits: limits, version: configuration.version, workers: configuration.workers,
                endpoints: endpoints, apps: configuration.apps, now: configuration.clock()))
    }

    private var phase: ServerState.Phase {
        if hasEnded { return .stopped }
        if isDraining { return .draining }
        return endpoints.isEmpty ? .starting : .serving
    }
}
