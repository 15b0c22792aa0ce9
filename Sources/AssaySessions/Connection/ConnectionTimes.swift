import AssayIO

/// When a connection was last active. In milliseconds of the loop's clock.
struct ConnectionTimes {
    var lastActivity: UInt64
    var writePace: WritePace
    /// When the last answer was still unwritten, of a connection that finishes.
    var lastUnwritten: UInt64 = 0

    init(_ loop: EventLoop) {
        lastActivity = loop.now
        writePace = WritePace(began: loop.now)
    }
}
