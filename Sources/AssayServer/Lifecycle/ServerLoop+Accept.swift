import AssayIO

/// Which listeners accept. Where one may not, its clients wait in the system's queue.
extension ServerLoop {
    /// The sockets that clients may have: as many as are configured, and as descriptors are left;
    /// one where the reserve leaves none.
    var socketLimit: Int { max(min(limits.connections, descriptorsMost - ownDescriptors), 1) }

    /// A client's socket is open, and not yet a connection where its listener speaks TLS.
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

    /// Pauses listeners that have reached a limit, and resumes those that have not.
    func updateAccepting() {
        var isLimited = false
        for (number, listener) in listeners.enumerated() {
            guard mayAccept(number, listener) else {
                isLimited = isLimited || !listener.isPaused && !isHeldForHandshakes(listener)
                listener.pause()
                continue
            }
            // Accepts a connection that waits, which may pause listeners again.
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

    /// As many handshakes wait for their turn as may. Connections without TLS need none.
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
