import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// HTTP/2: each stream is a request, and its number is the request's id. A line of a batch, or a
/// message of a stream of them, is a request of its own: its id has its number in the upper half.
final class HTTP2Session: RequestSession {
    let endpoint: Endpoint
    let engine: HTTP2Connection
    var streams: [Int32: HTTP2Stream] = [:]
    /// Events that were received and not taken yet. Their bytes, `received`, are at the front of
    /// the connection's received bytes.
    var events: [HTTP2Event] = []
    var next = 0
    /// Streams that end in these events. A request that is given up with its first bytes is not
    /// begun.
    private var closed: Set<Int32> = []
    /// Bytes of the heads among these events, at most.
    private var eventBytes = 0
    var received: SlabBytes?
    var recentHead = RecentHead()
    /// The ids of requests of streams that have ended, to be dropped together.
    private var givenUp: [UInt64] = []
    /// Streams whose requests have not arrived.
    var arrivingCount = 0
    let bodies = HTTPBodies()
    var end = End.none
    /// Answers that were given since the last write.
    var unwrittenAnswers = 0
    var lastSweep: UInt64
    /// When the times of the streams are checked again.
    var nextCheck: UInt64 = 0
    /// When a silent client got a PING that it has not answered.
    var probed: UInt64?
    /// Whether the server accepted requests when watching clients were last notified.
    var wasServing: Bool?

    /// What the client knows of the end of the connection.
    enum End {
        /// Nothing: the connection does not end.
        case none
        /// The connection will end. The client was notified at this time.
        case announced(UInt64)
        /// The number of the last stream that is served.
        case final
    }

    init(_ endpoint: Endpoint, at now: UInt64) {
        self.endpoint = endpoint
        var limits = HTTP2Limits()
        limits.needsHost = HTTPOriginPolicy.Binding(endpoint).needsHost
        engine = HTTP2Connection(limits)
        lastSweep = now
    }

    /// Streams that begin after the end was announced do not get here.
    var traits: SessionTraits { SessionTraits(endsWithPeer: true, acceptsWhileDraining: true) }

    var state: SessionState {
        SessionState(isWithinRequest: arrivingCount > 0, isReceipt: continuesReceipt)
    }

    /// Whether the next event continues a receipt.
    private var continuesReceipt: Bool {
        guard next < events.count, case .data(let number, _) = events[next] else { return false }
        return streams[number]?.receipt != nil
    }

    /// Unwritten answers do not stop reading: they wait for the peer's windows, and what widens
    /// these is in what the peer sends.
    var held: SessionBytes {
        let collected = bodies.heldBytes
        return SessionBytes(
            heldBack: engine.unwrittenBytes, open: openBytes, engine: engine.heldBytes + eventBytes,
            collected: collected, isCollecting: collected > 0)
    }
    private var openBytes: Int { streams.count * HTTP2Stream.memory }
    /// Also busy without a stream, from the notice of a drain until the client has answered it.
    var activity: SessionActivity {
        if case .announced = end { return .busy }
        guard !streams.isEmpty else { return .idle }
        return streams.values.allSatisfy(\.isSilent) ? .silent : .busy
    }

    // MARK: Requests

    /// The stream of a request, and the number of its line or message; 0 for the stream itself.
    func stream(of id: UInt64) -> (HTTP2Stream, part: UInt64)? {
        guard let stream = streams[Int32(truncatingIfNeeded: id & 0x7FFF_FFFF)] else { return nil }
        return (stream, id >> 32)
    }

    subscript(style id: UInt64) -> HTTPResponseStyle {
        get {
            guard let (stream, part) = stream(of: id) else { return HTTPResponseStyle() }
            guard part > 0 else { return stream.style }
            guard let messages = stream.messages else {
                return stream.lines?[part] ?? stream.style
            }
            var style = stream.style
            style.content = .rpc(messages.form(of: part))
            return style
        }
        set {
            guard let (stream, part) = stream(of: id) else { return }
            if part > 0 { stream.lines?[part] = newValue } else { stream.style = newValue }
        }
    }

    func isOpen(_ id: UInt64) -> Bool {
        guard let (stream, part) = stream(of: id) else { return false }
        guard part > 0 else { return !stream.isAnswered }
        return stream.lines?.isOpen(part) ?? stream.messages?.isOpen(part) ?? false
    }

    func isArriving(_ id: UInt64) -> Bool { stream(of: id)?.0.isComplete == false }

