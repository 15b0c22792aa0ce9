/// The share of each turn of the loop that streamed receipts get, and the queue of connections
/// that need more.
///
/// A receipt is verified where it arrives, on the loop's thread, and a hostile one costs many
/// times the usual price of its bytes. So all receipts together get a number of bytes and a time
/// in each turn, in slices; the time is checked after each slice. An element takes at least two
/// bytes, so a slice bounds the elements too. Connections whose receipts have more bytes wait for
/// their next turn in arrival order.
struct ReceiptTurns {
    /// Lengthens a turn by about a millisecond.
    static let bytesPerTurn = 1 << 20
    static let nanosecondsPerTurn: UInt64 = 1_000_000
    /// Fits in the processor's cache, and takes 0.3 ms at worst.
    static let sliceBytes = 32 << 10

    private var turn: UInt64 = 0
    private var bytesLeft = Self.bytesPerTurn
    private var nanosecondsLeft = Self.nanosecondsPerTurn
    private var queue: [Connection] = []
    /// Index of the first connection in the queue that was not served.
    private var front = 0

    /// The connections of the queue are being served.
    var isServing = false
    /// The next turn will serve the queue.
    var isRequested = false

    var isEmpty: Bool { front == queue.count }

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

    mutating func enqueue(_ connection: Connection) { queue.append(connection) }

    mutating func next() -> Connection? {
        guard !isEmpty else { return nil }
        defer {
            front += 1
            if front == queue.count || front > 256 {
                queue.removeFirst(front)
                front = 0
            }
        }
        return queue[front]
    }
}
