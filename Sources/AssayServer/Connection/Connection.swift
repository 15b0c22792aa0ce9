import Assay
import AssayIO
import AssayModels
import AssayWire

/// A client connection. Lives on the loop's thread.
final class Connection {
    let stream: Stream
    let server: ServerLoop
    /// A unique number of the connection.
    let number: UInt64
    var limits: ServerLimits { server.limits }

    enum State {
        /// Takes requests and answers them.
        case open
        /// Takes no more requests; answers the accepted ones, then finishes.
        case ending
        /// FIN sent; waiting for the peer's.
        case finishing
        case closed
    }
    private(set) var state = State.open

    /// Ids of the requests that are being verified.
    private(set) var inFlight: Set<UInt64> = []
    private var evidenceBytes = 0
    /// Bytes expected in the answers to those requests.
    private var answersDue = 0
    /// Answers of this turn, written at its end.
    private var output: [UInt8] = []

    // State of reading, used by `Connection+Reading.swift`.

    var decoder: FrameDecoder
    /// The frame at the front, once its head is decoded or rejected.
    var arriving: ArrivingFrame?
    /// Is flushed at the end of the turn.
    var isTouched = false
    var wasToldOfDrain = false

    /// The turn in which `framesThisTurn` were taken.
    var turn: UInt64 = 0
    var framesThisTurn = 0

    /// Reading is paused, though the peer has possibly sent more: the share of this turn is used
    /// up, or another request does not fit.
    var isHeld = false
    var awaitsTurn = false
    /// The next request prefers to wait rather than be rejected, and too many are in flight.
    var awaitsAnswer = false
    /// The bytes that were in the socket when reading paused: those up to stream offset `end`, at
    /// `time`.
    private var left = (end: UInt64(0), time: UInt64(0))
    private var readBefore: UInt64 = 0
    /// Bytes counted in the server's budget for this connection.
    private var counted = (unread: 0, unwritten: 0)

    // Milliseconds of the loop's clock.
    var lastActivity: UInt64
    /// The earliest time at which the last received bytes could have been read.
    private(set) var lastReceived: UInt64
    /// The pace of the frame at the front; nil between frames.
    var pace: FramePace?
    var writePace: WritePace
    var lastUnwritten: UInt64 = 0

    init(_ stream: Stream, server: ServerLoop) {
        self.stream = stream
        self.server = server
        number = server.nextConnectionNumber()
        decoder = server.decoder
        lastActivity = server.now
        lastReceived = server.now
        writePace = WritePace(began: server.now)
    }

    var isClosed: Bool { stream.isClosing }
    /// Bytes of answers that the system has not taken. The answers of one turn are in borrowed
    /// memory; answers gathered while the peer does not read are in the connection's own.
    var unwrittenCount: Int {
        let earlier = stream.unwrittenCount
        return earlier + (earlier > 0 ? output.capacity : output.count)
    }

    func start() {
        // The closure keeps the connection until the stream's last event.
        stream.setHandler { [self] event in handle(event) }
        stream.resumeReading()
    }

    private func handle(_ event: Stream.Event) {
        switch event {
        case .connected: break
        case .received:
            lastActivity = server.now
            lastReceived = readBefore < left.end ? left.time : server.earliestArrival
            readBefore = stream.readTotal
            server.readBackoff.didRead(total: server.loop.traffic.received)
            if pace == nil { pace = FramePace(began: lastReceived) }
            pace?.didReceive(at: server.now)
            takeFrames()
        case .written: flush()
        case .ended:
            if case .open = state { end(peerEnd) }
            server.touch(self)
        case .failed:
            server.logFault("the peer has gone")
            stream.close()
        case .closed:
            state = .closed
            dropReceipt()
            updateBudget()
            server.didClose(self)
        }
    }

    /// The last answer for a peer that writes no more: an error if it stopped within a frame,
    /// else nil.
    private var peerEnd: ResponseHead? {
        stream.received.unreadCount > 0 || arriving != nil ? .endedWithinFrame : nil
    }

    // MARK: Limits and memory

    /// Whether the connection can read another request.
    var hasRoom: Bool {
        !(awaitsAnswer && isFull)
            && evidenceBytes < limits.evidenceBytesPerConnection
            && hasRoomForAnswers
    }

    /// Whether the peer reads its answers. A peer that does not gets no further answers made. A
    /// peer with no unread answers gets the next one even when memory is low.
    private var hasRoomForAnswers: Bool {
        let unwritten = unwrittenCount
        return unwritten <= limits.outputBytes
            && server.budget.mayAnswer(unread: unwritten, due: answersDue)
    }

    /// Whether the number of requests in flight is at its limit.
    var isFull: Bool { inFlight.count >= limits.requestsInFlight }

    /// Milliseconds since the last received bytes could have been read.
    var age: UInt64 { server.now - min(lastReceived, server.now) }

