import AssayIO
import AssayModels

/// Connections before they are any: TLS handshakes, and when there is time for them.
extension ServerLoop {
    func prepareHandshakes(_ tls: TLSContext) {
        handshakes = Handshakes(
            tls, most: min(limits.handshakes, max(socketLimit / Self.handshakePart, 1)),
            percent: limits.handshakePercent
        ) { [unowned self] outcome in didShakeHands(outcome) }
        warnOfExpiry(tls)
    }

    /// Silent handshakes have a quarter of all sockets, and those that wait for their turn another.
    /// Half of the sockets are left to clients that are served.
    private static let handshakePart = 4

    /// Called once all that was ready has been read, and answers are written.
    func workHandshakes() {
        guard let handshakes, handshakes.waitingCount > 0 else { return }
        if handshakes.isFull { pauseAcceptingTLS() }
        // One more turn, which begins with those who are connected.
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

    /// A drain has no time for peers that do not even speak.
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
