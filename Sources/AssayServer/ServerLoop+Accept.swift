import AssayLoop

/// As many connections as there may be, and no more: the next ones wait in the system's queue.
extension ServerLoop {
    func isAtLimit(_ stream: Stream) -> Bool {
        connections.count >= limits.connections || stream.descriptorNumber >= descriptorsMost
    }

    func pauseAccepting() {
        guard !isAcceptingPaused else { return }
        isAcceptingPaused = true
        counters.acceptPauses += 1
        logFault("as many connections as there may be: further ones wait")
        for listener in listeners { listener.pause() }
    }

    /// A connection has been closed. Accepting one that waited may pause it again.
    func resumeAccepting() {
        guard isAcceptingPaused else { return }
        isAcceptingPaused = false
        // Each may find the limit met again, and pause them all.
        for listener in listeners where !isAcceptingPaused { listener.resume() }
    }
}
