/// Decides when to return freed memory to the system.
///
/// The C library keeps free memory between allocations in use, so after a flood a process keeps
/// most of the flood's memory. Returning it costs milliseconds. So it is returned if the process
/// has grown and the server holds little of the growth.
///
/// A return can come too early, before the flood's last allocations are freed. So it is repeated,
/// at growing intervals, while the process is larger than it once was.
struct MemoryReturn {
    /// The lowest resident memory seen, and the resident memory after the last return.
    private var least: Int
    private var left = 0
    private var nextLook: UInt64 = 0
    private var nextRetry: UInt64 = 0
    private var retryMilliseconds = Self.firstRetryMilliseconds

    private static let lookMilliseconds: UInt64 = 2_000
    /// The interval doubles with each retry.
    private static let firstRetryMilliseconds: UInt64 = 2_000
    private static let lastRetryMilliseconds: UInt64 = 32_000
    /// Less growth is not worth the time.
    private static let growthBytes = 16 << 20

    /// - Parameter resident: resident memory before the first client; nil if the system does not
    ///   report it. A server that clients flood as it starts would otherwise take the flood for
    ///   its own size.
    init(resident: Int?) { least = resident ?? .max }

    /// Whether the next check is due.
    mutating func isDue(at now: UInt64) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + Self.lookMilliseconds
        return true
    }

    /// Returns whether to return free memory now.
    ///
    /// - Parameter held: bytes that the server holds for its connections.
    mutating func shouldReturn(resident: Int, held: Int, at now: UInt64) -> Bool {
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
