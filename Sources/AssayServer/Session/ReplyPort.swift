import AssayIO
import AssayWire

/// Where the answer to one accepted request goes, and the memory that the request holds until then.
///
/// The one place that ends a request: gives its memory back, counts it, appends its answer and has
/// the connection write it. A port that is dropped without an answer answers that the server
/// failed. Belongs to the loop's thread; its last reference can end on any.
final class ReplyPort {
    private let bound: LoopBound<Connection>
    let id: UInt64
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read.
    private(set) var arrived: UInt64
    private let call: CallLabel
    private var reservation: Reservation
    /// Whether it is answered, or dropped.
    private(set) var isEnded = false

    /// Accepts a request.
    init(
        _ call: CallLabel, _ id: UInt64, from connection: Connection,
        holding reservation: consuming Reservation
    ) {
        self.call = call
        self.id = id
        bound = LoopBound(connection, to: connection.stream.loop)
        arrived = connection.arrived
        connection.telemetry.metrics.didStart(call)
        connection.inFlight.insert(id, reservation.cost)
        self.reservation = reservation
        connection.session.didAccept(self)
    }

    var connection: Connection { bound.value }

    /// Bytes of evidence and state.
    var heldBytes: Int { reservation.cost.bytes }

    /// Holds further memory, of evidence that has arrived now.
    func hold(_ more: consuming Reservation) {
        arrived = connection.arrived
        connection.inFlight.charge(more.cost)
        reservation.take(&more)
    }

    /// What an answer with a result counts as.
    enum Result {
        /// - Parameter began: when its verification began, in nanoseconds of the monotonic clock.
        case verified(Outcome, began: UInt64)
        case resolved(ResolveOutcome)
        case fetched
    }

    /// Answers with a result, unless the request has ended.
    ///
    /// - Parameters:
    ///   - now: nanoseconds of the monotonic clock; nil to read it.
    ///   - bytes: how many are appended; nil if that is not known before.
    func answer(
        _ result: Result, at now: UInt64? = nil, bytes: Int? = nil,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        end {
            let now = now ?? connection.stream.loop.nanoseconds
            switch result {
            case .verified(let outcome, let began):
                connection.telemetry.metrics.didAnswer(
                    outcome, arrived: arrived, began: began, now: now)
            case .resolved(let outcome):
                connection.telemetry.metrics.didResolve(outcome, arrived: arrived, now: now)
            case .fetched: connection.telemetry.metrics.didFetch(arrived: arrived, now: now)
            }
            connection.session.answer(to: id, bytes: bytes, connection, appendResult)
        }
    }

    /// Answers without a result, unless the request has ended.
    ///
    /// - Parameter refusal: nil if the connection takes no answer.
    func refuse(_ refusal: ResponseHead?) {
        end {
            let refusal = connection.isClosed ? nil : refusal
            connection.telemetry.metrics.didDrop(call, refusal)
            if let refusal { connection.answer(refusal) }
        }
    }

    private func end(_ answer: () -> Void) {
        guard !isEnded else { return }
        isEnded = true
        connection.end(id, reservation.handOver(), answer)
    }

    deinit {
        guard !isEnded else { return }
        let (id, call, cost) = (id, call, reservation.handOver())
        bound.post { connection in
            let failure = ResponseHead.lost(id)
            connection.telemetry.metrics.didDrop(call, failure)
            connection.end(id, cost) { connection.answer(failure) }
        }
    }
}

/// A port that its request holds, as a session knows it.
struct WeakPort {
    weak var port: ReplyPort?
}

extension Connection {
    /// Gives the memory of a request back, answers it, and has the answer written.
    fileprivate func end(_ id: UInt64, _ cost: RequestCost, _ answer: () -> Void) {
        peer.takeBack(cost)
        inFlight.remove(id, cost)
        answer()
        context.turns.touch(self)
    }
}
