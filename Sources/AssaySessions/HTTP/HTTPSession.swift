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
    var current: HTTPArrivingRequest?
    /// The data of a chunked body that is read whole, or of an incomplete line of a batch.
    var collected: CollectedBytes
    /// The recent arrival rate of a body that is read whole; nil without one.
    var bodyRate: ArrivalRate?
    var responses = HTTPResponseOrder()
    /// Lines of chunk sizes and line breaks that were read.
    private var framings: UInt64 = 0

    init(_ endpoint: Endpoint, _ collected: consuming CollectedBytes) {
        self.endpoint = endpoint
        var limits = HTTPLimits()
        limits.needsHost = HTTPOriginPolicy.Binding(endpoint).needsHost
        reader = HTTPHeadReader(limits: limits)
        self.collected = collected
    }

    /// The receipt at the front that is verified as it arrives.
    var arrivingReceipt: ArrivingReceipt? {
        if case .receipt(let receipt) = current?.plan { receipt } else { nil }
    }
    var isWithinRequest: Bool { current != nil }
    var isReadToEnd: Bool { false }
    var endsWithPeer: Bool { true }
    var held: SessionBytes {
        SessionBytes(collected: collected.heldCount, isCollecting: isCollecting)
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

    /// Drops the body that is arriving: the request is answered.
    func dropBody() {
        current?.plan = .skip
        collected.removeAll()
        bodyRate = nil
    }

    func dropArriving(_ connection: Connection, _ refusal: ResponseHead?) {
        guard let dropped = arrivingReceipt else { return }
        current?.plan = .skip
        connection.context.service.drop(dropped, from: connection.flow)
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
        arrivingReceipt?.measureRate(at: connection.now)
        if isCollecting { bodyRate?.measure(arrivedBody(connection), at: connection.now) }
    }

    /// The bytes that have arrived of a body that is read whole.
    private func arrivedBody(_ connection: Connection) -> Int {
        guard let current else { return 0 }
        return current.arrived + min(current.body.announced, connection.stream.received.unreadCount)
    }

    func refuseOverdue(_ connection: Connection) {
        guard let receipt = arrivingReceipt, receipt.deadline <= connection.now else { return }
        refuse(receipt, .deadlineExceeded(receipt.id), connection)
    }

    func slowRate(_ connection: Connection) -> Int? {
        if let receipt = arrivingReceipt { return receipt.rate.slow }
        return connection.heldBody > 0 ? bodyRate?.slow : nil
    }

    func refuseSlow(_ connection: Connection) {
        if isCollecting { return refuseBody(connection) }
        if let receipt = arrivingReceipt {
            refuse(receipt, .memoryExhausted(receipt.id), connection)
        }
    }

    private func refuse(
        _ receipt: ArrivingReceipt, _ refusal: ResponseHead, _ connection: Connection
    ) {
        dropArriving(connection, nil)
        connection.answerAtOnce(.verify, refusal)
    }
}

/// A request whose body is arriving.
struct HTTPArrivingRequest {
    let id: UInt64
    var body: HTTPBodyReader
    var plan: HTTPBodyPlan
    /// Bytes of data that have arrived, of a body that is chunked or not read whole.
    var arrived = 0
    /// Bytes of the body, the sizes of chunks included, that were dropped.
    var skipped = 0
    /// Whether the connection ends after this request.
    var closes: Bool
    let isChunked: Bool
    /// Whether the size of the receipt is known, apart from that of the body.
    var hasSizedReceipt = false
}

/// What happens to the body of a request.
enum HTTPBodyPlan {
    /// It is dropped: the request is answered.
    case skip
    /// It is the evidence of this call, read whole.
    case evidence(HTTPParameters, limit: Int)
    /// It is an app receipt, verified as it arrives.
    case receipt(ArrivingReceipt)
    /// It is JSON, read whole.
    case json(HTTPJSONBody.Schema, limit: Int)
    /// It is evidence of a Resolve, read whole.
    case resolve(app: String, limit: Int)
    /// It is a Fetch, read whole; of the app entry that the API key chose, if keys are needed.
    case fetch(app: String?, limit: Int)
    /// It is a request for a signature of this app entry, read whole.
    case sign(SignatureKind, app: String, limit: Int)
    /// It is JSON on lines of their own, each answered by a line.
    case lines(HTTPResponseStyle, limit: Int)
    /// It is the message of a call, read whole unless its evidence can be verified as it arrives.
    case message(RPCCall, limit: Int)
    /// It is the messages of a call that has a stream of them.
    case messages(RPCCall, limit: Int)

    var isSkip: Bool {
        if case .skip = self { true } else { false }
    }

    var isLines: Bool {
        if case .lines = self { true } else { false }
    }

    /// The limit of a body that is read whole.
    var limit: Int? {
        switch self {
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .sign(_, _, let limit), .lines(_, let limit),
            .message(_, let limit):
            limit
        case .skip, .receipt, .messages: nil
        }
    }
}