    func began(of id: UInt64, _ connection: Connection) -> UInt64 {
        stream(of: id)?.0.began ?? connection.now
    }

    // MARK: Reading

    /// Bytes that are received at a time: the events of one step. A request whose data goes on in
    /// the next one is copied, and a flood is noticed after one.
    private static let step = 32 << 10

    func takeNext(_ connection: Connection) -> Bool {
        guard next < events.count else {
            guard let unread = connection.inlet.bytes else { return false }
            receive(unread.extracting(0..<min(unread.count, Self.step)), connection)
            return true
        }
        let isTaken = take(events[next], connection)
        if !isTaken || next == events.count { dropGivenUp(connection) }
        if isTaken, next == events.count, connection.isOpen { didTakeEvents(connection) }
        return isTaken
    }

    private func receive(_ bytes: SlabBytes, _ connection: Connection) {
        let before = engine.meter
        let (decoded, formerlyClosed) = (engine.decodedBytes, engine.closedStreams)
        let used: Int
        do throws(HTTP2Fault) {
            used = try engine.receive(bytes.span, into: &events)
        } catch {
            return fail("invalid HTTP/2", connection)
        }
        received = bytes.extracting(0..<used)
        eventBytes = engine.decodedBytes - decoded
        next = 0
        closed.removeAll()
        if engine.closedStreams != formerlyClosed {
            for case .closed(let number, _) in events { closed.insert(number) }
        }
        connection.inlet.pay(
            for: .step(
                frames: engine.meter.frames - before.frames,
                fieldBytes: engine.meter.fieldBytes - before.fieldBytes, decoded: eventBytes))
        // A head that is not complete has no request that could be refused. Its memory is needed.
        if engine.meter.isWithinHead, connection.peer.isFull {
            connection.telemetry.logFault("memory is full: a head was not read to its end")
            return connection.close()
        }
        switch engine.meter.flood {
        case .frames: return fail("a flood of frames of HTTP/2", connection)
        case .resets: return fail("a flood of streams that are given up", connection)
        case nil: break
        }
        // Acknowledgements, and answers that a wider window lets go.
        touch(connection, answers: 0)
        if events.isEmpty { didTakeEvents(connection) }
    }

    /// Drops the bytes whose events were taken.
    private func didTakeEvents(_ connection: Connection) {
        bodies.collect()
        connection.inlet.skip(received?.count ?? 0, .counted)
        received = nil
        eventBytes = 0
        events.removeAll(keepingCapacity: events.capacity <= Self.eventsKept)
        next = 0
        connection.beginPace(began: connection.lastArrival)
        // A frame or a head that is not complete has to arrive in time; requests have their own.
        if connection.inlet.pace == nil, engine.meter.isWithinFrame {
            let began = partBegan ?? connection.lastArrival
            partBegan = began
            connection.inlet.beginPaceWithin(began: began, at: connection.now)
        } else {
            partBegan = nil
        }
        endIfDone(connection)
    }

    /// When the frame began that is not complete.
    private var partBegan: UInt64?
    /// Events whose memory an idle connection keeps: those of several requests, in 1 KB.
    private static let eventsKept = 32

    private func fail(_ reason: StaticString, _ connection: Connection) {
        connection.telemetry.logFault(reason)
        engine.end(.calm)
        events.removeAll()
        next = 0
        connection.end(nil)
    }

    /// Ends the connection if neither side has anything to say.
    func endIfDone(_ connection: Connection) {
        guard connection.isOpen, !engine.isOpen else { return }
        if engine.hasFailed { connection.telemetry.logFault("invalid HTTP/2") }
        connection.end(nil)
    }

    /// Takes an event. Returns false if it waits.
    private func take(_ event: HTTP2Event, _ connection: Connection) -> Bool {
        switch event {
        case .refusedHead(let fault):
            next += 1
            connection.telemetry.logFault(fault.logReason)
        case .head(let number, let head, let bytes, let fault):
            let target = HTTPTarget(bytes.span.extracting(head.path))
            if closed.contains(number) {
                next += 1
                return true
            }
            guard !connection.waitsForAnswer() else { return false }
            if target?.isLong == true, connection.waitsForLongAnswer() { return false }
            next += 1
            begin(number, head, bytes, target, fault, connection)
        case .data(let number, let range): return take(range, number, connection)
        case .end(let number):
            next += 1
            complete(number, connection)
        case .closed(let number, _):
            next += 1
            didClose(number, connection)
        case .pong:
            next += 1
            if case .announced = end { finish(connection) }
        }
        return true
    }

