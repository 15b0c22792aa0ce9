import AssayLoop

/// As many connections as there may be, and no more: the next ones wait in the system's queue.
extension ServerLoop {
    func isAtLimit(_ stream: Stream) -> Bool {
        connections.count >= limits.connections || Int(stream.descriptor) >= descriptorsMost
    }

    func pauseAccepting() {
        guard !isAcceptingPaused else { return }
        isAcceptingPaused = true
        logFault("as many connections as there may be: further ones wait")
        for listener in listeners { listener.pause() }
    }

    /// A connection has been closed. Accepting one that waited may pause it again.
    func resumeAccepting() {
        guard isAcceptingPaused else { return }
        isAcceptingPaused = false
        resumeListeners()
    }

    /// As many handshakes wait for their turn as may. Connections without TLS need none.
    func pauseAcceptingTLS() {
        guard !isAcceptingTLSPaused else { return }
        isAcceptingTLSPaused = true
        logFault("as many TLS handshakes wait as may: further connections wait, too")
        for listener in listeners where listener.endpoint.isTLS { listener.pause() }
    }

    func resumeAcceptingTLS() {
        guard isAcceptingTLSPaused, handshakes?.hasRoom ?? true else { return }
        isAcceptingTLSPaused = false
        resumeListeners()
    }

    private func resumeListeners() {
        // Each may find a limit met again, and pause others.
        for listener in listeners where !mayNotAccept(listener) { listener.resume() }
    }

    private func mayNotAccept(_ listener: Listener) -> Bool {
        isAcceptingPaused || isAcceptingTLSPaused && listener.endpoint.isTLS
    }
}
