import AssayService

/// The pace at which a request arrives: at the front of a connection, or on a stream of HTTP/2.
/// Times are milliseconds of the loop's clock.
struct ArrivalPace {
    /// When the first byte arrived: the request's timeout counts from here.
    let began: UInt64
    /// Start of the time that is judged: when the server first looked for more of the request, or
    /// the end of the last pause in reading.
    private var judgedSince: UInt64
    private var lastByte: UInt64
    /// Bytes that had arrived before that time.
    private var before = 0

    init(began: UInt64, at now: UInt64) {
        self.began = began
        judgedSince = now
        lastByte = now
    }

    mutating func didReceive(at now: UInt64) { lastByte = now }

    /// Restarts the measurement: the peer is not at fault for a pause in reading.
    mutating func didPause(_ arrived: Int, at now: UInt64) {
        judgedSince = now
        lastByte = now
        before = arrived
    }

    /// Whether the request is too slow: silent for longer than the grace period, or, after that
    /// period, below the minimum rate.
    ///
    /// - Parameter arrived: the bytes that have arrived.
    func isSlow(_ arrived: Int, at now: UInt64, _ limits: ServerLimits) -> Bool {
        let elapsed = now - judgedSince
        guard elapsed > limits.frameGraceMilliseconds else { return false }
        if now - lastByte > limits.frameGraceMilliseconds { return true }
        let judged = elapsed - limits.frameGraceMilliseconds
        return arrived - before < Int(judged) * limits.frameBytesPerSecond / 1000
    }
}
