import AssayIO
package import AssayTelemetry
import AssayWire

/// Where the answer to one accepted request goes, and the memory that the request holds until then.
///
/// The one place that ends a request: gives its memory back, counts it, and has its answer
/// written. A port that is dropped without an answer answers that the server failed. Belongs to the
/// loop's thread; its last reference can end on any.
package final class ReplyPort {
    let flow: Flow
    package let id: UInt64
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read.
    private(set) var arrived: UInt64
    private let call: CallLabel
    private let loop: EventLoop
    private var reservation: Reservation
    /// Whether it is answered, or dropped.
    private(set) var isEnded = false

    /// Accepts a request.
    init(
        _ call: CallLabel, _ id: UInt64, from flow: Flow, on loop: EventLoop,
        holding reservation: consuming Reservation
    ) {
        self.call = call
        self.id = id
        self.flow = flow
        self.loop = loop
        arrived = flow.arrived
        let cost = reservation.cost
        self.reservation = reservation
        flow.accept(id, call, cost)
    }

    /// Bytes of evidence and state.
    var heldBytes: Int { reservation.cost.bytes }

    /// Holds further memory, of evidence that has arrived now.
    func hold(_ more: consuming Reservation) {
        arrived = flow.arrived
        flow.inFlight.charge(more.cost)
        reservation.take(&more)
    }

    /// What an answer with a result counts as.
    package enum Result {
        /// - Parameter began: when its verification began, in nanoseconds of the monotonic clock.
        case verified(Outcome, began: UInt64)
        case resolved(ResolveOutcome)
        case fetched
    }

    /// Whether its client waits for the answer.
    var isAwaited: Bool { flow.awaits(id) }

    /// Answers with a result, unless the request has ended. A request that was given up ends
    /// without an answer.
    ///
    /// - Parameters:
    ///   - now: nanoseconds of the monotonic clock; nil to read it.
    ///   - bytes: how many are appended; nil if that is not known before.
    func answer(
        _ result: Result, at now: UInt64? = nil, bytes: Int? = nil,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        guard !flow.hasGivenUp(id) else { return refuse(nil) }
        end { caller in
            let now = now ?? loop.nanoseconds
            let telemetry = flow.telemetry
            switch result {
            case .verified(let outcome, let began):
                telemetry.didAnswer(outcome, arrived: arrived, began: began, now: now)
            case .resolved(let outcome):
                telemetry.didResolve(outcome, arrived: arrived, now: now)
            case .fetched: telemetry.didFetch(arrived: arrived, now: now)
            }
            caller?.answer(to: id, bytes: bytes, appendResult)
        }
    }

    /// Answers without a result, unless the request has ended.
    ///
    /// - Parameter refusal: nil if the client does not wait for one.
    func refuse(_ refusal: ResponseHead?) {
        let refusal = isAwaited ? refusal : nil
        end { caller in
            flow.telemetry.didDrop(call, refusal)
            caller?.refuse(refusal)
        }
    }

    private func end(_ answer: ((any Caller)?) -> Void) {
        guard !isEnded else { return }
        isEnded = true
        flow.end(id, reservation.handOver(), answer)
    }

    deinit {
        guard !isEnded else { return }
        let (id, call, cost) = (id, call, reservation.handOver())
        let lost = LostRequest(flow: flow)
        loop.post {
            let failure = ResponseHead.lost(id)
            lost.flow.telemetry.didDrop(call, failure)
            lost.flow.end(id, cost) { $0?.refuse(failure) }
        }
    }
}

/// The flow of a port that was dropped, on its way to the loop's thread.
private struct LostRequest: @unchecked Sendable {
    let flow: Flow
}
