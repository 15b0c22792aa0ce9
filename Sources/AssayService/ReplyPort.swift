import AssayIO
import AssayModels
package import AssayTelemetry
import AssayWire

/// Where the answer to one accepted request goes, and the memory that the request holds until then.
///
/// The one place that ends a request: gives its memory back, counts it, and has its answer
/// written. A port that is dropped without an answer answers that the server failed.
///
/// Any thread can hold a port, read its constants, and drop its last reference. Its state belongs
/// to the loop's thread: what changes it takes the flow, which `LoopBound` gives to no other.
package class ReplyPort: @unchecked Sendable {
    private final let owner: LoopBound<Flow>
    package final let id: UInt64
    private final let call: CallLabel
    /// The trace to which the request belongs; nil without one.
    private final let trace: RequestTrace?
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read. State.
    private(set) final var arrived: UInt64
    /// The memory that it gives back. State.
    private final var cost: RequestCost
    /// Whether it is answered or dropped, or has nothing to answer itself. State.
    private final var hasEnded: Bool

    /// Accepts a request.
    init(
        _ call: CallLabel, _ id: UInt64, _ trace: RequestTrace?, from flow: Flow,
        on loop: EventLoop, holding reservation: consuming Reservation
    ) {
        owner = LoopBound(flow, to: loop)
        self.id = id
        self.call = call
        self.trace = trace
        arrived = flow.arrived
        cost = reservation.handOver()
        hasEnded = false
        flow.accept(id, call, cost)
    }

    /// A part of another request. It holds nothing, and has nothing to answer itself.
    init(partOf port: ReplyPort) {
        owner = port.owner
        id = port.id
        call = port.call
        trace = port.trace
        arrived = port.arrived
        cost = .none
        hasEnded = true
    }

    /// Takes the place of another port, which has nothing to answer from now on. On the loop's
    /// thread.
    init(replacing port: ReplyPort) {
        _ = port.flow
        owner = port.owner
        id = port.id
        call = port.call
        trace = port.trace
        arrived = port.arrived
        cost = port.cost
        hasEnded = port.hasEnded
        port.hasEnded = true
    }

    /// The connection of the request.
    final var flow: Flow { owner.value }

    /// Bytes of evidence and state.
    final var heldBytes: Int { cost.bytes }

    /// Whether it is answered, or dropped.
    var isEnded: Bool { hasEnded }

    /// Whether its client waits for the answer.
    final var isAwaited: Bool { flow.awaits(id) }

    /// Holds further memory, of evidence that has arrived now.
    final func hold(_ more: consuming Reservation) {
        let flow = flow
        arrived = flow.arrived
        let added = more.handOver()
        flow.inFlight.charge(added)
        cost.add(added)
    }

    /// What an answer with a result counts as.
    package enum Result {
        /// - Parameter began: when its verification began, in nanoseconds of the monotonic clock.
        case verified(Outcome, began: UInt64)
        case resolved(ResolveOutcome, AuditLine?)
        case fetched(AuditLine?)
    }

    /// Answers with a result, unless the request has ended. A request that was given up ends
    /// without an answer.
    ///
    /// - Parameters:
    ///   - now: nanoseconds of the monotonic clock; nil to read it.
    ///   - bytes: how many are appended; nil if that is not known before.
    final func answer(
        _ result: Result, at now: UInt64? = nil, bytes: Int? = nil,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        let flow = flow
        guard !flow.hasGivenUp(id) else { return refuse(nil) }
        end(flow) { caller in
            let now = now ?? flow.nanoseconds
            let telemetry = flow.telemetry
            switch result {
            case .verified(let outcome, let began):
                telemetry.didAnswer(outcome, arrived: arrived, began: began, now: now, trace)
                audit(outcome.line, flow)
            case .resolved(let outcome, let line):
                telemetry.didResolve(outcome, arrived: arrived, now: now, trace, of: subject)
                audit(line, flow)
            case .fetched(let line):
                telemetry.didFetch(arrived: arrived, now: now, trace, of: subject)
                audit(line, flow)
            }
            caller?.answer(to: id, bytes: bytes, appendResult)
        }
    }

    /// Answers without a result, unless the request has ended.
    ///
    /// - Parameter refusal: nil if the client does not wait for one.
    func refuse(_ refusal: ResponseHead?) {
        let flow = flow
        let refusal = flow.awaits(id) ? refusal : nil
        end(flow) { caller in
            flow.telemetry.didDrop(
                call, refusal, connection: flow.number, trace, arrived: arrived, of: subject)
            caller?.refuse(refusal?.naming(trace?.context))
        }
    }

    /// What it is about, for the audit log and its span; nil if no app entry is known.
    var subject: RequestSubject? { nil }

    /// Writes a line of the request into the audit log.
    final func audit(_ line: AuditLine?, _ flow: Flow) {
        flow.telemetry.audit(line, connection: flow.number, request: id, trace)
    }

    private final func end(_ flow: Flow, _ answer: ((any Caller)?) -> Void) {
        guard !hasEnded else { return }
        hasEnded = true
        flow.end(id, cost, answer)
    }

    deinit {
        guard !hasEnded else { return }
        let (id, call, cost, trace, arrived) = (id, call, cost, trace, arrived)
        owner.post { flow in
            let failure = ResponseHead.lost(id)
            flow.telemetry.didDrop(
                call, failure, connection: flow.number, trace, arrived: arrived, of: nil)
            flow.end(id, cost) { $0?.refuse(failure.naming(trace?.context)) }
        }
    }
}

/// The port of a request that is no job itself, or no longer one.
final class DecisionPort: ReplyPort, @unchecked Sendable {
    private let app: AppEntry
    private let kind: EvidenceKind?

    /// Accepts a request for a decision.
    init(
        _ call: CallLabel, _ id: UInt64, _ trace: RequestTrace?, of app: AppEntry,
        from flow: Flow, on loop: EventLoop, holding reservation: consuming Reservation
    ) {
        self.app = app
        kind = nil
        super.init(call, id, trace, from: flow, on: loop, holding: reservation)
    }

    /// Takes the place of a job that is verified, and answers later. On the loop's thread.
    init(replacing job: Job) {
        app = job.app
        kind = job.kind
        super.init(replacing: job)
    }

    override var subject: RequestSubject? { RequestSubject(app: app.name, kind: kind) }
}
