import Assay
import AssayIO
import AssayModels
import AssayTelemetry
package import AssayWire

/// Decides which requests are verified and which are rejected, and answers those that need no
/// verification. Owns the prepared refusals. Belongs to the loop's thread.
package final class Admission {
    private let context: ServiceContext
    private let budget: Budget
    private let scheduler: Scheduler
    private let codec: MessageCodec
    private var refusals = PreparedRefusals()
    /// Cached, because many requests name no app.
    private var defaultApp: AppEntry?
    /// Whether the last request was refused for the queue's delay or for a full connection. The
    /// next ones are probably refused as well; before, none is asked about twice.
    private var isRefusing = false

    package init(
        _ context: ServiceContext, _ budget: Budget, _ scheduler: Scheduler, _ codec: MessageCodec
    ) {
        self.context = context
        self.budget = budget
        self.scheduler = scheduler
        self.codec = codec
        settingsDidChange()
    }

    /// Applies the settings of a reload to later requests.
    package func settingsDidChange() {
        defaultApp = context.settings.defaultApp.flatMap { context.apps[$0] }
    }

    private var limits: ServerLimits { context.limits }

    /// The rejection, by the rules of `admit`, of any Verify request that the connection has sent,
    /// if the last request was rejected, and the delay still exceeds the limit or the connection is
    /// full. It needs no decoded head: rejections take time from accepted requests, so they have to
    /// be cheap.
    func refusalWithoutDecoding(of flow: Flow) -> PreparedRefusals.Refusal? {
        guard isRefusing, !context.phase.isDraining else { return nil }
        if let delay = scheduler.excessiveDelay(of: flow, before: .max) {
            return refusals.refusal(.overloaded(retryAfter: Self.rounded(delay)), by: codec)
        }
        isRefusing = flow.isFull(limits.requestsInFlight)
        guard isRefusing else { return nil }
        return refusals.refusal(.tooManyInFlight(limit: limits.requestsInFlight), by: codec)
    }

    // MARK: Requests

    /// Decides what happens to a request. Nothing is counted or answered here.
    ///
    /// Evidence above the limit of its kind is not read: its first bytes name it, and it gets the
    /// verdict that it gets below the limit. The limit of a frame holds for all.
    ///
    /// - Parameter isWhole: whether the body has arrived. If not, a large receipt is verified as
    ///   it arrives.
    func admit(
        _ request: borrowing Request, bodyBytes: Int, isWhole: Bool, from flow: Flow
    ) -> AdmissionDecision {
        let head = request.head
        guard head.id != ResponseHead.connectionId else { return .refused(.reservedId) }
        guard !flow.inFlight.contains(head.id) else { return .refused(.duplicate(head.id)) }
        do throws(EmptyExpectation) { try head.call.requireExpectedValues() } catch {
            return .refused(.emptyExpectation(head.id, error))
        }
        switch head.call {
        case .verify, .resolve, .fetch:
            if let refusal = drainRefusal(head.id, from: flow) { return .refused(refusal) }
        case .health, .info, .ping, .unknown: break
        }
        if case .resolve(let call) = head.call {
            return admit(call, of: request, bodyBytes: bodyBytes, from: flow)
        }
        if case .fetch(let call) = head.call {
            return admit(call, of: request, bodyBytes: bodyBytes, from: flow)
        }
        guard case .verify(let call) = head.call else {
            return answer(to: head, bodyBytes: bodyBytes, from: flow)
        }
        guard let kind = call.kind else { return .refused(.unknownKind(head.id)) }
        guard !call.expectations.hasTooManyDevices else {
            return .refused(.tooManyDevices(head.id))
        }
        if let problem = problem(of: call, kind, detectsKind: request.form.detectsKind) {
            return .refused(.invalidQuestion(head.id, problem))
        }
        guard let app = app(named: head.app) else {
            return .refused(.unknownApp(head.id, isNamed: !head.app.isEmpty))
        }
        guard bodyBytes <= limits.frameBytes else {
            return .refused(.evidenceTooLarge(head.id, limit: limits.frameBytes))
        }
        let limit = bodyLimit(of: kind)
        let isOversized = bodyBytes > limit
        let isLarge =
            isOversized || kind == .appReceipt && bodyBytes > limits.streamedReceiptBytes
        // A declared size reserves no memory: a receipt has to fit slice by slice as it arrives.
        let bytes = isLarge ? ServerLimits.receiptSliceBytes : bodyBytes
        let (cost, peer) = (RequestCost.whole(bodyBytes, call), flow.peer)
        guard isLarge ? peer.admits(receipt: bytes) : peer.admits(cost) else {
            let canFit = isLarge || peer.canFit(cost)
            return .refused(.memoryExhausted(head.id, canFit: canFit))
        }
        let deadline = deadline(of: head, began: request.began)
        let work = scheduler.nanoseconds(of: WorkClass(kind, bytes: min(bodyBytes, limit)))
        if let refusal = refusal(of: head, bytes, before: deadline, work: work, from: flow) {
            return .refused(refusal)
        }
        let isStreamed = isLarge && !isWhole
        return .verify(
            Admitted(
                id: head.id, app: app, kind: kind, call: call, form: request.form,
                deadline: deadline,
                mayWait: head.mayWait, isStreamed: isStreamed,
                exceeded: isOversized ? limit : nil,
                reservation: Reservation(isStreamed ? .none : cost, for: peer)))
    }

    /// The refusal of new work while the server drains; nil if it takes some.
    func drainRefusal(_ id: UInt64, from flow: Flow) -> ResponseHead? {
        context.phase.isDraining && !flow.acceptsWhileDraining ? .unavailable(id) : nil
    }

    /// What is wrong with a question about one item; nil if nothing is.
    ///
    /// - Parameter detectsKind: whether the kind is an estimate, which is known when the evidence
    ///   is verified.
    private func problem(
        of call: VerifyCall, _ kind: EvidenceKind, detectsKind: Bool
    ) -> String? {
        guard call.expectations != .none else { return nil }
        return call.expectations.problem(of: detectsKind ? [] : [kind])
    }

    /// Decides what happens to a Resolve request, before any of its items is taken.
    private func admit(
        _ call: ResolveCall, of request: borrowing Request, bodyBytes: Int, from flow: Flow
    ) -> AdmissionDecision {
        let head = request.head
        let count = call.items.count
        guard count <= limits.resolveItems else {
            return .refused(.tooManyItems(head.id, count, limit: limits.resolveItems))
        }
        guard count > 0 else { return .refused(.noItems(head.id)) }
        guard !call.expectations.hasTooManyDevices else {
            return .refused(.tooManyDevices(head.id))
        }
        guard !call.items.contains(where: \.kind.isUnknown) else {
            return .refused(.unknownKind(head.id))
        }
        if let problem = call.problem(of: call.namedKinds) {
            return .refused(.invalidQuestion(head.id, problem))
        }
        if let empty = call.items.firstIndex(where: { $0.length == 0 }) {
            return .refused(.emptyItem(head.id, empty))
        }
        guard call.evidenceBytes == bodyBytes else {
            return .refused(.wrongLengths(head.id, call.evidenceBytes, bodyBytes: bodyBytes))
        }
        guard let entry = app(named: head.app) else {
            return .refused(.unknownApp(head.id, isNamed: !head.app.isEmpty))
        }
        let cost = RequestCost.whole(call)
        guard flow.peer.admits(cost) else {
            let canFit = flow.peer.canFit(cost)
            return .refused(.memoryExhausted(head.id, canFit: canFit))
        }
        let deadline = deadline(of: head, began: request.began)
        let work = scheduler.nanoseconds(of: WorkLoad.items(of: call))
        let refusal = refusal(
            of: head, cost.bytes, before: deadline, work: work, from: flow)
        if let refusal { return .refused(refusal) }
        return .resolve(
            AdmittedResolve(
                id: head.id, app: entry, call: call, form: request.form, deadline: deadline,
                mayWait: head.mayWait))
    }

    /// Decides what happens to a Fetch request. It has a slot and memory of its own, and takes
    /// neither a worker nor a part of the queue.
    private func admit(
        _ call: FetchCall, of request: borrowing Request, bodyBytes: Int, from flow: Flow
    ) -> AdmissionDecision {
        let head = request.head
        let evidenceLimit = ServerLimits.fetchEvidenceBytes
        guard bodyBytes <= evidenceLimit else {
            return .refused(.bodyTooLarge(head.id, bodyBytes, limit: evidenceLimit))
        }
        guard let app = app(named: head.app) else {
            return .refused(.unknownApp(head.id, isNamed: !head.app.isEmpty))
        }
        guard let fetcher = app.fetcher else { return .refused(.fetchNotConfigured(head.id)) }
        let hasEvidence = bodyBytes > 0
        guard call.transactionId.isEmpty == hasEvidence else {
            return .refused(hasEvidence ? .idBesideEvidence(head.id) : .noTransaction(head.id))
        }
        if !hasEvidence, let problem = EvidenceForm.problem(withTransactionId: call.transactionId) {
            return .refused(.notTransaction(head.id, problem))
        }
        if let problem = call.problem {
            return .refused(.invalidQuestion(head.id, problem))
        }
        let isKnown = call.lists.allSatisfy { $0 == .statuses || $0 == .history }
        guard isKnown else { return .refused(.unknownList(head.id)) }
        if flow.isFull(limits.requestsInFlight) {
            return .refused(.tooManyInFlight(head.id, limit: limits.requestsInFlight))
        }
        guard !flow.hasClientLeft else { return .refused(.fetchAbandoned(head.id)) }
        guard scheduler.fetches.admits(from: flow) else {
            return .refused(.tooManyFetches(head.id, limit: limits.fetches))
        }
        guard scheduler.fetches.hasMemory(for: flow.peer) else {
            return .refused(.memoryExhausted(head.id, canFit: scheduler.fetches.canFit))
        }
        guard !hasEvidence else { return .identify }
        let timeout =
            head.timeoutMilliseconds == 0
            ? limits.fetchTimeoutMilliseconds
            : min(head.timeoutMilliseconds, limits.longestFetchTimeoutMilliseconds)
        return .fetch(
            AdmittedFetch(
                id: head.id, app: app, fetcher: fetcher, call: call, form: request.form,
                deadline: request.began + UInt64(timeout)))
    }

    /// The reason to reject a valid request for lack of memory, slots or time, or nil to accept it.
    ///
    /// - Parameter work: the request's own nanoseconds.
    private func refusal(
        of head: RequestHead, _ bytes: Int, before deadline: UInt64, work: Double,
        from flow: Flow
    ) -> ResponseHead? {
        if head.mayWait {
            // Not rejected for the queue's delay, it leaves half of the memory to other requests.
            let fits = budget.held + bytes <= max(limits.evidenceBytes / 2, bytes)
            return fits ? nil : .memoryExhausted(head.id)
        }
        isRefusing = flow.isFull(limits.requestsInFlight)
        guard !isRefusing else {
            return .tooManyInFlight(head.id, limit: limits.requestsInFlight)
        }
        // Rejected while that is still cheap.
        let delay = scheduler.excessiveDelay(of: flow, before: deadline, work: work)
        isRefusing = delay != nil
        return delay.map { .overloaded(head.id, retryAfter: Self.rounded($0)) }
    }

    /// Rounds a delay up, so that one prepared answer serves many requests.
    private static func rounded(_ delay: UInt64) -> UInt32 {
        let step = UInt64(ResponseHead.retryMilliseconds)
        return UInt32(clamping: (delay + step - 1) / step * step)
    }

    /// The deadline of a request, which counts from the first byte of its frame.
    private func deadline(of head: RequestHead, began: UInt64) -> UInt64 {
        let timeout =
            head.timeoutMilliseconds == 0
            ? limits.defaultTimeoutMilliseconds
            : min(head.timeoutMilliseconds, limits.longestTimeoutMilliseconds)
        return began + UInt64(timeout)
    }

    /// Finds an app entry by the octets of its name: a dictionary of strings also matches names
    /// that are canonically equivalent in Unicode.
    func app(named name: String) -> AppEntry? {
        guard !name.isEmpty else { return defaultApp }
        let apps = context.apps
        guard let index = apps.index(forKey: name), apps[index].key.utf8.elementsEqual(name.utf8)
        else { return nil }
        return apps[index].value
    }

    func bodyLimit(of kind: EvidenceKind) -> Int {
        switch kind.size {
        case .jws, .transactionReceipt: limits.jwsBytes
        case .notification, .purchase, .push: limits.notificationBytes
        case .serverAnswer: limits.serverAnswerBytes
        case .notificationV1: limits.notificationV1Bytes
        case .stream: limits.frameBytes
        }
    }

    // MARK: Calls without evidence

    /// Whether the server accepts requests, and verifies them in time.
    var isServing: Bool { context.phase.isReady && !scheduler.isStalled }

    /// Answers a call that needs no verification. An unexpected body is tolerated up to the JWS
    /// limit.
    private func answer(
        to head: RequestHead, bodyBytes: Int, from flow: Flow
    ) -> AdmissionDecision {
        if case .unknown = head.call { return .refused(.unknownCall(head.id)) }
        guard bodyBytes <= limits.jwsBytes else {
            return .refused(.bodyTooLarge(head.id, bodyBytes, limit: limits.jwsBytes))
        }
        switch head.call {
        case .health:
            return .answer(ResponseHead(id: head.id, result: .health(serving: isServing)))
        case .info where !flow.peer.admits(answer: Self.infoBytes):
            return .refused(.memoryExhausted(head.id))
        case .info: return .answer(ResponseHead(id: head.id, result: .info(information)))
        case .ping: return .answer(ResponseHead(id: head.id, result: .pong))
        case .verify, .resolve, .fetch, .unknown: return .refused(.unknownCall(head.id))
        }
    }

    /// Bytes of an answer to Info: the protocol's text, and a few hundred roots.
    private static let infoBytes = protoText.utf8.count + (16 << 10)

    private var information: ServerInfo {
        let app = defaultApp ?? context.apps.values.first
        return ServerInfo(
            version: context.settings.version, kinds: EvidenceKind.allCases,
            limits: ServerInfo.Limits(
                frameBytes: UInt32(limits.frameBytes), headBytes: UInt32(limits.headBytes),
                jwsBytes: UInt32(limits.jwsBytes),
                notificationBytes: UInt32(limits.notificationBytes),
                requestsInFlight: UInt32(limits.requestsInFlight),
                serverAnswerBytes: UInt32(limits.serverAnswerBytes),
                notificationV1Bytes: UInt32(limits.notificationV1Bytes),
                resolveItems: UInt32(limits.resolveItems)),
            trustedRoots: (app?.verifier.trust.anchors ?? []).map { anchor in
                ServerInfo.TrustedRoot(
                    name: anchor.name, fingerprint: anchor.fingerprint,
                    notAfter: anchor.notAfter, development: anchor.development)
            },
            proto: protoText, engine: app?.verifier.engine.current.rawValue ?? "")
    }
}

extension ResolveCall {
    /// What is wrong with the question; nil if nothing is.
    ///
    /// - Parameter kinds: of the items, as far as they are known.
    func problem(of kinds: [EvidenceKind]) -> String? {
        at?.problem(as: "at") ?? policy.problem(of: kinds) ?? expectations.problem(of: kinds)
    }

    fileprivate var namedKinds: [EvidenceKind] {
        items.compactMap { if case .named(let kind) = $0.kind { kind } else { nil } }
    }
}

extension FetchCall {
    /// What is wrong with the question; nil if nothing is.
    fileprivate var problem: String? {
        at?.problem(as: "at") ?? policy.problem(of: [.serverAnswer])
    }
}

extension Expectations {
    /// Each device costs a hash for each receipt.
    fileprivate var hasTooManyDevices: Bool {
        otherDeviceIdentifiers.count > Self.otherDeviceLimit
    }
}
