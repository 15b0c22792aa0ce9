/// How a frame comes in. Times are milliseconds of the loop's clock.
struct FramePace {
    /// When its first byte came: a request's time counts from here.
    let began: UInt64
    /// From when on its pace is judged: its first byte, or the end of a time in which the server
    /// did not read.
    private var judgedSince: UInt64
    private var lastByte: UInt64
    /// Bytes of the frame that were taken out of the buffer before its end: of a receipt that is
    /// read as it comes, or of a refused frame.
    private(set) var taken = 0

    init(began: UInt64) {
        self.began = began
        judgedSince = began
        lastByte = began
    }

    mutating func didReceive(at now: UInt64) { lastByte = now }

    mutating func didTake(_ count: Int) { taken += count }

    /// The server reads again: what it did not read meanwhile was not the sender's fault.
    mutating func didResume(at now: UInt64) {
        judgedSince = now
        lastByte = now
    }

    /// Whether it comes slower than a frame may: silent for longer than the time of grace, or,
    /// after that time, fewer bytes than the least rate makes.
    func isSlow(at now: UInt64, unread: Int, _ limits: ServerLimits) -> Bool {
        let elapsed = now - judgedSince
        guard elapsed > limits.frameGraceMilliseconds else { return false }
        if now - lastByte > limits.frameGraceMilliseconds { return true }
        let judged = elapsed - limits.frameGraceMilliseconds
        let expected = judged * UInt64(limits.frameBytesPerSecond) / 1000
        return UInt64(taken + unread) < expected
    }
}
