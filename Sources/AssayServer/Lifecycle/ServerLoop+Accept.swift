import AssayIO

/// Pauses and resumes listeners. Clients of a paused listener wait in the kernel's queue.
extension ServerLoop {
    /// The limit of client sockets: the configured number, or the number of free descriptors if
    /// that is lower; at least one.
    var socketLimit: Int { max(min(limits.connections, descriptorsMost - ownDescriptors), 1) }

    /// Counts the socket of a new client, whose TLS handshake is possibly still to come.
    func didAccept(_ stream: Stream, from listener: Int) {
        shares.didOpen(listener)
        stream.onClose = { [unowned self] in
            shares.didClose(listener)
            isShortOfDescriptors = false
            updateAccepting()
        }
        if Int(stream.descriptor) >= descriptorsMost { isShortOfDescriptors = true }
        updateAccepting()
    }

    /// Pauses listeners at a limit, and resumes the others.
    func updateAccepting() {
        var isLimited = false
        for (number, listener) in listeners.enumerated() {
            guard mayAccept(number, listener) else {
                isLimited = isLimited || !listener.isPaused && !isHeldForHandshakes(listener)
                listener.pause()
                continue
            }
            // Accepts a waiting connection, which can pause listeners again.
            listener.resume()
        }
        if isLimited { logFault("as many connections as there may be: further ones wait") }
    }

    private func mayAccept(_ number: Int, _ listener: Listener) -> Bool {
        !isShortOfDescriptors && !isHeldForHandshakes(listener) && shares.mayAccept(number)
    }

    private func isHeldForHandshakes(_ listener: Listener) -> Bool {
        isAcceptingTLSPaused && listener.endpoint.isTLS
    }

    /// Pauses the TLS listeners while the queue of handshakes is full. Connections without TLS
    /// continue.
    func pauseAcceptingTLS() {
        guard !isAcceptingTLSPaused else { return }
        isAcceptingTLSPaused = true
        logFault("as many TLS handshakes wait as may: further connections wait, too")
        updateAccepting()
    }

    func resumeAcceptingTLS() {
        guard isAcceptingTLSPaused, handshakes?.hasRoom ?? true else { return }
        isAcceptingTLSPaused = false
        updateAccepting()
    }
}
