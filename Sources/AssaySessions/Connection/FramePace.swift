import AssayService

/// The arrival pace of a frame. Times are milliseconds of the loop's clock.
struct FramePace {
    /// When the first byte arrived: the request's timeout counts from here.
    let began: UInt64
    /// Start of the time that is judged: when the server first looked for more of the frame, or the
    /// end of the last pause in reading.
    private var judgedSince: UInt64
    private var lastByte: UInt64
    /// Bytes of the frame taken out of the buffer before its end: of a receipt that is read as it
    /// arrives, or of a rejected frame.
    private(set) var taken = 0

    init(began: UInt64, at now: UInt64) {
        self.began = began
        judgedSince = now
        lastByte = now
    }

    mutating func didReceive(at now: UInt64) { lastByte = now }

    mutating func didTake(_ count: Int) { taken += count }

    /// Restarts the measurement: the peer is not at fault for a pause in reading.
    mutating func didResume(at now: UInt64) {
        judgedSince = now
        lastByte = now
    }

    /// Whether the frame is too slow: silent for longer than the grace period, or, after that
    /// period, below the minimum rate.
    func isSlow(at now: UInt64, unread: Int, _ limits: ServerLimits) -> Bool {
        let elapsed = now - judgedSince
        guard elapsed > limits.frameGraceMilliseconds else { return false }
        if now - lastByte > limits.frameGraceMilliseconds { return true }
        let judged = elapsed - limits.frameGraceMilliseconds
        let expected = judged * UInt64(limits.frameBytesPerSecond) / 1000
        return UInt64(taken + unread) < expected
    }
}
