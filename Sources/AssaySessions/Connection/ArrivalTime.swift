/// Dates the bytes that a connection reads: those that were in the socket when reading paused are
/// older than the read that brings them. Times are nanoseconds of the loop's clock.
struct ArrivalTime {
    /// The earliest time at which the last received bytes could have been read.
    private(set) var last: UInt64
    /// The bytes that were in the socket when reading paused: those up to stream offset `end`, at
    /// `time`.
    private var left = (end: UInt64(0), time: UInt64(0))
    private var readBefore: UInt64 = 0

    init(began: UInt64) { last = began }

    /// - Parameter total: the bytes that were read of the stream.
    /// - Parameter earliest: when bytes of this read arrived at the earliest, without a pause.
    mutating func didRead(total: UInt64, earliest: @autoclosure () -> UInt64) {
        last = readBefore < left.end ? left.time : earliest()
        readBefore = total
    }

    /// Notes the bytes in the socket when reading pauses: they age from now.
    mutating func didPause(total: UInt64, unread: @autoclosure () -> Int, at now: UInt64) {
        guard total >= left.end else { return }
        left = (total + UInt64(unread()), now)
    }
}
