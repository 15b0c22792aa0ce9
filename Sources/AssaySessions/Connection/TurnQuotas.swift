import AssayService

/// The budget of one kind of work for each turn of the loop, over all connections.
struct TurnQuota {
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

/// The quota of pipelined frames in each turn.
///
/// Each connection has a quota of its own, `ServerLimits.framesPerTurn`. Once all connections
/// together have used up this quota, each takes one frame in the turn, so a client with a single
/// request does not wait for the others. Connections with more frames wait for their next turn in
/// arrival order.
extension TurnQuota {
    /// One to two milliseconds of refusals or Pings, with the system calls that write them.
    static let frames = TurnQuota(limit: 4_096)
    /// A connection's turn costs as much as this many frames: it takes a read and a write.
    static let framesPerConnection = 8

    /// Counts the frames that a connection took at a time.
    mutating func use(frames: Int) { use(frames + Self.framesPerConnection) }
}

/// The quota of long answers in each turn.
///
/// Info is as long as fifty verdicts, and the system copies it. So all connections together get a
/// number of bytes in each turn: many connections that ask for Info delay a token by one quota, not
/// by one answer for each connection.
extension TurnQuota {
    /// About a millisecond of encoding and writing.
    static let longAnswerBytes = TurnQuota(limit: 1 << 20)
}

/// The quota of streamed receipts in each turn of the loop.
///
/// A receipt is verified where it arrives, on the loop's thread, and a hostile one costs many
/// times the usual price of its bytes. So all receipts together get a number of bytes and a time
/// in each turn, in slices; the time is checked after each slice. An element takes at least two
/// bytes, so a slice bounds the elements too. Connections whose receipts have more bytes wait for
/// their next turn in arrival order.
struct ReceiptQuota {
    /// Lengthens a turn by about a millisecond.
    static let bytesPerTurn = 1 << 20
    static let nanosecondsPerTurn: UInt64 = 1_000_000

    private var turn: UInt64 = 0
    private var bytesLeft = Self.bytesPerTurn
    private var nanosecondsLeft = Self.nanosecondsPerTurn

    /// The number of bytes that can be read now; 0 if the turn's quota is used up.
    mutating func slice(in turn: UInt64) -> Int {
        if turn != self.turn {
            self.turn = turn
            bytesLeft = Self.bytesPerTurn
            nanosecondsLeft = Self.nanosecondsPerTurn
        }
        return nanosecondsLeft > 0 ? min(bytesLeft, ServerLimits.receiptSliceBytes) : 0
    }

    mutating func didRead(_ bytes: Int, nanoseconds: UInt64) {
        bytesLeft -= min(bytes, bytesLeft)
        nanosecondsLeft -= min(nanoseconds, nanosecondsLeft)
    }
}
