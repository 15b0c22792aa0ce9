/// What all connections together get of one kind of work in each turn of the loop.
struct TurnShare {
    let limit: Int

    private var turn: UInt64 = 0
    private var used = 0

    init(limit: Int) { self.limit = limit }

    mutating func isLeft(in turn: UInt64) -> Bool {
        if turn != self.turn { (self.turn, used) = (turn, 0) }
        return used < limit
    }

    mutating func use(_ amount: Int) { used += amount }
}

/// The share that pipelined frames get.
///
/// Each connection has a share of its own, `ServerLimits.framesPerTurn`. Once all connections
/// together have used up this share, each takes one frame in the turn, so a client with a single
/// request does not wait for the others. Connections with more frames wait for their next turn in
/// arrival order.
extension TurnShare {
    /// One to two milliseconds of refusals or Pings, with the system calls that write them.
    static let frames = TurnShare(limit: 4_096)
    /// A connection's turn costs as much as this many frames: it takes a read and a write.
    static let framesPerConnection = 8

    /// Counts the frames that a connection took at a time.
    mutating func use(frames: Int) { use(frames + Self.framesPerConnection) }
}

/// The share that long answers get.
///
/// Info is as long as fifty verdicts, and the system copies it. So all connections together get a
/// number of bytes in each turn: many connections that ask for Info delay a token by one share, not
/// by one answer for each connection.
extension TurnShare {
    /// About a millisecond of encoding and writing.
    static let longAnswerBytes = TurnShare(limit: 1 << 20)
}

/// The share of each turn of the loop that streamed receipts get.
///
/// A receipt is verified where it arrives, on the loop's thread, and a hostile one costs many
/// times the usual price of its bytes. So all receipts together get a number of bytes and a time
/// in each turn, in slices; the time is checked after each slice. An element takes at least two
/// bytes, so a slice bounds the elements too. Connections whose receipts have more bytes wait for
/// their next turn in arrival order.
struct ReceiptShare {
    /// Lengthens a turn by about a millisecond.
    static let bytesPerTurn = 1 << 20
    static let nanosecondsPerTurn: UInt64 = 1_000_000
    /// Fits in the processor's cache, and takes 0.3 ms at worst.
    static let sliceBytes = 32 << 10

    private var turn: UInt64 = 0
    private var bytesLeft = Self.bytesPerTurn
    private var nanosecondsLeft = Self.nanosecondsPerTurn

    /// The number of bytes that can be read now; 0 if the turn's share is used up.
    mutating func slice(in turn: UInt64) -> Int {
        if turn != self.turn {
            self.turn = turn
            bytesLeft = Self.bytesPerTurn
            nanosecondsLeft = Self.nanosecondsPerTurn
        }
        return nanosecondsLeft > 0 ? min(bytesLeft, Self.sliceBytes) : 0
    }

    mutating func didRead(_ bytes: Int, nanoseconds: UInt64) {
        bytesLeft -= min(bytes, bytesLeft)
        nanosecondsLeft -= min(nanoseconds, nanosecondsLeft)
    }
}
