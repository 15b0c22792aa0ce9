/// How long sockets are left alone between two looks at them, while more waits than can be
/// answered soon.
///
/// The longer, the more requests a read brings and the more answers a write takes; too long, and
/// what the system holds for a connection is full, its client stands still, and who is to be
/// refused learns it late. So the reads decide: mostly full, it gets shorter; else longer.
struct ReadBackoff {
    private(set) var milliseconds: UInt64 = 1
    private var reads = 0
    private var fullReads = 0
    private var bytesBefore: UInt64 = 0

    /// A read may bring 64 KiB, less what it finds of a frame that began before; and so much a
    /// system holds for a connection that it does not know yet.
    static let fullReadBytes: UInt64 = 56 << 10

    /// - Parameter bytes: all that the loop has received so far.
    mutating func didRead(total bytes: UInt64) {
        // One read of TLS brings several records, each of which is told.
        guard bytes != bytesBefore else { return }
        reads += 1
        if bytes - bytesBefore >= Self.fullReadBytes { fullReads += 1 }
        bytesBefore = bytes
    }

    /// The next one's milliseconds, by the reads since the last one.
    mutating func next(atMost most: UInt64) -> UInt64 {
        let isFull = 2 * fullReads > reads
        milliseconds = isFull ? max(milliseconds, 1) - 1 : min(milliseconds + 1, most)
        (reads, fullReads) = (0, 0)
        return milliseconds
    }
}
