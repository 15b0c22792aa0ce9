/// The limits of records that a thread of its own writes: lines of the audit log, and spans.
package enum RecordLimits {
    /// Bytes of records that wait for the thread that writes them, 8 MiB: a third of a second of
    /// the lines of 50,000 answers a second. Records above it are lost.
    package static let waitingBytes = 8 << 20
    /// Bytes of records that a worker gathers before it hands them over, 64 KiB: about a hundred
    /// records, so the lock of the queue costs none of them anything.
    static let gatheredBytes = 64 << 10
    /// Bytes of waiting records above which the writer does not wait for its timer, 1 MiB.
    static let hurryBytes = 1 << 20
    /// How often waiting records are written, in milliseconds.
    package static let writeMilliseconds: UInt64 = 100
    /// Time until a destination that failed is used again, in milliseconds.
    package static let retryMilliseconds: UInt64 = 1_000
    /// Time after which a turn writes no further record, in milliseconds. A reload waits for the
    /// turn, and 8 MiB are 128 requests to a collector, each of which can take seconds.
    package static let turnMilliseconds: UInt64 = 1_000
    /// The same for the last turn of a process, which a supervisor kills after a while.
    package static let lastTurnMilliseconds: UInt64 = 2_000
    /// The log says at most this often how many records were lost, in milliseconds.
    package static let reportMilliseconds: UInt64 = 10_000
}
