/// The pace at which a peer takes its answers. Times are milliseconds of the loop's clock.
struct WritePace {
    private var lastProgress: UInt64
    /// Bytes passed to the stream, and the bytes that the system had taken at the last check.
    private var given = 0
    private var taken = 0

    init(began: UInt64) { lastProgress = began }

    mutating func didGive(_ count: Int, wasIdle: Bool, at now: UInt64) {
        given += count
        if wasIdle { lastProgress = now }
    }

    /// Returns how long the system has taken nothing of the waiting bytes. A check after the
    /// server itself was late counts as progress, since earlier checks are missing.
    mutating func stalled(at now: UInt64, unwritten: Int, isLate: Bool) -> UInt64 {
        if isLate || unwritten == 0 || given - unwritten > taken { lastProgress = now }
        taken = given - unwritten
        return now - lastProgress
    }
}
