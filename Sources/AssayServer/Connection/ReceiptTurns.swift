/// The share that receipts have of each turn of the loop, and the connections that wait for more.
///
/// A receipt is verified where it arrives, on the loop's thread, and a hostile one costs many
/// times what its bytes cost otherwise. So all of them together get a number of bytes and a time
/// in each turn, in slices after which the time is looked at; an element takes two bytes at least,
/// so a slice bounds the elements too. Connections whose receipts have more wait for their next
/// turn in the order they came.
struct ReceiptTurns {
    /// A turn takes about a millisecond more with it.
    static let bytesPerTurn = 1 << 20
    static let nanosecondsPerTurn: UInt64 = 1_000_000
    /// In the processor's cache, and 0.3 ms at the worst.
    static let sliceBytes = 32 << 10

    private var turn: UInt64 = 0
    private var bytesLeft = Self.bytesPerTurn
    private var nanosecondsLeft = Self.nanosecondsPerTurn
    private var queue: [Connection] = []
    /// Those before it have been served.
    private var front = 0

    /// Connections of the queue have their turn.
    var isServing = false
    /// The next turn will serve the queue.
    var isRequested = false

    var isEmpty: Bool { front == queue.count }

    /// The bytes that may be read now; 0: the turn's share is used up.
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