    /// Pauses reading, and notes the bytes in the socket and the time: they age from now.
    func pauseReading() {
        stream.pauseReading()
        guard stream.readTotal >= left.end else { return }
        left = (stream.readTotal + UInt64(stream.unreadBySystem), server.now)
    }

    /// Updates the server's budget with the sizes of this connection's buffers.
    func updateBudget() {
        let held =
            isClosed
            ? (unread: 0, unwritten: 0)
            : (unread: stream.received.unreadCount, unwritten: unwrittenCount)
        server.budget.buffered += held.unread - counted.unread
        server.budget.unwritten += held.unwritten - counted.unwritten
        counted = held
    }

    func isInFlight(_ id: UInt64) -> Bool { inFlight.contains(id) }

    /// Records an accepted request.
    ///
    /// - Parameter cost: nil for a receipt that is still arriving.
    func didAccept(_ id: UInt64, _ cost: RequestCost?) {
        inFlight.insert(id)
        evidenceBytes += cost?.bytes ?? 0
        answersDue += cost?.answer ?? 0
    }

    func didAnswer(_ id: UInt64, _ cost: RequestCost?) {
        inFlight.remove(id)
        evidenceBytes -= cost?.bytes ?? 0
        answersDue -= cost?.answer ?? 0
    }

    /// Releases spare memory. Called while nothing is in flight.
    func giveBackMemory() {
        if inFlight.capacity > Self.inFlightKept { inFlight = [] }
    }

    /// Capacity for ids that an idle connection keeps: below 1 KB.
    private static let inFlightKept = 64

    // MARK: Answers

    func answer(_ head: ResponseHead) {
        answer { server.codec.encodeFrame(head, into: &$0) }
    }

    func answer(
        _ request: AcceptedRequest, _ verification: Verification, at now: Timestamp
    ) {
        answer {
            RequestMapping.encode(
                verification, answering: request, at: now, by: server.codec, into: &$0)
        }
    }

    /// Appends an encoded answer.
    func append(_ frame: ArraySlice<UInt8>) {
        answer { $0.append(contentsOf: frame) }
    }

    /// Answers with a prepared refusal, which lacks only the id.
    func answer(_ id: UInt64, as refusal: PreparedAnswer) {
        answer { refusal.append(answering: id, to: &$0) }
    }

    private func answer(_ appendFrame: (inout [UInt8]) -> Void) {
        guard canWrite else { return }
        if output.capacity == 0, stream.unwrittenCount == 0 { output = server.spareOutputs.take() }
        let before = output.count
        appendFrame(&output)
        // Long answers use up the turn's share: Info costs as much as several tokens.
        framesThisTurn += (output.count - before) / ServerLimits.answerBytesPerFrame
        updateBudget()
        server.metrics.framesSent += 1
        server.touch(self)
    }

    private var canWrite: Bool {
        switch state {
        case .open, .ending: true
        case .finishing, .closed: false
        }
    }

    /// Writes the answers of a turn in one write, then lets the held bytes proceed.
    func flush() {
        if case .closed = state { return }
        if !output.isEmpty, !waitsForPeer { writeOutput() }
        switch state {
        case .open: askForTurn()
        case .ending: if inFlight.isEmpty { finish() }
        case .finishing, .closed: break
        }
        updateBudget()
    }

    /// Whether to gather small answers while earlier ones wait for the peer: each write costs
    /// memory as well. The last answers are written at once.
    private var waitsForPeer: Bool {
        if case .ending = state, inFlight.isEmpty { return false }
        return stream.unwrittenCount > 0 && output.count < Self.gatheredBytes
    }

    private static let gatheredBytes = 4 << 10

    private func writeOutput() {
        writePace.didGive(output.count, wasIdle: stream.unwrittenCount == 0, at: server.now)
        stream.write(output)
        var used: [UInt8] = []
        swap(&used, &output)
        server.spareOutputs.keep(used)
        lastActivity = server.now
    }

    private func finish() {
        state = .finishing
        lastUnwritten = server.now
        stream.finish()
    }

    /// Takes no more requests; answers the accepted ones, then finishes the connection.
    func end(_ last: ResponseHead?) {
        guard case .open = state else { return }
        if let last { answer(last) }
        dropReceipt()
        arriving = nil
        state = .ending
        stream.received.skip(stream.received.unreadCount)
        updateBudget()
        server.touch(self)
    }

    /// Drops the receipt that is arriving.
    func dropReceipt() {
        guard case .receipt(let receipt) = arriving else { return }
        arriving = nil
        didAnswer(receipt.head.id, nil)
        server.budget.takeBack(receipt: receipt.held)
    }

    var isIdle: Bool {
        inFlight.isEmpty && output.isEmpty && stream.unwrittenCount == 0 && pace == nil
    }
}
