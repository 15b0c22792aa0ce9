import AssayIO
import AssayWire

/// Stops the server: first not ready, then no new work, then the end.
extension ServerLoop {
    enum Phase {
        case serving
        /// Not ready, and the clients are notified. Still accepts connections and serves
        /// requests, until load balancers have noticed.
        case leaving(until: UInt64)
        /// Rejects new requests and answers the accepted ones.
        case draining(until: UInt64)
        case ended
    }

    /// Whether clients can use this server.
    var isReady: Bool {
        if case .serving = phase { true } else { false }
    }

    /// Whether requests are rejected.
    var isDraining: Bool {
        switch phase {
        case .serving, .leaving: false
        case .draining, .ended: true
        }
    }

    /// Stops the server on a signal; the second signal stops it at once.
    func leave(on signal: ProcessSignal) {
        if isReady { drain() } else { stopAtOnce(on: signal) }
    }

    /// Starts the drain: notifies clients, rejects new connections and requests after the delay,
    /// and ends when the accepted requests are answered.
    func drain() {
        guard isReady else { return }
        phase = .leaving(until: now + limits.drainDelayMilliseconds)
        log.write(.info, "draining", ["connections": .number(connections.count)])
        report(.draining)
        for connection in connections.values { connection.noticeDrain() }
        publish()
        advanceDrain()
    }

    /// Advances the drain when its times have passed.
    func advanceDrain() {
        switch phase {
        case .serving, .ended: break
        case .leaving(let until) where now >= until:
            phase = .draining(until: now + limits.drainMilliseconds)
            closeListeners()
            // Clients that connected in the meantime were not notified yet.
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
    /// Notifies the client once that the server is draining.
    func noticeDrain() {
        guard !wasToldOfDrain else { return }
        wasToldOfDrain = true
        answer(.draining)
    }
}
