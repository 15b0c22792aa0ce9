import AssayIO

/// When a connection's bytes came and went. In milliseconds of the loop's clock, unless another
/// unit is named.
struct ConnectionTimes {
    /// In nanoseconds.
    private(set) var arrival: ArrivalTime
    var lastActivity: UInt64
    /// The pace of the request at the front; nil between requests.
    var pace: FramePace?
    var writePace: WritePace
    /// When the last answer was still unwritten, of a connection that finishes.
    var lastUnwritten: UInt64 = 0

    init(_ loop: EventLoop) {
        lastActivity = loop.now
        arrival = ArrivalTime(began: loop.clockNanoseconds)
        writePace = WritePace(began: loop.now)
    }

    /// When the last received bytes could have been read.
    func lastArrival(at now: UInt64) -> UInt64 { min(arrival.last / 1_000_000, now) }

    /// Records a read.
    ///
    /// - Parameters:
    ///   - total: the bytes that were read of the stream.
    ///   - earliest: when bytes of this read arrived at the earliest, without a pause.
    mutating func didRead(total: UInt64, earliest: @autoclosure () -> UInt64, at now: UInt64) {
        lastActivity = now
        arrival.didRead(total: total, earliest: earliest())
        if pace == nil { pace = FramePace(began: lastArrival(at: now), at: now) }
        pace?.didReceive(at: now)
    }

    /// Notes the bytes in the socket when reading pauses: they age from now.
    mutating func didPause(_ stream: Stream) {
        arrival.didPause(
            total: stream.readTotal, unread: stream.unreadBySystem,
            at: stream.loop.clockNanoseconds)
    }
}
