import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// HTTP/1.1: the request that is arriving, and the responses, which leave in the order of the
/// requests.
final class HTTPSession: RequestSession {
    /// The endpoint of the listener.
    let endpoint: Endpoint
    var reader: HTTPHeadReader
    /// The request whose body is arriving; nil between requests.
    var current: HTTP1Exchange?
    let bodies = HTTPBodies()
    var responses = HTTPResponseOrder()
    var recentHead = RecentHead()
    /// Lines of chunk sizes and line breaks that were read.
    private var framings: UInt64 = 0

    init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
        var limits = HTTPLimits()
        limits.needsHost = HTTPOriginPolicy.Binding(endpoint).needsHost
        reader = HTTPHeadReader(limits: limits)
    }

    var traits: SessionTraits { SessionTraits(endsWithPeer: true) }

    var state: SessionState {
        SessionState(
            isWithinRequest: current != nil, isReceipt: current?.receipt != nil,
            waitingBytes: responses.waitingBytes)
    }
    /// Between the lines of a batch the client is idle.
    var activity: SessionActivity { current?.plan.isLines ?? true ? .idle : .busy }
    var held: SessionBytes {
        SessionBytes(collected: bodies.heldBytes, isCollecting: isCollecting)
    }
    private var isCollecting: Bool { current?.plan.limit != nil }

    subscript(style id: UInt64) -> HTTPResponseStyle {
        get { responses[id] }
        set { responses[id] = newValue }
    }

    func isOpen(_ id: UInt64) -> Bool { responses.isOpen(id) }
    func isArriving(_ id: UInt64) -> Bool { current?.id == id }
    func began(of id: UInt64, _ connection: Connection) -> UInt64 { connection.requestBegan }

    func takeNext(_ connection: Connection) -> Bool {
        guard let unread = connection.inlet.bytes else { return false }
        return current == nil ? takeHead(connection, unread) : takeBody(connection, unread)
    }

    /// HTTP has no notice of a drain: the connection ends when it is idle.
    func end(_ stage: SessionEnd, _ connection: Connection) {
        switch stage {
        case .announced, .silent: break
        case .refused(let head): answerLast(head, connection)
        case .stopped:
            bodies.collect()
            if let current { dropReceipt(of: current, connection) }
        }
    }

    /// Counts the framing of a chunk.
    func didReadFraming() -> Work {
        framings &+= 1
        return .requests(framings % Self.framingsPerRequest == 0 ? 1 : 0)
    }

    /// A chunk has two: four chunks, which take as long as the refusal of a request. Chunks of one
    /// byte would keep the loop busy for milliseconds otherwise.
    private static let framingsPerRequest: UInt64 = 8

    // MARK: Time

    func sweep(_ connection: Connection) {
        guard let current else { return }
        let now = connection.now
        current.measureRate(waiting: waitingBody(of: current, connection), at: now)
        guard let receipt = current.receipt, receipt.deadline <= now else { return }
        refuseArriving(current, .deadlineExceeded(receipt.id), connection)
    }

    /// The bytes in the receive buffer of a body that waits there until it is whole.
    private func waitingBody(of current: HTTP1Exchange, _ connection: Connection) -> Int {
        min(current.body.announced, connection.inlet.count)
    }

    func slowest(_ connection: Connection) -> SlowRequest? {
        guard let current, let rate = current.slowRate else { return nil }
        return SlowRequest(rate: rate) { [self] in refuseForMemory(current, connection) }
    }

    private func refuseForMemory(_ current: HTTP1Exchange, _ connection: Connection) {
        refuseArriving(current, .memoryExhausted(current.id), connection)
        guard connection.isOpen else { return }
        let count = waitingBody(of: current, connection)
        didTake(count, of: current, connection)
        connection.inlet.compact()
        connection.updateBudget()
    }
}

/// A request of HTTP/1.1 whose body is arriving.
final class HTTP1Exchange: HTTPExchange {
    var body: HTTPBodyReader
    /// Bytes of the body, the sizes of chunks included, that were dropped.
    private(set) var skipped = 0
    /// Whether the connection ends after this request.
    let closes: Bool

    init(
        _ id: UInt64, _ body: HTTPHead.Body, closes: Bool, among bodies: HTTPBodies,
        _ collected: consuming CollectedBytes, began: UInt64
    ) {
        self.body = HTTPBodyReader(body)
        self.closes = closes
        super.init(id, body, among: bodies, collected, began: began)
    }

    var isChunked: Bool { announced == nil }

    /// Whether it waits in the receive buffer until it is whole.
    var waitsInPlace: Bool { !isChunked && dataCount == 0 && plan.isWhole }

    func didSkip(_ count: Int) { skipped += count }
}
