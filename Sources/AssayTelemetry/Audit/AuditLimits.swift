/// The limits of the audit log.
package enum AuditLimits {
    /// Bytes of lines that wait for the thread that writes them, 8 MiB: a third of a second of the
    /// lines of 50,000 answers a second. Lines above it are lost.
    package static let waitingBytes = 8 << 20
    /// Bytes of lines that a worker gathers before it hands them over, 64 KiB: about a hundred
    /// lines, so the lock of the queue costs none of them anything.
    static let gatheredBytes = 64 << 10
    /// Bytes of waiting lines above which the writer does not wait for its timer, 1 MiB.
    static let hurryBytes = 1 << 20
    /// Bytes of evidence in a line, 64 KiB: any token and most notifications. A receipt of
    /// megabytes is not kept in memory for its line.
    package static let evidenceBytes = 64 << 10
    /// Products of a decision, more than a customer owns.
    static let products = 64
    /// How often waiting lines are written, in milliseconds.
    package static let writeMilliseconds: UInt64 = 100
    /// Time until a destination that failed is used again, in milliseconds.
    package static let retryMilliseconds: UInt64 = 1_000
    /// The log says at most this often how many lines were lost, in milliseconds.
    package static let reportMilliseconds: UInt64 = 10_000
}
