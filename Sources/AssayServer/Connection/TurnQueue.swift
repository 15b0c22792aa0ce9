/// Connections that wait for their quota of a turn, in the order of their arrival.
struct TurnQueue {
    private var queue: [Connection] = []
    /// Index of the first connection that was not served.
    private var head = 0

    /// The connections of the queue are being served.
    var isServing = false

    var count: Int { queue.count - head }
    var isEmpty: Bool { count == 0 }

    /// Whether a connection that is being read can go on: it does not pass those that wait.
    var admitsNext: Bool { isServing || isEmpty }

    mutating func enqueue(_ connection: Connection) { queue.append(connection) }

    mutating func next() -> Connection? {
        guard !isEmpty else { return nil }
        defer {
            head += 1
            if head == queue.count || head > 256 {
                queue.removeFirst(head)
                head = 0
            }
        }
        return queue[head]
    }
}
