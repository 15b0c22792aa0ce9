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
    /// Lines of chunk sizes and line breaks that were read.
    private var framings: UInt64 = 0

    init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
        var limits = HTTPLimits()
        limits.needsHost = HTTPOriginPolicy.Binding(endpoint).needsHost
        reader = HTTPHeadReader(limits: limits)
    }

    /// The receipt at the front that is verified as it arrives.
    var arrivingReceipt: ArrivingReceipt? { current?.receipt }
    var isWithinRequest: Bool { current != nil }
    var isReadToEnd: Bool { false }
    var endsWithPeer: Bool { true }
    var held: SessionBytes {
        SessionBytes(collected: bodies.heldBytes, isCollecting: isCollecting)
    }
    var waitingBytes: Int { responses.waitingBytes }
    private var isCollecting: Bool { current?.plan.limit != nil }

    subscript(style id: UInt64) -> HTTPResponseStyle {
        get { responses[id] }
        set { responses[id] = newValue }
    }

    func isOpen(_ id: UInt64) -> Bool { responses.isOpen(id) }
    func isArriving(_ id: UInt64) -> Bool { current?.id == id }
    func began(of id: UInt64, _ connection: Connection) -> UInt64 { connection.requestBegan }

    func takeNext(_ connection: Connection) -> Bool {
        guard let unread = connection.stream.received.unread else { return false }
        return current == nil ? takeHead(connection, unread) : takeBody(connection, unread)
    }

    func dropArriving(_ connection: Connection, _ refusal: ResponseHead?) {
        if let current { dropReceipt(of: current, connection) }
    }

    /// Counts the framing of a chunk. Returns the number of requests that it counts as in the
    /// connection's quota of a turn.
    func didReadFraming() -> Int {
        framings &+= 1
        return framings % Self.framingsPerRequest == 0 ? 1 : 0
    }

    /// A chunk has two: four chunks, which take as long as the refusal of a request. Chunks of one
    /// byte would keep the loop busy for milliseconds otherwise.
    private static let framingsPerRequest: UInt64 = 8

    // MARK: Time

    func measureRates(_ connection: Connection) {
        guard let current else { return }
        current.measureRate(waiting: waitingBody(of: current, connection), at: connection.now)
    }

    /// The bytes in the receive buffer of a body that waits there until it is whole.
    private func waitingBody(of current: HTTP1Exchange, _ connection: Connection) -> Int {
        min(current.body.announced, connection.stream.received.unreadCount)
    }

    func refuseOverdue(_ connection: Connection) {
        guard let current, let receipt = current.receipt, receipt.deadline <= connection.now else {
            return
        }
        refuseArriving(current, .deadlineExceeded(receipt.id), connection)
    }

    func slowRate(_ connection: Connection) -> Int? { current?.slowRate }

    func refuseSlow(_ connection: Connection) {
        guard let current else { return }
        refuseArriving(current, .memoryExhausted(current.id), connection)
        guard connection.isOpen else { return }
        let count = waitingBody(of: current, connection)
        didTake(count, of: current, connection)
        connection.stream.compactReceived()
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
