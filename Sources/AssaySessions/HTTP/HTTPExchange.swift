import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// A request of HTTP whose body is arriving, in either version: what happens to the body, what is
/// held of it, and how fast it arrives. Belongs to the loop's thread.
class HTTPExchange {
    let id: UInt64
    /// When its head arrived, in milliseconds of the loop's clock.
    let began: UInt64
    /// The size of the body; nil if it is unknown.
    final let announced: Int?
    final var plan = HTTPBodyPlan.skip
    /// Bytes of the body that were used.
    final var arrived = 0
    /// Whether the size of the receipt is known, apart from that of the body.
    final var hasSizedReceipt = false
    /// The rate at which what is held arrives; nil if nothing is.
    private final var rate: ArrivalRate?
    private final let bodies: HTTPBodies
    /// Data that is read whole: in received bytes, or collected.
    private final var received: SlabBytes?
    private final var collected: CollectedBytes

    init(
        _ id: UInt64, _ body: HTTPHead.Body, among bodies: HTTPBodies,
        _ collected: consuming CollectedBytes, began: UInt64
    ) {
        self.id = id
        self.bodies = bodies
        self.began = began
        self.collected = collected
        if case .length(let length) = body { announced = length } else { announced = nil }
    }

    deinit { bodies.didChange(from: heldBytes, to: 0) }

    /// The receipt that is verified as it arrives.
    final var receipt: ArrivingReceipt? {
        if case .receipt(let receipt) = plan { receipt } else { nil }
    }

    /// Takes the plan: the body has arrived.
    final func takePlan() -> HTTPBodyPlan {
        var taken = HTTPBodyPlan.skip
        swap(&taken, &plan)
        return taken
    }

    /// Whether the body is read whole, and can have this size.
    final func fits(_ count: Int) -> Bool {
        guard !plan.isLines, let limit = plan.limit else { return false }
        return count <= limit
    }

    // MARK: Data

    /// Bytes of memory of data that is read whole.
    final var heldBytes: Int { (received?.count ?? 0) + collected.heldCount }
    final var dataCount: Int { (received?.count ?? 0) + collected.count }
    /// The data so far, without a copy.
    final var data: SlabBytes? { received ?? collected.bytes }

    /// Keeps data. The first is not copied before the end of what was received with it.
    final func hold(_ data: SlabBytes, limit: Int, at now: UInt64) {
        beginRate(at: now)
        let before = heldBytes
        if dataCount == 0 {
            received = data
            bodies.didHold(self)
        } else {
            moveOut(limit: limit)
            collected.append(data.span, limit: limit)
        }
        bodies.didChange(from: before, to: heldBytes)
    }

    /// Copies data out of received bytes, which a few bytes must not keep.
    final func collect(limit: Int = .max) {
        let before = heldBytes
        moveOut(limit: limit)
        bodies.didChange(from: before, to: heldBytes)
    }

    private final func moveOut(limit: Int) {
        guard let bytes = takeReceived() else { return }
        collected.append(bytes.span, limit: limit)
    }

    private final func takeReceived() -> SlabBytes? {
        guard let bytes = received else { return nil }
        received = nil
        bodies.didLeavePlace()
        return bytes
    }

    final func takeData() -> SlabBytes? {
        let before = heldBytes
        defer { bodies.didChange(from: before, to: heldBytes) }
        rate = nil
        return takeReceived() ?? collected.take()
    }

    final func removeData() { _ = takeData() }

    // MARK: Time

    /// Begins to measure the rate of a body that is read whole.
    final func beginRate(at now: UInt64) {
        if rate == nil { rate = ArrivalRate(at: now, arrived: arrived) }
    }

    /// Updates the arrival rate. Called several times a second.
    ///
    /// - Parameter waiting: bytes of the body that have arrived and were not used.
    final func measureRate(waiting: Int = 0, at now: UInt64) {
        if let receipt { return receipt.measureRate(at: now) }
        rate?.measure(arrived + waiting, at: now)
    }

    /// The arrival rate of a request that is slow and holds memory; nil for others.
    final var slowRate: Int? { receipt.map(\.rate.slow) ?? rate?.slow }
}

/// What the bodies of a connection hold that are read whole. Belongs to the loop's thread.
final class HTTPBodies {
    /// Bytes of memory.
    private(set) var heldBytes = 0
    /// The request whose data is in received bytes; nil once it is not there any more, since each
    /// request holds this object.
    private var inPlace: HTTPExchange?

    fileprivate func didChange(from before: Int, to after: Int) { heldBytes += after - before }

    fileprivate func didHold(_ exchange: HTTPExchange) {
        collect()
        inPlace = exchange
    }

    fileprivate func didLeavePlace() { inPlace = nil }

    /// Copies data out of received bytes, which are released. Also called when nothing more is
    /// read.
    func collect() { inPlace?.collect() }
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

    /// Whether the body is read whole, and nothing in it is looked at before.
    var isWhole: Bool {
        switch self {
        case .evidence, .json, .resolve, .fetch, .sign: true
        case .message(let call, _): call.arrival == nil
        case .skip, .receipt, .lines, .messages: false
        }
    }
}
