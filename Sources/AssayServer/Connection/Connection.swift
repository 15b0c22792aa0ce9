import Assay
import AssayIO
import AssayModels
import AssayWire

/// One client. Lives on the loop's thread.
final class Connection {
    let stream: Stream
    let server: ServerLoop
    /// Never another connection's.
    let number: UInt64
    var limits: ServerLimits { server.limits }

    enum State {
        /// Takes requests and answers them.
        case open
        /// Takes no more: what was accepted is answered, then the end.
        case ending
        /// The end is on its way; waits for the peer's.
        case finishing
        case closed
    }
    private(set) var state = State.open

    /// Ids of the requests that are being verified.
    private(set) var inFlight: Set<UInt64> = []
    private var evidenceBytes = 0
    /// Answers of those requests, as far as they can be foreseen.
    private var answersDue = 0
    /// Answers of this turn, written at its end.
    private var output: [UInt8] = []

    // What is read: `Connection+Reading.swift` has it.

    var decoder: FrameDecoder
    /// The frame at the front, once its head is known or has been refused.
    var arriving: ArrivingFrame?
    /// Waits for the end of the turn, when it is flushed.
    var isTouched = false
    var wasToldOfDrain = false

    /// The turn in which `framesThisTurn` were taken.
    var turn: UInt64 = 0
    var framesThisTurn = 0

    /// It is not read from, though it may have sent more: its share of this turn is used up, or
    /// there is no room for another request.
    var isHeld = false
    var awaitsTurn = false
    /// The next request would rather wait than be refused, and there are too many in flight.
    var awaitsAnswer = false
    /// Bytes that the socket had when it was left alone: those up to `end`, since `time`.
    private var left = (end: UInt64(0), time: UInt64(0))
    private var readBefore: UInt64 = 0
    /// What the server counts as this connection's: unread bytes, and unwritten ones.
    private var counted = (unread: 0, unwritten: 0)

    // Milliseconds of the loop's clock.
    var lastActivity: UInt64
    /// Since when what was received last could have been read.
    private(set) var lastReceived: UInt64
    /// The frame at the front; nil between frames.
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
    /// Answers that the system has not taken. Those of this turn are in borrowed memory; those that
    /// are gathered while the peer does not read are in the connection's own.
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

    /// What to say to a peer that writes no more: nothing, unless it was within a frame.
    private var peerEnd: ResponseHead? {
        stream.received.unreadCount > 0 || arriving != nil ? .endedWithinFrame : nil
    }

    // MARK: What it holds

    /// Whether another request could be read.
    var hasRoom: Bool {
        !(awaitsAnswer && isFull)
            && evidenceBytes < limits.evidenceBytesPerConnection
            && hasRoomForAnswers
    }

    /// Whether the peer reads its answers: one that does not gets no further ones made. Where it
    /// has none, it gets the next one however short room is.
    private var hasRoomForAnswers: Bool {
        let unwritten = unwrittenCount
        return unwritten <= limits.outputBytes
            && server.budget.mayAnswer(unread: unwritten, due: answersDue)
    }

    /// Whether it has as many requests in flight as it may.
    var isFull: Bool { inFlight.count >= limits.requestsInFlight }

    /// Milliseconds for which what was received last could have been read.
    var age: UInt64 { server.now - min(lastReceived, server.now) }

    /// Leaves the socket alone, and notes what is in it: its time runs.
    func pauseReading() {
        stream.pauseReading()
        guard stream.readTotal >= left.end else { return }
        left = (stream.readTotal + UInt64(stream.unreadBySystem), server.now)
    }

    /// Tells the server how much this connection has in its buffers.
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

    /// Called while nothing is in flight.
    func giveBackMemory() {
        if inFlight.capacity > Self.inFlightKept { inFlight = [] }
    }

    /// Ids for which an idle connection keeps room: below 1 KB.
    private static let inFlightKept = 64

    // MARK: Answers out

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

    /// An answer that is encoded already.
    func append(_ frame: ArraySlice<UInt8>) {
        answer { $0.append(contentsOf: frame) }
    }

    /// A refusal that is encoded but for the id.
    func answer(_ id: UInt64, as refusal: PreparedAnswer) {
        answer { refusal.append(answering: id, to: &$0) }
    }

    private func answer(_ appendFrame: (inout [UInt8]) -> Void) {
        guard canWrite else { return }
        if output.capacity == 0, stream.unwrittenCount == 0 { output = server.spareOutputs.take() }
        let before = output.count
        appendFrame(&output)
        // Long answers use up the turn's share: Info costs what several tokens do.
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

    /// At the end of a turn: one write of all that was answered; then what is held may go on.
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

    /// While earlier answers wait for the peer, small ones are gathered: each write has a price in
    /// memory, too. The last ones go at once.
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

    /// Takes no more requests; what was accepted is answered, and then the connection ends.
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

    /// The rest of a receipt will not come.
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
