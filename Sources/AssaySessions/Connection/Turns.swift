package import AssayIO
package import AssayService
import AssayTelemetry

/// Decides in which turn of the loop a connection reads and writes.
///
/// Owns the connections that have answers to write, those that used up their quota of a turn and
/// have more bytes, the quotas of frames, of streamed receipts and of long answers, the buffers of
/// answers. Belongs to the loop's thread.
package final class Turns {
    private let loop: EventLoop
    private var turn: UInt64 = 0
    /// Connections to flush at the end of this turn.
    private var touched: [Connection] = []
    /// The quota of frames that arrive in this turn.
    private var arrivingQuota = TurnQuota.frames
    /// The quota of connections that had more frames than an earlier turn took. It is separate, so
    /// that those that arrive don't pass them for ever.
    private var waitingQuota = TurnQuota.frames
    private var waiting = TurnQueue<Connection>()
    private var receiptQuota = ReceiptQuota()
    /// The time in which receipts were read as they arrived, in all turns.
    private(set) var receiptNanoseconds: UInt64 = 0
    /// Connections whose receipts have more bytes than this turn reads.
    private var receipts = TurnQueue<Connection>()
    private var longAnswerQuota = TurnQuota.longAnswerBytes
    /// Connections that ask for more long answers than this turn makes.
    private var longAnswers = TurnQueue<Connection>()
    /// Clients with connections that began while memory was full, and were not read yet.
    private var firstReads = Ring<Peer>()
    /// How many of these are read although memory is full.
    private var readsWithoutMemory = 0
    /// The queues will be served without another request.
    private var hasRequestedTurns = false
    private var spareOutputs = SpareOutputs()
    /// Whether reading resumed in this turn for a connection that had used up its quota of an
    /// earlier one.
    private var hasResumedReading = false

    package init(_ loop: EventLoop) { self.loop = loop }

    // MARK: The turn

    /// The number of the current turn.
    package var number: UInt64 { turn }

    /// Begins the end of a turn, after all ready sockets were read.
    package func beginEnd() { turn += 1 }

    /// Ends a turn, after its work is done and its answers are written.
    package func end() {
        hasResumedReading = false
        if !waiting.isEmpty || !receipts.isEmpty || !longAnswers.isEmpty
            || firstReads.contains(where: { !$0.isFull })
        {
            requestTurns()
        }
    }

    /// Whether connections with received bytes wait for their next turn, or resumed reading and
    /// were not polled yet.
    package var hasMoreToRead: Bool { !waiting.isEmpty || !receipts.isEmpty || hasResumedReading }

    /// Makes the next poll of the sockets return at once if connections resumed reading.
    package func wakeIfReadingResumed() {
        if hasResumedReading { loop.post {} }
    }

    /// The earliest time at which the bytes just read arrived in their socket, in nanoseconds of
    /// the loop's clock.
    var earliestArrival: UInt64 { loop.clock.nanoseconds(at: loop.polls.earliestArrival) }

    // MARK: Reading

    /// Whether a connection can use its whole quota of frames in this turn. If not, it takes one.
    private var canPipeline: Bool { waiting.isServing || arrivingQuota.isLeft(in: turn) }

    /// The number of requests that a connection can take in this turn.
    package func quota(_ limits: ServerLimits) -> Int { canPipeline ? limits.framesPerTurn : 1 }

    /// Counts the requests that a connection took at a time.
    func didTake(_ requests: Int) {
        if waiting.isServing {
            waitingQuota.use(frames: requests)
        } else {
            arrivingQuota.use(frames: requests)
        }
    }

    /// Queues a turn for the connection, which comes without waiting for further input.
    func enqueue(_ connection: Connection) {
        waiting.enqueue(connection, of: connection.peer)
        requestTurns()
    }

    /// Records that a connection reads again, after it had used up its quota of an earlier turn.
    func didResumeReading() { hasResumedReading = true }

    // MARK: First reads

    /// Queues a connection that is read when memory is free.
    ///
    /// - Parameter read: returns false if there is nothing to read.
    func enqueueFirstRead(of peer: Peer, _ read: @escaping () -> Bool) {
        if !peer.hasFirstReads { firstReads.append(peer) }
        peer.addFirstRead(read)
    }

    /// Has a few queued connections read although memory is full, so that they are refused and
    /// don't wait in silence. Called at each check of the timeouts.
    package func readWithoutMemory() {
        guard firstReads.first != nil else { return }
        readsWithoutMemory = Self.readsWithoutMemory
        requestTurns()
    }

    /// Forty connections a second.
    private static let readsWithoutMemory = 4

    /// Connections of one client that begin to be read in a turn: they hold memory only in the
    /// next one.
    private static let firstReadsPerTurn = 32

    private func serveFirstReads() {
        for _ in 0..<firstReads.count {
            serveNextPeer { $0.isFull ? 0 : Self.firstReadsPerTurn }
        }
        while readsWithoutMemory > 0, firstReads.first != nil {
            serveNextPeer { _ in 1 }
            readsWithoutMemory -= 1
        }
        readsWithoutMemory = 0
    }

    /// Has connections of the first client read. Those whose peer has left do not count.
    private func serveNextPeer(_ reads: (Peer) -> Int) {
        guard let peer = firstReads.popFirst() else { return }
        var left = reads(peer)
        while left > 0, let read = peer.takeFirstRead() {
            if read() { left -= 1 }
        }
        if peer.hasFirstReads { firstReads.append(peer) }
    }

    // MARK: Streamed receipts

    /// Whether a receipt can be read further in this turn; queued receipts go first.
    var canReadReceipt: Bool { receipts.admitsNext && receiptSlice > 0 }

    /// The number of a receipt's bytes that can be read now.
    var receiptSlice: Int { receiptQuota.slice(in: turn) }

    func didReadReceipt(_ bytes: Int, nanoseconds: UInt64) {
        receiptQuota.didRead(bytes, nanoseconds: nanoseconds)
        receiptNanoseconds += nanoseconds
    }

    /// Queues a connection whose receipt has more bytes than this turn reads.
    func enqueueReceipt(of connection: Connection) {
        receipts.enqueue(connection, of: connection.peer)
    }

    // MARK: Long answers

    /// Whether a long answer can be made in this turn; queued ones go first.
    var canAnswerAtLength: Bool { longAnswers.admitsNext && longAnswerQuota.isLeft(in: turn) }

    /// Counts an answer that was made without verification.
    func didAnswerAtOnce(bytes: Int) { longAnswerQuota.use(bytes) }

    /// Queues a connection that asks for more long answers than this turn makes.
    func enqueueLongAnswer(of connection: Connection) {
        longAnswers.enqueue(connection, of: connection.peer)
    }

    // MARK: Queues

    private func requestTurns() {
        guard !hasRequestedTurns else { return }
        hasRequestedTurns = true
        let turns = LoopBound(self, to: loop)
        loop.post { turns.value.serveQueues() }
    }

    private func serveQueues() {
        hasRequestedTurns = false
        serveFirstReads()
        serveFrames()
        receipts.isServing = true
        while receiptSlice > 0, let connection = receipts.next() { connection.takeTurn() }
        receipts.isServing = false
        longAnswers.isServing = true
        while longAnswerQuota.isLeft(in: turn), let connection = longAnswers.next() {
            connection.takeTurn()
        }
        longAnswers.isServing = false
    }

    private func serveFrames() {
        // A connection that asks again waits for the next turn.
        var left = waiting.count
        waiting.isServing = true
        while left > 0, waitingQuota.isLeft(in: turn), let connection = waiting.next() {
            connection.takeTurn()
            left -= 1
        }
        waiting.isServing = false
    }

    // MARK: Writing

    /// Has the connection flushed at the end of this turn.
    func touch(_ connection: Connection) {
        if connection.touch() { touched.append(connection) }
    }

    /// Flushes the touched connections.
    package func writeAnswers() {
        let connections = touched
        touched.removeAll(keepingCapacity: true)
        for connection in connections { connection.flush() }
    }

    /// Lends a buffer for answers.
    func lendOutput() -> [UInt8] { spareOutputs.take() }

    func takeBack(output: consuming [UInt8]) { spareOutputs.keep(output) }
}
