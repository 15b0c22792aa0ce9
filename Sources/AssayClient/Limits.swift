/// Fixed limits. Times are in milliseconds.
enum ClientLimits {
    /// How much later than the server the client enforces a deadline. The server's own answer,
    /// which shows that the server was slow, then arrives first.
    static let deadlineGrace: UInt64 = 250
    /// A server answers every request, even a late one. If an answer is missing this long after
    /// the deadline, the connection counts as lost.
    static let overdue: UInt64 = 10_000
    /// The minimum interval between checks of the deadlines.
    static let sweepPeriod: UInt64 = 10
    /// With more calls than in 10 ms, sweeps are rarer: one of a thousand calls takes about a tenth
    /// of a millisecond.
    static let callsPerMillisecond = 1_000
    /// How many times in `ClientOptions.longestWait` the channel looks for calls that have waited
    /// longer.
    static let looksPerWait: UInt64 = 10
    /// The size at which the output of a turn is written before its end. Small requests share a
    /// write, and the output stays in the processor's cache.
    static let outputBytes = 64 * 1024
    /// The limit of bytes that the system has not taken. Above it, calls wait: a call that waits
    /// shares its evidence with the caller, but unwritten bytes are copies. The system's own
    /// buffer holds what is in transit on a connection of high bandwidth and latency.
    static let unwrittenBytes = 256 * 1024
    /// The output capacity that is kept for the next turn.
    static let keptOutputBytes = 256 * 1024
}
