/// How the loop's thread divides its time between reading and verifying, where it does both: from
/// the end of one share of the work to that of the next.
struct LoopShare {
    /// Nanoseconds of the monotonic clock.
    private let began: UInt64
    /// Nanoseconds of work since then.
    var worked: UInt64 = 0
    /// As many are its share: more than a slice of tokens takes, and little beside what a queue may
    /// last. While all of it is used, reading may take as long.
    var end: UInt64 = Self.nanoseconds

    private static let nanoseconds: UInt64 = 2_000_000

    init(began: UInt64) { self.began = began }

    var mayWork: Bool { worked < end }

    func mayRead(at now: UInt64) -> Bool { now - began < worked + Self.nanoseconds }
}

/// A turn of the loop, as far as it tells when bytes came that the next turn finds.
struct SocketLook {
    /// Milliseconds of the loop's clock: when sockets were looked at, and when the turn was over.
    var began: UInt64 = 0
    var ended: UInt64 = 0

    /// Where the loop did not wait for anything, bytes may have come right after the last look;
    /// where it did, they have come now.
    func earliestArrival(at now: UInt64) -> UInt64 { now > ended + 1 ? now : min(began, now) }
}
