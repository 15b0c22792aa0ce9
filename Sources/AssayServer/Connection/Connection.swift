import Assay
import AssayIO
import AssayModels
import AssayWire

/// A client connection. Lives on the loop's thread.
final class Connection {
    let stream: Stream
    let context: ConnectionContext
    /// The state of HTTP; nil for a connection of frames.
    let http: HTTPSession?
    /// A unique number of the connection.
    let number: UInt64

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
    /// The peer has sent its last byte. It possibly still reads.
    private(set) var hasPeerEnded = false

    private(set) var inFlight = RequestsInFlight()
    /// Its requests that wait for a worker; nil for a connection that has none.
    private(set) var queuedLines: RequestLines?
    /// Answers of this turn, written at its end.
    private var output: [UInt8] = []

    // State of reading, used by `Connection+Reading.swift`.

    var decoder: FrameDecoder
    /// Whether the peer has sent a whole frame, and so speaks the protocol.
    var hasSentFrame = false
    /// The frame at the front, once its head is decoded or rejected.
    var arriving: ArrivingFrame?
    /// Is flushed at the end of the turn.
    var isTouched = false
    var hasAnnouncedDrain = false

    /// The turn in which `framesThisTurn` were taken.
    var turn: UInt64 = 0
    var framesThisTurn = 0

    /// Reading is paused, though the peer has possibly sent more: the share of this turn is used
    /// up, or another request does not fit.
    var isHeld = false
    var awaitsTurn = false
    /// The next request prefers to wait rather than be rejected, and too many are in flight.
    var awaitsAnswer = false
    /// The next request asks for a long answer, and this turn's share of those is used up.
    var awaitsShare = false
    /// A worker parses a body of this connection. Nothing more is read meanwhile, so that each
    /// connection holds one body, and has one turn in the queue.
    var isParsing = false
    /// Bytes counted in the server's budget for this connection.
    private var counted = (unread: 0, unwritten: 0, body: 0)

    private var arrival: ArrivalTime
    // Milliseconds of the loop's clock.
    var lastActivity: UInt64
    /// The pace of the frame at the front; nil between frames.
    var pace: FramePace?
    var writePace: WritePace
    var lastUnwritten: UInt64 = 0

    init(_ stream: Stream, _ context: ConnectionContext) {
        self.stream = stream
        self.context = context
        number = context.table.nextNumber()
        http = stream.endpoint.flatMap {
            $0.isHTTP ? HTTPSession($0, stream.makeCollectedBytes()) : nil
        }
        decoder = context.server.decoder
        let now = context.server.now
        lastActivity = now
        arrival = ArrivalTime(began: context.server.loop.clock.nanoseconds)
        writePace = WritePace(began: now)
    }

    var limits: ServerLimits { context.server.limits }
    var now: UInt64 { context.server.now }
    var telemetry: Telemetry { context.server.telemetry }

