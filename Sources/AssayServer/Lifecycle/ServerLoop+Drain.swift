import AssayIO
import AssayWire

/// The way out: not ready any more, then no new work, then the end.
extension ServerLoop {
    enum Phase {
        case serving
        /// Not ready any more, and its clients have been told; it still accepts connections and
        /// serves, until whoever sends it clients has seen that it leaves.
        case leaving(until: UInt64)
        /// Requests are refused; what was accepted before is answered.
        case draining(until: UInt64)
        case ended
    }

    /// Whether clients should come here.
    var isReady: Bool {
        if case .serving = phase { true } else { false }
    }

    /// Whether requests are refused.
    var isDraining: Bool {
        switch phase {
        case .serving, .leaving: false
        case .draining, .ended: true
        }
    }

    /// A signal that asks for the end; the second one does not wait for anybody.
    func leave(on signal: ProcessSignal) {
        if isReady { drain() } else { stopAtOnce(on: signal) }
    }

    /// Tells everybody that it leaves; after the delay no new connections and requests, and what
    /// was accepted is answered; then the end.
    func drain() {
        guard isReady else { return }
        phase = .leaving(until: now + limits.drainDelayMilliseconds)
        log.write(.info, "draining", ["connections": .number(connections.count)])
        report(.draining)
        for connection in connections.values { connection.noticeDrain() }
        publish()
        advanceDrain()
    }

    /// Called when time has passed.
    func advanceDrain() {
        switch phase {
        case .serving, .ended: break
        case .leaving(let until) where now >= until:
            phase = .draining(until: now + limits.drainMilliseconds)
            closeListeners()
            // Those that came in the meantime have not been told.
            for connection in connections.values { connection.noticeDrain() }
            endIfDrained()
        case .leaving: break
        case .draining(let until) where now >= until:
            log.write(.warning, "drain_timeout", ["connections": .number(connections.count)])
            for connection in connections.values { connection.stream.close() }
            handshakes?.closeAll()
        case .draining: break
        }
    }

    private func closeListeners() {
        for listener in listeners { listener.finish() }
        listeners.removeAll()
    }

    func endIfDrained() {
        guard case .draining = phase, connections.isEmpty, batch.isEmpty, chainQueue.isEmpty,
            handshakes?.count ?? 0 == 0
        else { return }
        phase = .ended
        sweepTimer?.close()
        turnEnd?.close()
        heartbeat?.close()
        chainQueueTimer.close()
        chainWorkers.stop()
        log.write(.info, "stopped")
        publish()
        report(.ended(.drained))
    }

    private func stopAtOnce(on signal: ProcessSignal) {
        if case .ended = phase { return }
        phase = .ended
        for listener in listeners { listener.close() }
        let inFlight = connections.values.reduce(0) { $0 + $1.inFlight.count }
        log.write(
            .warning, "stopped_at_once",
            [
                "connections": .number(connections.count), "requests": .number(inFlight),
            ])
        publish()
        report(.ended(.stopped(signal)))
    }
}

extension Connection {
    /// Tells, once, that the server is about to end.
    func noticeDrain() {
        guard !wasToldOfDrain else { return }
        wasToldOfDrain = true
        answer(.draining)
    }
}
