import Assay
import AssayLoop
import AssayModels
import AssayWire

/// One client. Lives on the loop's thread.
final class Connection {
    let stream: Stream
    let server: ServerLoop
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
    /// Answers of this turn, written at its end.
    private var output: [UInt8] = []
    /// Bytes of a refused frame that are still to come, and are thrown away.
    var skipping = 0
    private var decoder: FrameDecoder
    /// The head of the frame that is arriving, once it is complete.
    var arriving: ArrivingFrame?
    /// Waits for the end of the turn, when it is flushed.
    var isTouched = false
    var wasToldOfDrain = false

    /// The turn in which `framesThisTurn` were taken.
    private var turn: UInt64 = 0
    private var framesThisTurn = 0

    /// It is not read from, though it may have sent more: its share of this turn is used up, or
    /// there is no room for another request.
    var isHeld = false
    private var awaitsTurn = false
    /// What the server counts as this connection's: unread bytes, and unwritten ones.
    private var counted = (unread: 0, unwritten: 0)

    // Milliseconds of the loop's clock.
    var lastActivity: UInt64
    private var lastReceived: UInt64
    /// The frame at the front; nil between frames.
    var pace: FramePace?
    var writePace: WritePace
    var lastUnwritten: UInt64 = 0

    init(_ stream: Stream, server: ServerLoop) {
        self.stream = stream
        self.server = server
        decoder = server.decoder
        lastActivity = server.now
        lastReceived = server.now
        writePace = WritePace(began: server.now)
    }

