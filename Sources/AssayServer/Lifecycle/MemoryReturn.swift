/// When memory that was freed goes back to the system.
///
/// The C library keeps what lies between allocations that are still in use, so after a flood a
/// process keeps most of what the flood took. Returning it costs milliseconds, so it is done where
/// the process has grown since the last time and the server holds little of the growth.
///
/// It may have been too early, while what was freed a moment later was still in use: so it is
/// tried again, less often, as long as the process is larger than it once was.
struct MemoryReturn {
    /// The least resident memory that was seen, and what was left after the last time.
    private var least = Int.max
    private var left = 0
    private var nextLook: UInt64 = 0
    private var nextRetry: UInt64 = 0
    private var retryMilliseconds = Self.firstRetryMilliseconds

    private static let lookMilliseconds: UInt64 = 2_000
    /// Twice as long after each time.
    private static let firstRetryMilliseconds: UInt64 = 2_000
    private static let lastRetryMilliseconds: UInt64 = 32_000
    /// Less is not worth the time.
    private static let growthBytes = 16 << 20

    /// Whether it is time to look.
    mutating func isDue(at now: UInt64) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + Self.lookMilliseconds
        return true
    }

    /// - Parameter held: bytes that the server holds for its connections.
    /// - Returns: whether free memory should be returned now.
    mutating func mayReturn(resident: Int, held: Int, at now: UInt64) -> Bool {
        least = min(least, resident)
        left = max(least, min(left, resident))
        let growth = resident - least
        let hasGrownAgain = resident - left >= Self.growthBytes
        guard growth >= Self.growthBytes, held < growth / 2, hasGrownAgain || now >= nextRetry
        else { return false }
        if hasGrownAgain { retryMilliseconds = Self.firstRetryMilliseconds }
        nextRetry = now + retryMilliseconds
        retryMilliseconds = min(2 * retryMilliseconds, Self.lastRetryMilliseconds)
        return true
    }

    mutating func didReturn(resident: Int) { left = resident }
}
