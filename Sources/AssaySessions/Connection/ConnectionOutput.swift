/// The answers of this turn, which are written at its end.
struct ConnectionOutput {
    var bytes: [UInt8] = []
    /// The connection is flushed at the end of the turn.
    var isTouched = false

    /// Whether it is gathered while earlier answers wait for the peer.
    var isSmall: Bool { bytes.count < Self.gatheredBytes }

    private static let gatheredBytes = 4 << 10

    /// Takes the buffer, whose bytes were written.
    mutating func takeUsed() -> [UInt8] {
        var used: [UInt8] = []
        swap(&used, &bytes)
        return used
    }
}