    var isClosed: Bool { stream.isClosing }
    var unwrittenCount: Int { output.count + stream.unwrittenCount }

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
            lastReceived = server.now
            server.readingRest.didRead(total: server.loop.traffic.received)
            if pace == nil { pace = FramePace(began: server.now) }
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
            count()
            server.didClose(self)
        }
    }

    /// What to say to a peer that writes no more: nothing, unless it was within a frame.
    private var peerEnd: ResponseHead? {
        stream.received.unreadCount > 0 || arriving != nil || skipping > 0 ? .endedWithinFrame : nil
    }

    // MARK: Frames in

    private var mayTakeFrame: Bool {
        guard case .open = state, !stream.isClosing else { return false }
        if turn != server.turn { (turn, framesThisTurn) = (server.turn, 0) }
        return framesThisTurn < limits.framesPerTurn && hasRoom
    }

    /// Whether another request could be held, and its answer.
    private var hasRoom: Bool {
        inFlight.count < limits.requestsInFlight
            && evidenceBytes < limits.evidenceBytesPerConnection
            && output.count + stream.unwrittenCount <= limits.outputBytes
    }

    /// Takes what is complete out of what was received, as much as a turn allows.
    private func takeFrames() {
        defer { count() }
        while mayTakeFrame {
            guard takeNext() else { return }
        }
        if case .open = state {
            isHeld = true
            stream.pauseReading()
            askForTurn()
        } else {
            stream.received.skip(stream.received.unreadCount)
        }
    }

    /// What is held goes on in the next turn, once there is room. Without room there will be an
    /// answer or a write that asks again.
    private func askForTurn() {
        guard isHeld, !awaitsTurn, hasRoom else { return }
        awaitsTurn = true
        server.waitsForTurn(self)
    }

    func takeTurn() {
        awaitsTurn = false
        guard case .open = state, isHeld, hasRoom, !stream.isClosing else { return }
        isHeld = false
        pace?.didResume(at: server.now)
        takeFrames()
        if case .open = state, !isHeld { stream.resumeReading() }
    }

    /// Tells the server how much this connection has in its buffers.
    private func count() {
        let held =
            isClosed
            ? (unread: 0, unwritten: 0)
            : (unread: stream.received.unreadCount, unwritten: unwrittenCount)
        server.budget.buffered += held.unread - counted.unread
        server.budget.unwritten += held.unwritten - counted.unwritten
        counted = held
    }

    /// One step; false where more bytes are needed.
    private func takeNext() -> Bool {
        if skipping > 0 {
            let count = min(skipping, stream.received.unreadCount)
            stream.received.skip(count)
            pace?.didTake(count)
            skipping -= count
            if skipping > 0 { return false }
            didEndFrame()
        }
        guard let unread = stream.received.unread else { return false }
        if case .receipt(let receipt) = arriving { return feed(receipt, unread) }
        // Limits may change while a frame comes: it is read by those of its beginning.
        if arriving == nil { decoder = server.decoder }
        switch decoder.next(in: unread.span) {
        case .needMore(let count):
            // What has no id yet can't be answered by it, and is held by many such connections.
            if server.budget.isFull, unread.count > limits.unansweredBytes {
                end(.connectionMemoryExhausted)
                return false
            }
            stream.received.expect(count)
            return false
        case .head(let frame): return didReceiveHead(frame, unread)
        case .frame(let frame):
            take(frame)
            didEndFrame()
            return true
        case .fault(let fault):
            refuse(fault)
            return true
        }
    }

    private func take(_ frame: FrameDecoder.Frame) {
        let bytes = stream.received.take(frame.end)
        let head = bytes.extracting(frame.head)
        let known = arriving?.head
        arriving = nil
        framesThisTurn += 1
        if known == nil, let refusal = server.refusalAtAGlance(of: head, for: self) {
            answer(refusal)
        } else if let head = known ?? server.decode(head, for: self) {
            take(head, bytes.extracting(frame.body))
        }
    }

    private func didEndFrame() {
        server.metrics.framesReceived += 1
        pace = stream.received.unreadCount > 0 ? FramePace(began: lastReceived) : nil
    }

    /// The head is there and the body is not: refuse what will be refused before its bytes come,
    /// and verify a receipt as it arrives.
    private func didReceiveHead(_ frame: FrameDecoder.Frame, _ unread: SlabBytes) -> Bool {
        if arriving == nil {
            let bytes = unread.extracting(frame.head)
            if let refusal = server.refusalAtAGlance(of: bytes, for: self) {
                answer(refusal)
                return skip(frame)
            }
            guard let head = server.decode(bytes, for: self) else { return skip(frame) }
            if let refusal = server.refusal(
                of: head, bodyBytes: frame.body.count, for: self, began: pace?.began)
            {
                answer(refusal)
                return skip(frame)
            }
            if let receipt = ArrivingReceipt(head, frame, server, began: pace?.began) {
                inFlight.insert(head.id)
                server.budget.give(receipt: receipt.reserved)
                stream.received.skip(frame.body.lowerBound)
                pace?.didTake(frame.body.lowerBound)
                arriving = .receipt(receipt)
                return true
            }
            arriving = .whole(head)
        } else if let head = arriving?.head, server.budget.isFull {
            let refusal = ResponseHead.memoryExhausted(head.id)
            server.metrics.didAnswerAtOnce(.verify, refusal)
            answer(refusal)
            arriving = nil
            return skip(frame)
        }
        stream.received.expect(frame.end)
        return false
    }

    private func skip(_ frame: FrameDecoder.Frame) -> Bool {
        framesThisTurn += 1
        skipping = frame.end
        return true
    }

    /// Gives a receipt's next bytes to its verification; they are not kept.
    private func feed(_ receipt: ArrivingReceipt, _ unread: SlabBytes) -> Bool {
        let count = min(receipt.remaining, unread.count)
        let fits = receipt.receive(unread.extracting(0..<count), in: &server.budget)
        stream.received.skip(count)
        pace?.didTake(count)
        if !fits { return refuse(receipt) }
        guard receipt.remaining == 0 else { return false }
        framesThisTurn += 1
        arriving = nil
        server.finish(receipt, of: self)
        didEndFrame()
        return true
    }

    /// Its rest is thrown away.
    private func refuse(_ receipt: ArrivingReceipt) -> Bool {
        let refusal = ResponseHead.memoryExhausted(receipt.head.id)
        server.metrics.didAnswerAtOnce(.verify, refusal)
        dropReceipt()
        answer(refusal)
        framesThisTurn += 1
        skipping = receipt.remaining
        if skipping == 0 { didEndFrame() }
        return true
    }

    private func refuse(_ fault: FrameFault) {
        let head = ResponseHead.fault(fault)
        server.metrics.didRefuse(head)
        guard let skip = fault.skip else {
            server.logFault("not a frame")
            return end(head)
        }
        answer(head)
        framesThisTurn += 1
        skipping = skip
    }

    private func take(_ head: RequestHead, _ body: SlabBytes) {
        if let refusal = server.refusal(
            of: head, bodyBytes: body.count, for: self, began: pace?.began)
        {
            return answer(refusal)
        }
        switch head.call {
        case .verify(let call): server.accept(head, call, body, from: self, began: pace?.began)
        case .health, .info, .ping, .unknown: answer(server.answer(to: head))
        }
    }

    func isInFlight(_ id: UInt64) -> Bool { inFlight.contains(id) }

    // MARK: Answers out

    func didAccept(_ id: UInt64, bytes: Int) {
        inFlight.insert(id)
        evidenceBytes += bytes
    }

    func didAnswer(_ id: UInt64, bytes: Int) {
        inFlight.remove(id)
        evidenceBytes -= bytes
    }

    func answer(_ head: ResponseHead) {
        answer { server.codec.encodeFrame(head, into: &$0) }
    }

    func answer(
        _ request: AcceptedRequest, _ verification: Verification, at now: Timestamp
    ) {
        answer {
            Exchange.encode(
                verification, answering: request, at: now, by: server.codec, into: &$0)
        }
    }

    /// An answer that is encoded already.
    func append(_ frame: ArraySlice<UInt8>) {
        answer { $0.append(contentsOf: frame) }
    }

    private func answer(_ appendFrame: (inout [UInt8]) -> Void) {
        guard canWrite else { return }
        appendFrame(&output)
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
        if !output.isEmpty {
            writePace.didGive(
                output.count, wasIdle: stream.unwrittenCount == 0, at: server.now)
            stream.write(output)
            output.removeAll(keepingCapacity: output.count <= limits.outputBytes)
            lastActivity = server.now
        }
        switch state {
        case .open: askForTurn()
        case .ending: if inFlight.isEmpty { finish() }
        case .finishing, .closed: break
        }
        count()
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
        count()
        server.touch(self)
    }

    /// The rest of a receipt will not come.
    func dropReceipt() {
        guard case .receipt(let receipt) = arriving else { return }
        arriving = nil
        didAnswer(receipt.head.id, bytes: 0)
        server.budget.takeBack(receipt: receipt.reserved)
    }

    var isIdle: Bool {
        inFlight.isEmpty && output.isEmpty && stream.unwrittenCount == 0 && pace == nil
    }
}
