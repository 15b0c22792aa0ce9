import AssayClient
import AssayHTTP
import AssayIO

/// A connection of HTTP: its socket, and the requests that wait for it. A subclass speaks the
/// version.
class SocketLink: LoadLink {
    enum State {
        case closed, connecting
        /// Connected; the server has not shown yet that it speaks the protocol.
        case opening
        case open
        /// The server takes no new requests, and answers earlier ones.
        case draining
    }

    let settings: LoadSettings
    /// Of the settings: what each call needs.
    let depth: Int
    let encoding: LoadProtocol.Encoding
    let prepared: PreparedRequests
    let reader = AnswerReader()
    unowned let owner: LoadLoop
    private(set) var state = State.closed
    private(set) var stream: Stream?
    /// What the stream does not have yet.
    var output: [UInt8] = []
    var waiting = TicketQueue()
    private let loop: EventLoop
    private var isUnwritten = false
    private var opened: (@Sendable (ClientError?) -> Void)?
    private var openingDeadline: UInt64 = 0
    /// Counts the connections: the events of an earlier one are ignored.
    private var generation = 0
    private var lastError = ClientError.connectionLost
    private var nextAttempt: UInt64 = 0

    init(
        _ settings: LoadSettings, _ prepared: PreparedRequests, on loop: EventLoop, owner: LoadLoop
    ) {
        self.settings = settings
        depth = settings.inFlight
        encoding = settings.loadProtocol.encoding
        self.prepared = prepared
        self.loop = loop
        self.owner = owner
    }

    // MARK: What a version does

    /// Begins to speak on a new connection.
    func begin() {}
    /// Reads what has arrived.
    func receive(_ bytes: SlabBytes) {}
    /// Sends waiting requests up to the limits.
    func pump() {}
    /// Adds what a session has to send to `output`.
    func collectOutput() {}
    /// Ends requests in flight past their deadline.
    func expireInFlight(at now: UInt64) {}
    /// Forgets the connection, and returns its requests in flight.
    func takeInFlight() -> [Ticket] { [] }

    // MARK: The connection

    final func open(_ done: @escaping @Sendable (ClientError?) -> Void) {
        opened = done
        connect()
    }

    private func connect() {
        generation += 1
        let own = generation
        state = .connecting
        openingDeadline = SystemClock.monotonicNanoseconds + LoadLimits.openingNanoseconds
        do throws(LoopError) {
            let stream = try Stream.connect(
                to: settings.endpoint.socket, on: loop, tls: settings.tls
            ) { [self] event in
                if own == generation { didHappen(event) }
            }
            if own == generation { self.stream = stream } else { stream.close() }
        } catch {
            fail(.connectFailed(error))
        }
    }

    private func didHappen(_ event: Stream.Event) {
        switch event {
        case .connected:
            state = .opening
            begin()
            flushLater()
        case .received:
            guard let bytes = stream?.received.unread else { return }
            receive(bytes)
        case .written: break
        case .ended: fail(.connectionLost)
        case .failed(let error): fail(state == .connecting ? .connectFailed(error) : lost(error))
        case .closed: fail(.closed)
        }
    }

    /// A server rejects a client certificate only after the client considers the connection open.
    private func lost(_ error: LoopError) -> ClientError {
        if case .tls = error, state == .opening { return .connectFailed(error) }
        return .connectionLost
    }

    /// The server speaks the protocol.
    final func didOpen() {
        state = .open
        opened?(nil)
        opened = nil
        pump()
    }

    final func drain() {
        guard state == .open else { return }
        state = .draining
        end(waiting.takeAll(), .error(ClientError.connectionLost.description))
    }

    /// Ends the connection and its requests. The next request begins another.
    final func fail(_ error: ClientError) {
        guard state != .closed else { return }
        generation += 1
        stream?.close()
        stream = nil
        output.removeAll()
        state = .closed
        lastError = error
        nextAttempt = SystemClock.monotonicNanoseconds + LoadLimits.pauseAfterFailure
        let lost = takeInFlight() + waiting.takeAll()
        opened?(error)
        opened = nil
        end(lost, .error(error.description))
    }

    private func end(_ tickets: [Ticket], _ outcome: CallOutcome) {
        for ticket in tickets { owner.take(outcome, of: ticket, from: self) }
    }

    final func close() { fail(.closed) }

