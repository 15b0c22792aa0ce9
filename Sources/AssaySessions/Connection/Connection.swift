import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// A client connection. Owns its stream, the answers of this turn, its times and the count of its
/// memory. The session interprets the bytes, which it takes from the inlet; the flow has the
/// requests in flight. Belongs to the loop's thread.
package final class Connection {
    private let stream: Stream
    let context: ConnectionContext
    /// The connection as the service sees it.
    let flow: Flow
    /// The client.
    let peer: Peer
    private(set) var session: any Session
    private var life = ConnectionLife()
    private var output = ConnectionOutput()
    let inlet: Inlet
    private var times: ConnectionTimes
    /// Bytes counted in the server's budget for this connection.
    private(set) var counted = HeldBytes()

    init(_ stream: Stream, _ context: ConnectionContext) {
        self.stream = stream
        self.context = context
        session = context.makeSession(on: stream)
        flow = context.table.makeFlow(of: stream.peer)
        peer = flow.peer
        inlet = Inlet(stream, of: peer)
        times = ConnectionTimes(context.server.loop)
    }

    var limits: ServerLimits { context.settings.limits }
    var now: UInt64 { context.server.now }
    var telemetry: Telemetry { context.server.telemetry }

    var isOpen: Bool { life.state == .open }
    var isClosed: Bool { stream.isClosing }
    /// Whether the peer has sent its last byte. It possibly still reads.
    var hasPeerEnded: Bool { life.hasPeerEnded }
    /// Replaces the session by that of the protocol that the first bytes chose.
    func speak(_ session: any Session) { self.session = session }

    func start() {
        // The closure keeps the connection until the stream's last event.
        stream.setHandler { [self] event in handle(event) }
        flow.begin(self)
        guard peer.isFull else { return beginReading() }
        // A read holds memory before its requests can be refused.
        stream.pauseReading()
        inlet.reading.awaitsMemory = true
        updateBudget()
        context.turns.enqueueFirstRead(of: peer) { [self] in endWaiting() }
    }

    private func beginReading() {
        updateBudget()
        inlet.resume()
    }

    /// Reads for the first time. Returns false if there is nothing to read.
    private func endWaiting() -> Bool {
        inlet.reading.awaitsMemory = false
        guard life.state != .closed, !stream.isClosing else { return false }
        guard !stream.hasPeerLeft, !stream.isPeerGone else {
            leave()
            return false
        }
        beginReading()
        return true
    }

    /// Closes the connection of a peer that receives no answers any more.
    private func leave() {
        telemetry.logFault("the peer disconnected")
        stream.close()
    }

    private func handle(_ event: Stream.Event) {
        switch event {
        case .connected: break
        case .received:
            times.lastActivity = now
            inlet.didRead(earliest: context.turns.earliestArrival, at: now)
            flow.didRead(inlet.lastRead)
            context.service.didRead()
            takeRequests()
        case .written: flush()
        case .ended:
            life.hasPeerEnded = true
            context.service.peerDidEnd(of: flow)
            let isWithin = !inlet.isEmpty || session.state.isWithinRequest
            end(isWithin ? .endedWithinRequest : nil)
            context.turns.touch(self)
        case .failed(.tls(let error)):
            telemetry.logFault(error)
            stream.close()
        case .failed: leave()
        case .closed:
            life.state = .closed
            session.end(.stopped, self)
            context.service.didClose(flow)
            flow.end()
            updateBudget()
            context.table.remove(self)
        }
    }

    // MARK: Reading

    /// Takes the complete requests out of the receive buffer, up to this turn's quota.
    private func takeRequests() {
        inlet.reading.begin(context.turns.number)
        let before = inlet.reading.taken
        defer {
            let taken = inlet.reading.taken
            context.turns.didTake(taken - before)
            peer.owe(max(taken - max(before, limits.framesPerTurn), 0))
            updateBudget()
        }
        var watch = ReadingWatch()
        defer { if let time = watch.stop(context.time) { inlet.reading.use(nanoseconds: time) } }
        while canTakeRequest {
            guard session.takeNext(self) else {
                if inlet.reading.awaitsAnswer || inlet.reading.awaitsLongAnswer { break }
                return
            }
            if let time = watch.didStep(context.time) { inlet.reading.use(nanoseconds: time) }
        }
        if isOpen {
            inlet.pause()
            askForTurn()
        } else {
            inlet.skipAll()
        }
    }

    private var canTakeRequest: Bool {
        guard isOpen, !stream.isClosing else { return false }
        let state = session.state
        return inlet.reading.taken < context.turns.quota(limits) && canRead(state)
            && canFeed(state)
    }

    /// Whether the connection can read another request. A peer that does not read its answers gets
    /// no further ones made. One with no unread answers gets the next one even when memory is low.
    private func canRead(_ state: SessionState) -> Bool {
        let unwritten = unwrittenCount(waiting: state.waitingBytes)
        guard unwritten <= limits.outputBytes else { return false }
        if state.isReadToEnd { return true }
        return !(inlet.reading.awaitsAnswer && isFull)
            && flow.canRead(limits.evidenceBytesPerConnection)
            && flow.canAnswer(unread: unwritten)
    }

    /// Whether received bytes of a receipt can be read in this turn.
    private func canFeed(_ state: SessionState) -> Bool {
        guard state.isReceipt, !inlet.isEmpty else { return true }
        return context.turns.canReadReceipt
    }

    /// Asks for another turn to read the held bytes, if another request fits. If it does not, an
    /// answer or a write asks again.
    private func askForTurn() {
        guard inlet.reading.isHeld, !inlet.reading.awaitsTurn, case let state = session.state,
            canRead(state)
        else { return }
        inlet.reading.awaitsTurn = true
        if inlet.reading.awaitsLongAnswer {
            context.turns.enqueueLongAnswer(of: self)
        } else if canFeed(state) {
            context.turns.enqueue(self)
        } else {
            context.turns.enqueueReceipt(of: self)
        }
    }

    func takeTurn() {
        inlet.reading.endWaiting()
        guard isOpen, inlet.reading.isHeld, canRead(session.state), !stream.isClosing else {
            return
        }
        // What it has sent costs nothing more.
        guard !stream.isPeerGone else { return leave() }
        inlet.proceed(at: now)
        takeRequests()
        inlet.compact()
        if isOpen, !inlet.reading.isHeld {
            inlet.resume()
            context.turns.didResumeReading()
        }
    }

    /// Begins the pace of the next request, if any of it has arrived.
    func beginPace(began: UInt64) { inlet.beginPace(began: began, at: now) }

    /// When the last received bytes could have been read, in milliseconds of the loop's clock.
    var lastArrival: UInt64 { inlet.lastArrival(at: now) }
    /// When the first byte of the request at the front arrived, in milliseconds of the loop's
    /// clock.
    var requestBegan: UInt64 { inlet.pace?.began ?? now }

    /// Whether the number of requests in flight is at its limit.
    var isFull: Bool { flow.isFull(limits.requestsInFlight) }

    /// Whether the next request waits, because too many are in flight. A client of HTTP that
    /// pipelines expects that, and not a refusal.
    func waitsForAnswer() -> Bool {
        if isFull { inlet.reading.awaitsAnswer = true }
        return isFull
    }

    /// Whether the next request waits, because this turn makes no further long answers.
    func waitsForLongAnswer() -> Bool {
        guard !context.turns.canAnswerAtLength else { return false }
        inlet.reading.awaitsLongAnswer = true
        return true
    }

    // MARK: Memory

    /// Bytes of answers that the system has not taken. The answers of one turn are in borrowed
    /// memory; answers gathered while the peer does not read are in the connection's own.
    var unwrittenCount: Int { unwrittenCount(waiting: session.state.waitingBytes) }

    /// - Parameter waiting: bytes of answers that wait for those before them.
    private func unwrittenCount(waiting: Int) -> Int {
        let earlier = stream.unwrittenCount
        return earlier + (earlier > 0 ? output.bytes.capacity : output.bytes.count) + waiting
    }

    /// Bytes that TLS holds.
    var securityBytes: Int { stream.securityBytes }

    /// Updates the server's budget with the sizes of this connection's buffers.
    func updateBudget() {
        let held = isClosed ? HeldBytes() : HeldBytes(of: self)
        peer.count(held, insteadOf: counted)
        counted = held
        output.didCount()
    }

    // MARK: Answers

    /// Counts a request that is not verified, and its answer.
    func answerAtOnce(
        _ call: CallLabel, _ head: ResponseHead, of trace: RequestTrace?, _ answer: () -> Void
    ) {
        telemetry.didAnswerAtOnce(call, head, of: trace, arrived: flow.arrived)
        let before = output.bytes.count
        answer()
        context.turns.didAnswerAtOnce(bytes: output.bytes.count - before)
    }

    /// Appends encoded answers.
    ///
    /// - Parameter appendAnswers: returns the number of answers that it appended.
    func answer(_ appendAnswers: (inout [UInt8]) -> Int) {
        guard life.canWrite else { return }
        if output.bytes.capacity == 0, stream.unwrittenCount == 0 {
            output.bytes = context.turns.lendOutput()
        }
        let before = output.bytes.count
        let count = appendAnswers(&output.bytes)
        // Long answers use up the turn's quota: Info costs as much as several tokens.
        inlet.pay(for: .answer(bytes: output.bytes.count - before))
        // A few short ones are counted when they are written, at the end of the turn.
        if output.isMuchUncounted { updateBudget() }
        telemetry.didSend(count)
        context.turns.touch(self)
    }

    var canWrite: Bool { life.canWrite }

    /// Has the connection flushed at the end of this turn. Returns false if it will be anyway.
    func touch() -> Bool {
        defer { output.isTouched = true }
        return !output.isTouched
    }

    /// Writes the answers of a turn in one write, then lets the held bytes proceed.
    func flush() {
        // Still touched: what this appends is written now.
        if life.canWrite { session.flush(self) }
        output.isTouched = false
        if life.state == .closed { return }
        if !output.bytes.isEmpty, !waitsForPeer { writeOutput() }
        switch life.state {
        case .open: askForTurn()
        case .ending: if flow.isEmpty { finish() }
        case .finishing, .closed: break
        }
        updateBudget()
    }

    /// Whether to gather small answers while earlier ones wait for the peer: each write costs
    /// memory as well. The last answers are written at once.
    private var waitsForPeer: Bool {
        if life.state == .ending, flow.isEmpty { return false }
        return stream.unwrittenCount > 0 && output.isSmall
    }

    private func writeOutput() {
        times.writePace.didGive(output.bytes.count, wasIdle: stream.unwrittenCount == 0, at: now)
        stream.write(output.bytes)
        context.turns.takeBack(output: output.takeUsed())
        times.lastActivity = now
    }

    // MARK: End

    /// Takes no more requests; answers the accepted ones, then finishes the connection.
    func end(_ last: ResponseHead?) {
        guard isOpen else { return }
        if let last { session.end(.refused(last), self) }
        session.end(.stopped, self)
        life.state = .ending
        inlet.skipAll()
        updateBudget()
        context.turns.touch(self)
    }

    private func finish() {
        life.state = .finishing
        times.lastUnwritten = now
        stream.finish()
    }

    /// Notifies the client once that the server is draining.
    func announceDrain() {
        guard !life.hasAnnouncedDrain else { return }
        life.hasAnnouncedDrain = true
        session.end(.announced, self)
    }

    /// Closes the connection at once: nothing more is written.
    func close() { stream.close() }

    /// The reason to end the connection by the settings of a reload, or nil.
    func refusal(by settings: ConnectionSettings) -> ResponseHead? {
        settings.refusal(of: stream)
    }

    /// What nothing in the connection itself contradicts: nothing arrives, or is due.
    private var activity: SessionActivity {
        guard flow.isEmpty, output.bytes.isEmpty, stream.unwrittenCount == 0, inlet.pace == nil,
            !inlet.reading.awaitsMemory
        else { return .busy }
        return session.activity
    }

    /// Since when nothing has happened on the connection; nil while something does. Streams on
    /// which the client waits for news count as nothing.
    var silentSince: UInt64? { isOpen && activity != .busy ? times.lastActivity : nil }

    /// Ends a silent connection, whose client can connect again.
    func endSilent() {
        session.end(.silent, self)
        end(.idle)
    }

    /// Checks the timeouts. Called several times a second. After the loop itself was late, reads
    /// and writes are pending, so the peers are not judged.
    package func sweep(isLate: Bool) {
        let now = now
        let unwritten = stream.unwrittenCount
        let stalled = times.writePace.stalled(at: now, unwritten: unwritten, isLate: isLate)
        if stalled > limits.writeStallMilliseconds {
            telemetry.logFault("the peer does not read its answers")
            return stream.close()
        }
        let isIdle = activity == .idle
        if isIdle { flow.giveBackMemory() }
        switch life.state {
        case .open: sweepOpen(isLate: isLate, isIdle: isIdle, at: now)
        case .finishing:
            // Until the last answer is written, the write stall above limits the wait.
            if isLate || unwritten > 0 { times.lastUnwritten = now }
            if now - times.lastUnwritten > limits.lingerMilliseconds { stream.close() }
        case .ending, .closed: break
        }
    }

    private func sweepOpen(isLate: Bool, isIdle: Bool, at now: UInt64) {
        let quiet = now - times.lastActivity
        if isIdle, quiet > limits.idleMilliseconds { return end(.idle) }
        if isIdle, context.server.phase.isDraining, quiet > limits.drainQuietMilliseconds {
            return end(nil)
        }
        session.sweep(self)
        guard !isLate, !inlet.reading.isHeld, inlet.isSlow(at: now, limits) else { return }
        telemetry.logFault("a request arrived too slowly")
        end(.slowRequest)
    }

    /// What arrives slowly through the peer's fault; nil if nothing does.
    var slowest: SlowRequest? { inlet.reading.isHeld ? nil : session.slowest(self) }
}
