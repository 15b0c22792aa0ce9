/// How a peer takes its answers. Times are milliseconds of the loop's clock.
struct WritePace {
    private var lastProgress: UInt64
    /// Bytes that were given to the stream, and those of them that the system had taken when time
    /// was last looked at.
    private var given = 0
    private var taken = 0

    init(began: UInt64) { lastProgress = began }

    mutating func didGive(_ count: Int, wasIdle: Bool, at now: UInt64) {
        given += count
        if wasIdle { lastProgress = now }
    }

    /// Looks at the time; how long nothing has been taken of what waits. Where the server itself
    /// was late, it has not looked, and can't tell.
    mutating func stalled(at now: UInt64, unwritten: Int, isLate: Bool) -> UInt64 {
        if isLate || unwritten == 0 || given - unwritten > taken { lastProgress = now }
        taken = given - unwritten
        return now - lastProgress
    }
}