    var isClosed: Bool { stream.isClosing }
    /// Whether nobody waits for an answer of the App Store, which takes seconds. A client of HTTP
    /// that ends its writing has left; one of frames can end it and wait for the answers.
    var hasClientLeft: Bool { http != nil && hasPeerEnded }
    /// Bytes of answers that the system has not taken. The answers of one turn are in borrowed
    /// memory; answers gathered while the peer does not read are in the connection's own.
    var unwrittenCount: Int {
        let earlier = stream.unwrittenCount
        return earlier + (earlier > 0 ? output.capacity : output.count)
            + (http?.waitingBytes ?? 0)
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
            lastActivity = now
            arrival.didRead(
                total: stream.readTotal, earliest: context.turns.earliestArrival)
            context.scheduler.didRead()
            if pace == nil { pace = FramePace(began: lastArrival, at: now) }
            pace?.didReceive(at: now)
            takeFrames()
        case .written: flush()
        case .ended:
            hasPeerEnded = true
            if hasClientLeft { context.scheduler.fetches.cancel(of: self) }
            if case .open = state { end(peerEnd) }
            context.turns.touch(self)
        case .failed(let error):
            if case .tls(let error) = error {
                telemetry.logFault(error)
            } else {
                telemetry.logFault("the peer disconnected")
            }
            stream.close()
        case .closed:
            state = .closed
            dropArriving()
            context.scheduler.didClose(self)
            updateBudget()
            context.table.remove(self)
        }
    }

    /// The last answer for a peer that writes no more: an error if it stopped within a frame,
    /// else nil.
    private var peerEnd: ResponseHead? {
        let isWithin = stream.received.unreadCount > 0 || arriving != nil || http?.front != nil
        return isWithin ? .endedWithinFrame : nil
    }

    // MARK: Limits and memory

    /// Whether the connection can read another request.
    var canReadRequest: Bool {
        // A Resolve that has begun to arrive is read to its end: it is answered no earlier.
        if case .resolve = arriving { return unwrittenCount <= limits.outputBytes }
        return !(awaitsAnswer && isFull) && !isParsing
            && inFlight.evidenceBytes < limits.evidenceBytesPerConnection
            && canMakeAnswers
    }

    /// Whether the peer reads its answers. A peer that does not gets no further answers made. A
    /// peer with no unread answers gets the next one even when memory is low.
    private var canMakeAnswers: Bool {
        let unwritten = unwrittenCount
        return unwritten <= limits.outputBytes
            && context.budget.canAnswer(unread: unwritten, due: inFlight.answersDue)
    }

    /// Whether the number of requests in flight is at its limit.
    var isFull: Bool { inFlight.count >= limits.requestsInFlight }

    /// When the last received bytes could have been read, in milliseconds of the loop's clock.
    var lastArrival: UInt64 { min(arrival.last / 1_000_000, now) }

    /// Milliseconds since the last received bytes could have been read.
    var age: UInt64 { now - lastArrival }

    /// When the last received bytes could have been read, in nanoseconds of the monotonic clock.
    var arrived: UInt64 { context.server.loop.clock.monotonic(at: arrival.last) }

    /// When the first byte of the frame at the front arrived; nil between frames.
    var frameBegan: UInt64? { pace?.began }

    /// Pauses reading, and notes the bytes in the socket and the time: they age from now.
    func pauseReading() {
        stream.pauseReading()
        arrival.didPause(
            total: stream.readTotal, unread: stream.unreadBySystem,
            at: context.server.loop.clock.nanoseconds)
    }

    /// Updates the server's budget with the sizes of this connection's buffers.
    func updateBudget() {
        let held =
            isClosed
            ? (unread: 0, unwritten: 0, body: 0)
            : (
                unread: stream.received.unreadCount + (http?.collected.heldCount ?? 0),
                unwritten: unwrittenCount, body: heldBody
            )
        context.budget.buffered += held.unread - counted.unread
        context.budget.unwritten += held.unwritten - counted.unwritten
        context.budget.collected += held.body - counted.body
        counted = held
    }

    /// Bytes held of a body of HTTP that is read whole and has not arrived yet.
    var heldBody: Int {
        guard let http, http.isCollecting else { return 0 }
        return stream.received.unreadCount + http.collected.heldCount
    }

    func isInFlight(_ id: UInt64) -> Bool { inFlight.contains(id) }

    /// Records an admitted request. A receipt that is still arriving costs nothing yet.
    func didAdmit(_ id: UInt64, _ cost: RequestCost = .none) {
        inFlight.insert(id)
        inFlight.charge(cost)
    }

    /// Records the cost of a receipt that has arrived.
    func charge(_ cost: RequestCost) { inFlight.charge(cost) }

    func didAnswer(_ id: UInt64, _ cost: RequestCost = .none) { inFlight.remove(id, cost) }

    /// Releases spare memory. Called while nothing is in flight.
    func giveBackMemory() {
        inFlight.giveBackMemory()
        // Items of a Resolve that has ended are possibly still queued.
        if queuedLines?.isEmpty == true { queuedLines = nil }
    }

    /// Where its requests wait for a worker.
    var lines: RequestLines {
        if let queuedLines { return queuedLines }
        let new = RequestLines()
        queuedLines = new
        return new
    }

    // MARK: Answers

    /// Answers a request that is not verified, and counts it.
    func answerAtOnce(_ call: CallLabel, _ head: ResponseHead) {
        telemetry.metrics.didAnswerAtOnce(call, head)
        let before = output.count
        answer(head)
        context.turns.didAnswerAtOnce(bytes: output.count - before)
    }

    /// Answers a request of HTTP that is not verified with a text of the server's, and counts it.
    func answerAtOnce(
        _ call: CallLabel, to id: UInt64, _ appendAnswer: (inout [UInt8]) -> Void
    ) {
        telemetry.metrics.didAnswerAtOnce(call, ResponseHead(id: id))
        let before = output.count
        answer(to: id, appendAnswer)
        context.turns.didAnswerAtOnce(bytes: output.count - before)
    }

    func answer(_ head: ResponseHead) {
        if let http { return answer(head, http) }
        answer(to: head.id) { context.codec.encodeFrame(head, into: &$0) }
    }

    func answer(
        _ request: AcceptedRequest, _ verification: Verification, at now: Timestamp
    ) {
        if let detail = request.refusedReceipt(verification, at: now) {
            telemetry.logRefusedReceipt(detail)
        }
        answer(to: request.id) {
            RequestMapping.encode(
                verification, answering: request, at: now, by: context.codec, into: &$0)
        }
    }

    /// Appends the encoded answer to a request.
    func append(_ frame: ArraySlice<UInt8>, to id: UInt64) {
        answer(to: id) { $0.append(contentsOf: frame) }
    }

    /// Appends the answer to a request, of HTTP when those of earlier requests are written.
    func answer(to id: UInt64, _ appendAnswer: (inout [UInt8]) -> Void) {
        guard let http, !http.isNext(id) else {
            return answer { output in
                appendAnswer(&output)
                return http?.didWriteNext(into: &output) ?? 1
            }
        }
        guard canWrite else { return }
        var response: [UInt8] = []
        appendAnswer(&response)
        http.keep(response, for: id)
        updateBudget()
    }

    /// Appends encoded answers.
    ///
    /// - Parameter appendFrames: returns the number of frames that it appended.
    func answer(_ appendFrames: (inout [UInt8]) -> Int) {
        guard canWrite else { return }
        if output.capacity == 0, stream.unwrittenCount == 0 { output = context.turns.lendOutput() }
        let before = output.count
        let count = appendFrames(&output)
        // Long answers use up the turn's share: Info costs as much as several tokens.
        framesThisTurn += (output.count - before) / ServerLimits.answerBytesPerFrame
        updateBudget()
        telemetry.metrics.framesSent += UInt64(count)
        context.turns.touch(self)
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
        writePace.didGive(output.count, wasIdle: stream.unwrittenCount == 0, at: now)
        stream.write(output)
        var used: [UInt8] = []
        swap(&used, &output)
        context.turns.takeBack(output: used)
        lastActivity = now
    }

    private func finish() {
        state = .finishing
        lastUnwritten = now
        stream.finish()
    }

    /// Takes no more requests; answers the accepted ones, then finishes the connection.
    func end(_ last: ResponseHead?) {
        guard case .open = state else { return }
        if let last {
            if let http { answerLast(last, http) } else { answer(last) }
        }
        dropArriving()
        arriving = nil
        state = .ending
        stream.received.skip(stream.received.unreadCount)
        updateBudget()
        context.turns.touch(self)
    }

    /// Notifies the client once that the server is draining.
    func announceDrain() {
        guard !hasAnnouncedDrain else { return }
        hasAnnouncedDrain = true
        // HTTP has no such message: the connection ends when it is idle.
        if http == nil { answer(.draining) }
    }

    /// Drops the request that is being verified as it arrives.
    ///
    /// - Parameter refusal: the answer to a Resolve; nil if the connection takes none.
    func dropArriving(_ refusal: ResponseHead? = nil) {
        switch arriving {
        case .receipt(let receipt):
            arriving = nil
            didAnswer(receipt.id)
            receipt.giveBackMemory()
        case .resolve(let arrival):
            arriving = nil
            arrival.dropReceipt()
            context.resolver.refuse(arrival.resolve, refusal)
        case .whole, .skipped, nil: break
        }
    }

    var isIdle: Bool {
        inFlight.isEmpty && output.isEmpty && stream.unwrittenCount == 0 && pace == nil
    }
}
