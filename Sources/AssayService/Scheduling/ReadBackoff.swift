/// How long sockets are left unread under load.
///
/// A longer pause brings more requests per read and more answers per write. If it is too long,
/// the socket buffers fill, the clients stall, and refusals come late. So the reads decide: if
/// most are full the pause shrinks, otherwise it grows.
package struct ReadBackoff {
    private(set) var milliseconds: UInt64 = 1
    private var reads = 0
    private var fullReads = 0
    private var bytesBefore: UInt64 = 0

    /// Bytes of a full read. A read brings up to 64 KiB, less the part of an earlier frame in the
    /// buffer; the kernel buffers the same amount for a new connection.
    static let fullReadBytes: UInt64 = 56 << 10

    /// Counts a read.
    ///
    /// - Parameter bytes: the total that the loop has received.
    mutating func didRead(total bytes: UInt64) {
        // One read of TLS brings several records, each with its own event.
        guard bytes != bytesBefore else { return }
        reads += 1
        if bytes - bytesBefore >= Self.fullReadBytes { fullReads += 1 }
        bytesBefore = bytes
    }

    /// Returns the next pause in milliseconds, based on the reads since the last one.
    mutating func next(atMost most: UInt64) -> UInt64 {
        let isFull = 2 * fullReads > reads
        milliseconds = isFull ? max(milliseconds, 1) - 1 : min(milliseconds + 1, most)
        (reads, fullReads) = (0, 0)
        return milliseconds
    }
}
