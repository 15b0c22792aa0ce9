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
    var streams = HTTP2Streams()
    /// Events that were received and not taken yet.
    var arrivals = HTTP2Arrivals()
    /// Streams that end in these events. A request that is given up with its first bytes is not
    /// begun.
    private(set) var closed: Set<Int32> = []
    /// What the last head has decided; nil if each head of its call is decided anew.
    var decision: HTTP2Decision?
    var recentHead = RecentHead()
    /// The memory of events that writing causes.
    private var ended: [HTTP2Event] = []
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
        guard case .data(let number, _) = arrivals.current else { return false }
        return streams[number]?.receipt != nil
    }

    /// Unwritten answers do not stop reading: they wait for the peer's windows, and what widens
    /// these is in what the peer sends.
    var held: SessionBytes {
        let collected = bodies.heldBytes
        return SessionBytes(
            heldBack: engine.unwrittenBytes, open: openBytes,
            engine: engine.heldBytes + arrivals.headBytes,
            collected: collected, isCollecting: collected > 0)
    }
    var openBytes: Int { streams.count * HTTP2Stream.memory }
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
        guard let event = arrivals.current else {
            guard let unread = connection.inlet.bytes else { return false }
            receive(unread.extracting(0..<min(unread.count, Self.step)), connection)
            return true
        }
        let isTaken = take(event, connection)
        let isLast = arrivals.isEmpty
        if !isTaken || isLast { dropGivenUp(connection) }
        guard isTaken, isLast, connection.isOpen else { return isTaken }
        didTakeEvents(connection)
        return !connection.isOpen || !connection.inlet.isEmpty
    }

    private func receive(_ bytes: SlabBytes, _ connection: Connection) {
        let (before, formerlyClosed) = (engine.meter, engine.closedStreams)
        do throws(HTTP2Fault) {
            try arrivals.receive(bytes, by: engine)
        } catch {
            return fail("invalid HTTP/2", connection)
        }
        if !closed.isEmpty { closed.removeAll() }
        if engine.closedStreams != formerlyClosed { closed = arrivals.closed }
        connection.inlet.pay(
            for: .step(
                frames: engine.meter.frames - before.frames,
                fieldBytes: engine.meter.fieldBytes - before.fieldBytes,
                decoded: arrivals.headBytes))
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
        if arrivals.isEmpty { didTakeEvents(connection) }
    }

    /// Drops the bytes whose events were taken.
    private func didTakeEvents(_ connection: Connection) {
        bodies.collect()
        connection.inlet.skip(arrivals.removeAll(), .counted)
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

    private func fail(_ reason: StaticString, _ connection: Connection) {
        connection.telemetry.logFault(reason)
        engine.end(.calm)
        _ = arrivals.removeAll()
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
            arrivals.didTake()
            connection.telemetry.logFault(fault.logReason)
        case .head(let number, let head): return take(head, number, connection)
        case .data(let number, let range): return take(range, number, connection)
        case .end(let number):
            arrivals.didTake()
            if let stream = streams[number] { complete(stream, connection) }
        case .closed(let number, _):
            arrivals.didTake()
            didClose(number, connection)
            connection.updateBudget()
        case .pong:
            arrivals.didTake()
            if case .announced = end { finish(connection) }
        }
        return true
    }

    // MARK: Ends

    /// Ends a request whose last byte has arrived.
    ///
    /// - Parameter body: the body, if nothing of it was used before.
    func complete(
        _ stream: HTTP2Stream, whole body: SlabBytes? = nil, _ connection: Connection
    ) {
        guard !stream.isComplete else { return }
        stream.isComplete = true
        arrivingCount -= 1
        connection.telemetry.didReceive()
        guard stream.messages == nil else {
            dropReceipt(of: stream, connection)
            stream.plan = .skip
            return endMessages(stream, connection)
        }
        didEndBody(of: stream, whole: body, connection)
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
        guard let stream = streams.remove(number) else { return }
        // Of a request that is complete nothing is held here.
        if !stream.isComplete {
            arrivingCount -= 1
            dropReceipt(of: stream, connection)
            drop(stream)
        }
        if !stream.isAnswered || stream.lines != nil || stream.messages != nil {
            givenUp += stream.openIds
        }
    }

    /// Drops the requests of streams that have ended.
    private func dropGivenUp(_ connection: Connection) {
        guard !givenUp.isEmpty else { return }
        connection.context.service.cancel(givenUp, of: connection.flow)
        givenUp.removeAll()
    }

    /// Takes note of streams that ended as their answers were written.
    func didCloseStreams(_ connection: Connection) {
        engine.takeEvents(into: &ended)
        guard !ended.isEmpty else { return }
        for case .closed(let number, _) in ended { didClose(number, connection) }
        HTTP2Arrivals.empty(&ended)
        dropGivenUp(connection)
        // The count decides whether a connection with held bytes asks for a turn. Others are
        // counted after their answers are written.
        if connection.inlet.reading.isHeld { connection.updateBudget() }
    }
}
