/// When memory that was freed goes back to the system.
///
/// The C library keeps what lies between allocations that are still in use, so after a flood a
/// process keeps most of what the flood took. Returning it costs milliseconds, so it is done where
/// the process has grown since the last time and the server holds little of the growth.
struct MemoryReturn {
    /// Resident memory after the last time; nil before the first look.
    private var resident: Int?
    private var nextLook: UInt64 = 0

    static let lookMilliseconds: UInt64 = 5_000
    /// Less is not worth the time.
    static let growthBytes = 16 << 20

    /// Whether it is time to look.
    mutating func isDue(at now: UInt64) -> Bool {
        guard now >= nextLook else { return false }
        nextLook = now + Self.lookMilliseconds
        return true
    }

    /// - Parameter held: bytes that the server holds for its connections.
    /// - Returns: whether free memory should be returned now.
    mutating func mayReturn(resident now: Int, held: Int) -> Bool {
        guard let before = resident else {
            resident = now
            return false
        }
        resident = min(before, now)
        return now - before >= Self.growthBytes && held < (now - before) / 2
    }

    /// What is resident after it was returned is in use.
    mutating func didReturn(resident now: Int) { resident = now }
}