    // MARK: Requests

    final func send(_ ticket: Ticket) {
        switch state {
        case .draining:
            return owner.take(.error(lastError.description), of: ticket, from: self)
        case .closed:
            guard SystemClock.monotonicNanoseconds >= nextAttempt else {
                return owner.take(.error(lastError.description), of: ticket, from: self)
            }
            waiting.append(ticket)
            connect()
        case .connecting, .opening: waiting.append(ticket)
        case .open:
            guard waiting.count < LoadLimits.waiting else {
                return owner.take(Self.tooManyWaiting, of: ticket, from: self)
            }
            waiting.append(ticket)
            pump()
        }
    }

    private static let tooManyWaiting = CallOutcome.refused(ClientError.tooManyWaiting.description)
    static let late = CallOutcome.error(ClientError.deadlineExceeded.description)

    final func expire(at now: UInt64) {
        if state == .connecting || state == .opening, now >= openingDeadline {
            return fail(.protocolViolation("it does not answer"))
        }
        expireInFlight(at: now)
        let timeout = settings.timeout.nanoseconds
        let longest = min(settings.longestWait?.nanoseconds ?? timeout, timeout)
        while let first = waiting.first, now + timeout >= first.deadline + longest {
            guard let ticket = waiting.popFirst() else { return }
            let outcome = now >= ticket.deadline ? Self.late : Self.tooManyWaiting
            owner.take(outcome, of: ticket, from: self)
        }
    }

    // MARK: Output

    final func flushLater() {
        guard !isUnwritten else { return }
        isUnwritten = true
        owner.flushLater(self)
    }

    final func flush() {
        isUnwritten = false
        guard let stream, state != .closed, state != .connecting else { return }
        collectOutput()
        guard !output.isEmpty else { return }
        stream.write(output)
        output.removeAll(keepingCapacity: output.capacity <= Self.keptOutputBytes)
    }

    /// The most memory that is kept for the output of later turns.
    private static let keptOutputBytes = 256 << 10
}

/// A connection of HTTP/1.1. Requests are pipelined, up to `LoadSettings.inFlight`.
final class HTTP1Link: SocketLink {
    private var inFlight = TicketQueue()

    override func begin() {
        let head = "GET /v1/health HTTP/1.1\r\nHost: \(settings.endpoint.authority)\r\n\r\n"
        output += head.utf8
    }

    override func receive(_ bytes: SlabBytes) {
        var (start, expected) = (0, 0)
        reading: while start < bytes.count {
            let rest = bytes.extracting(start..<bytes.count)
            switch HTTPResponseHead.read(rest.span) {
            case .incomplete: break reading
            case .fault(let reason): return fail(.protocolViolation(reason))
            case .head(let head):
                expected = head.headBytes + head.bodyBytes
                guard rest.count >= expected else { break reading }
                start += expected
                let body = rest.extracting(head.headBytes..<expected)
                expected = 0
                if state == .opening {
                    // A server that is not ready answers 503; a port of frames, 400.
                    guard head.status == 200 || head.status == 503 else {
                        return fail(
                            .status(
                                .unavailable, message: reader.reason(head.status, body.span),
                                retryAfterMilliseconds: 0))
                    }
                    didOpen()
                } else {
                    guard let ticket = inFlight.popFirst() else {
                        return fail(.protocolViolation("an answer to no request"))
                    }
                    owner.take(outcome(head.status, body, ticket), of: ticket, from: self)
                }
            }
        }
        stream?.received.skip(start)
        if expected > 0 { stream?.received.expect(expected) }
        pump()
    }

    private func outcome(_ status: Int, _ body: SlabBytes, _ ticket: Ticket) -> CallOutcome {
        reader.outcome(
            status: status, body.span, isConnect: encoding == .connect,
            prepared.expectation(of: ticket))
    }

    override func pump() {
        guard state == .open else { return }
        while inFlight.count < depth, let ticket = waiting.popFirst() {
            inFlight.append(ticket)
            output += prepared.groups[ticket.group][ticket.item].bytes
            flushLater()
        }
    }

    override func expireInFlight(at now: UInt64) {
        // The answers behind it can't arrive earlier.
        if let first = inFlight.first, now >= first.deadline { fail(.deadlineExceeded) }
    }

    override func takeInFlight() -> [Ticket] { inFlight.takeAll() }
}
