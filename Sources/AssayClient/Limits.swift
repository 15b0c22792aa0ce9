/// Numbers that nobody needs to set. Times are in milliseconds.
enum ClientLimits {
    /// How much later than the server a deadline is enforced here: its own answer, which says
    /// that it was the server that took long, comes first.
    static let deadlineGrace: UInt64 = 250
    /// A server answers every request, late ones too. One that has not, so long after the
    /// deadline, is gone, and the connection with it.
    static let overdue: UInt64 = 10_000
    /// Deadlines are looked through no more often than this.
    static let sweepPeriod: UInt64 = 10
    /// Bytes given to the stream and not yet taken by the system: above it, calls wait. More than
    /// a connection of high bandwidth and latency has under way.
    static let unwrittenBytes = 1024 * 1024
    /// Memory kept for the bytes of the next turn.
    static let keptOutputBytes = 256 * 1024
}
