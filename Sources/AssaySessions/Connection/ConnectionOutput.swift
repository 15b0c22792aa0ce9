import AssayService

/// The answers of this turn, which are written at its end.
struct ConnectionOutput {
    var bytes: [UInt8] = []
    /// Those that the server's budget knows.
    private var counted = 0
    /// The connection is flushed at the end of the turn.
    var isTouched = false

    /// Whether it is gathered while earlier answers wait for the peer.
    var isSmall: Bool { bytes.count < Self.gatheredBytes }

    private static let gatheredBytes = 4 << 10

    /// Whether it has grown by more than a few short answers since it was counted.
    var isMuchUncounted: Bool { bytes.count > counted + ServerLimits.answerBytesPerRequest }

    /// Records that the server's budget knows all of it.
    mutating func didCount() { counted = bytes.count }

    /// Takes the buffer, whose bytes were written.
    mutating func takeUsed() -> [UInt8] {
        var used: [UInt8] = []
        swap(&used, &bytes)
        return used
    }
}
