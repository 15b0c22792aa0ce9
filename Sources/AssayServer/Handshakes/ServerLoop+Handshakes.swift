import AssayIO
import AssayModels

/// Runs TLS handshakes between the turns of established connections.
extension ServerLoop {
    func prepareHandshakes(_ tls: TLSContext) {
        handshakes = Handshakes(
            tls, most: min(limits.handshakes, max(socketLimit / Self.handshakePart, 1)),
            percent: limits.handshakePercent
        ) { [unowned self] outcome in didShakeHands(outcome) }
        warnOfExpiry(tls)
    }

    /// Handshakes that wait for their peer get a quarter of all sockets, and queued ones another
    /// quarter. Half of the sockets are left for established connections.
    private static let handshakePart = 4

    /// Continues queued handshakes. Called after all ready sockets are read and the answers are
    /// written.
    func workHandshakes() {
        guard let handshakes, handshakes.waitingCount > 0 else { return }
        if handshakes.isFull { pauseAcceptingTLS() }
        // Requests another turn, which begins with the established connections.
        if handshakes.work(now: now, isHurried: isDraining) { loop.post {} }
        resumeAcceptingTLS()
    }

    private func didShakeHands(_ outcome: Handshakes.Outcome) {
        switch outcome {
        case .secured(let stream): accept(stream)
        case .plain(let stream):
            logFault("a connection without TLS where TLS is spoken")
            accept(stream, lastWord: .speaksTLS)
        case .failed(let error):
            logFault(error)
            endIfDrained()
        }
    }

    /// Limit for silent handshakes during a drain, which does not wait long for them.
    private static let drainingHandshakeMilliseconds: UInt64 = 1_000

    func sweepHandshakes() {
        defer { resumeAcceptingTLS() }
        guard let handshakes, handshakes.count > 0 else { return }
        let most = limits.handshakeMilliseconds
        handshakes.sweep(
            now: now, silent: isDraining ? min(most, Self.drainingHandshakeMilliseconds) : most,
            waiting: most)
        workHandshakes()
    }

    func warnOfExpiry(_ tls: TLSContext) {
        guard let end = tls.notAfter, end < configuration.clock().seconds else { return }
        log.write(.warning, "tls_certificate_expired", ["seconds": .number(Int(end))])
    }
}
