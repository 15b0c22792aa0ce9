import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// What a head has decided: further requests with the same bytes and under the same settings are
/// served by it. What else decides, such as the memory, is asked for each of them.
final class HTTP2Decision {
    private let head: HTTP2Head
    /// The number of the settings.
    private let settings: Int
    let style: HTTPResponseStyle
    let plan: HTTPBodyPlan

    /// Nil if the head alone does not decide.
    init?(
        _ head: HTTP2Head, _ style: HTTPResponseStyle, _ plan: HTTPBodyPlan, by settings: Int
    ) {
        guard case .message(let call, _) = plan, call.form.method.isDecidedByHead else {
            return nil
        }
        self.head = head
        self.settings = settings
        self.style = style
        self.plan = plan
    }

    func isAbout(_ head: HTTP2Head, by settings: Int) -> Bool {
        self.head === head && self.settings == settings
    }
}

/// Begins requests by their heads.
extension HTTP2Session {
    /// Takes the head of a request. Returns false if it waits.
    func take(_ head: HTTP2Head, _ number: Int32, _ connection: Connection) -> Bool {
        if closed.contains(number) {
            arrivals.didTake()
            return true
        }
        guard !connection.waitsForAnswer() else { return false }
        let settings = connection.context.settingsNumber
        if let decision, decision.isAbout(head, by: settings) {
            arrivals.didTake()
            begin(number, head, decision, connection)
            return true
        }
        let bytes = head.bytes
        let target = HTTPTarget(bytes.span.extracting(head.head.path))
        if target?.isLong == true, connection.waitsForLongAnswer() { return false }
        arrivals.didTake()
        decision = begin(number, head, target, connection)
        return true
    }

    /// Begins a request as the one before with the same head.
    private func begin(
        _ number: Int32, _ head: HTTP2Head, _ decision: HTTP2Decision, _ connection: Connection
    ) {
        guard let stream = open(number, head, decision.style, connection) else { return }
        stream.plan = decision.plan
    }

    /// Begins a request. Returns what its head has decided.
    private func begin(
        _ number: Int32, _ head: HTTP2Head, _ target: HTTPTarget?, _ connection: Connection
    ) -> HTTP2Decision? {
        let bytes = head.bytes
        let page = page(of: head.head, bytes.span, connection)
        let style = style(of: head.head, bytes.span, target, isHTTP2: true, from: page)
        guard let stream = open(number, head, style, connection) else { return nil }
        if let fault = head.fault {
            connection.telemetry.logFault(fault.logReason)
            refuse(stream.id, HTTPProblem(fault), connection)
            return nil
        }
        let plan = decide(
            head.head, bytes.span, target, stream.id, from: page,
            unread: arrivals.isWhole(number) ? .max : 0, connection)
        if !stream.isAnswered || stream.lines != nil { stream.plan = plan }
        if case .messages(let call, let limit) = stream.plan {
            beginMessages(call, limit: limit, stream, connection)
        }
        if target?.isLong == true {
            connection.context.turns.didAnswerAtOnce(bytes: engine.unwrittenBytes)
        }
        return HTTP2Decision(
            head, style, stream.plan, by: connection.context.settingsNumber)
    }

    /// Opens the stream of a request; nil if it was refused.
    private func open(
        _ number: Int32, _ head: HTTP2Head, _ style: HTTPResponseStyle, _ connection: Connection
    ) -> HTTP2Stream? {
        connection.inlet.pay(for: .requests(1))
        guard canMakeAnswers(connection) else {
            connection.telemetry.logFault("the peer does not read its answers")
            engine.reset(number, .refusedStream)
            touch(connection, answers: 0)
            return nil
        }
        let stream = HTTP2Stream(
            number, style, head.head.body, among: bodies, connection.inlet.makeCollectedBytes(),
            began: connection.lastArrival, at: connection.now)
        streams.add(stream)
        arrivingCount += 1
        guard connection.peer.canAnswer(unread: 0, due: openBytes) else {
            refuseForMemory(stream, connection)
            return nil
        }
        return stream
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
}