    private func begin(
        _ number: Int32, _ head: HTTPHead, _ bytes: [UInt8], _ target: HTTPTarget?,
        _ fault: HTTPFault?, _ connection: Connection
    ) {
        connection.inlet.pay(for: .requests(1))
        guard canMakeAnswers(connection) else {
            connection.telemetry.logFault("the peer does not read its answers")
            engine.reset(number, .refusedStream)
            return touch(connection, answers: 0)
        }
        let page = page(of: head, bytes.span, connection)
        let stream = HTTP2Stream(
            number, style(of: head, bytes.span, target, isHTTP2: true, from: page),
            head.body, among: bodies, connection.inlet.makeCollectedBytes(),
            began: connection.lastArrival, at: connection.now)
        streams[number] = stream
        arrivingCount += 1
        guard connection.peer.canAnswer(unread: 0, due: openBytes) else {
            return refuseForMemory(stream, connection)
        }
        if let fault {
            connection.telemetry.logFault(fault.logReason)
            return refuse(stream.id, HTTPProblem(fault), connection)
        }
        let plan = decide(
            head, bytes.span, target, stream.id, from: page,
            unread: isWhole(number) ? .max : 0, connection)
        if !stream.isAnswered || stream.lines != nil { stream.plan = plan }
        if case .messages(let call, let limit) = stream.plan {
            beginMessages(call, limit: limit, stream, connection)
        }
        if target?.isLong == true {
            connection.context.turns.didAnswerAtOnce(bytes: engine.unwrittenBytes)
        }
    }

    /// Whether the peer reads its answers. A peer that does not gets no further answers made: up to
    /// a limit, and to the part that one connection can have of the memory of unread answers. A few
    /// are always admitted, because those of one turn are written at its end.
    func canMakeAnswers(_ connection: Connection) -> Bool {
        engine.unwrittenBytes <= Self.unwrittenLimit
            && connection.peer.canAnswer(unread: 0, due: engine.unwrittenBytes)
    }

    /// Unwritten bytes of answers above which further streams are refused. A client's windows have
    /// 64 KB at least, and it widens them with each round trip.
    static let unwrittenLimit = 1 << 20

    /// Whether the rest of a request is in the bytes that were received.
    private func isWhole(_ number: Int32) -> Bool {
        for event in events[next...].prefix(2) {
            if case .end(number) = event { return true }
        }
        return false
    }

    // MARK: Ends

    private func complete(_ number: Int32, _ connection: Connection) {
        guard let stream = streams[number], !stream.isComplete else { return }
        stream.isComplete = true
        arrivingCount -= 1
        connection.telemetry.didReceive()
        guard stream.messages == nil else {
            dropReceipt(of: stream, connection)
            stream.plan = .skip
            return endMessages(stream, connection)
        }
        didEndBody(of: stream, connection)
    }

    /// After the receipt of a message the next message follows.
    func drop(_ stream: HTTP2Stream) {
        if let receipt = stream.receipt, stream.messages != nil {
            return endReceipt(stream, skipped: receipt.remaining)
        }
        stream.plan = .skip
        stream.removeData()
    }

    /// The rest of the body is dropped as it arrives.
    func drop(
        _ stream: HTTP2Stream, tooLarge problem: HTTPProblem, _ connection: Connection
    ) {
        drop(stream)
        refuse(stream.id, problem, connection)
    }

    /// Drops a request that was given up, or forgets one that was answered.
    private func didClose(_ number: Int32, _ connection: Connection) {
        guard let stream = streams.removeValue(forKey: number) else { return }
        if !stream.isComplete { arrivingCount -= 1 }
        dropReceipt(of: stream, connection)
        drop(stream)
        givenUp += stream.openIds
        connection.updateBudget()
    }

    /// Drops the requests of streams that have ended.
    private func dropGivenUp(_ connection: Connection) {
        guard !givenUp.isEmpty else { return }
        connection.context.service.cancel(givenUp, of: connection.flow)
        givenUp.removeAll()
    }

    /// Takes note of streams that ended as their answers were written.
    func didClose(_ ended: [HTTP2Event], _ connection: Connection) {
        for case .closed(let number, _) in ended { didClose(number, connection) }
        dropGivenUp(connection)
    }
}
