import Assay
package import AssayIO
package import AssayModels
import AssayTelemetry
package import AssayWire

/// What a worker does for its connections: takes the requests that they read, has each admitted,
/// and then verified, decided or fetched, or answers it. It knows no protocol, and knows a
/// connection only as a `Flow`. Belongs to the loop's thread.
package final class Service {
    private let context: ServiceContext
    private let admission: Admission
    private let scheduler: Scheduler
    private let resolver: Resolver

    package init(_ context: ServiceContext, _ admission: Admission, _ scheduler: Scheduler) {
        self.context = context
        self.admission = admission
        self.scheduler = scheduler
        resolver = scheduler.resolver
    }

    // MARK: What can be asked

    /// Whether the server accepts requests, and verifies them in time.
    package var isServing: Bool { admission.isServing }

    package func app(named name: String) -> AppEntry? { admission.app(named: name) }

    package func bodyLimit(of kind: EvidenceKind) -> Int { admission.bodyLimit(of: kind) }

    /// The rejection of any Verify request that a connection has sent; nil if some are admitted.
    package func refusalWithoutDecoding(of flow: Flow) -> PreparedRefusals.Refusal? {
        admission.refusalWithoutDecoding(of: flow)
    }

    /// The refusal of new work while the server drains; nil if it takes some.
    package func drainRefusal(_ id: UInt64, from flow: Flow) -> ResponseHead? {
        admission.drainRefusal(id, from: flow)
    }

    /// Nanoseconds in which the loop's thread has verified requests, in its current quota of work.
    package var worked: UInt64 { scheduler.loopQuota.worked }

    // MARK: Connections

    /// Counts a read of a connection's socket.
    package func didRead() { scheduler.didRead() }

    /// Notes that the peer of a connection has ended its writing.
    package func peerDidEnd(of flow: Flow) {
        scheduler.fetches.peerDidEnd(of: flow)
        if flow.hasClientLeft { scheduler.fetches.cancel(of: flow) }
    }

    /// Drops the requests of a connection that has closed.
    package func didClose(_ flow: Flow) { scheduler.didClose(flow) }

    /// Drops the requests with these ids that are in flight: their client has given them up.
    package func cancel(_ ids: [UInt64], of flow: Flow) { scheduler.cancel(ids, of: flow) }

    // MARK: Requests

    /// What becomes of a request whose body is arriving.
    package enum Beginning {
        /// It is refused, and answered.
        case refused
        /// The receipt is verified as it arrives.
        case receipt(ArrivingReceipt)
        /// Its items are verified as they arrive.
        case resolve(AcceptedResolve)
        /// It is taken when it is whole, and decided then: the queue and the memory will have
        /// changed.
        case whole
    }

    /// Decides what happens to a request whose body is arriving.
    ///
    /// - Parameters:
    ///   - bodyBytes: by which it is admitted.
    ///   - size: the size of a receipt in its envelope; 0 if it is not known.
    ///   - detectsKind: whether the kind is an estimate.
    package func begin(
        _ request: borrowing Request, bodyBytes: Int, size: Int,
        in envelope: (any Envelope)? = nil, detectsKind: Bool = false, from flow: Flow
    ) -> Beginning {
        switch admission.admit(request, bodyBytes: bodyBytes, isWhole: false, from: flow) {
        case .refused(let refusal):
            answer(request, with: refusal, from: flow)
            return .refused
        case .verify(let admitted):
            guard admitted.isStreamed else { return .whole }
            flow.inFlight.insert(admitted.id)
            return .receipt(
                ArrivingReceipt(
                    admitted, size: size, in: envelope, detectsKind: detectsKind, at: context.now))
        case .resolve(let admitted): return .resolve(resolver.begin(admitted, from: flow))
        case .answer: return .whole
        case .fetch: return .whole
        case .identify: return .whole
        }
    }

    /// Takes a request that has arrived whole.
    package func take(_ request: consuming Request, _ body: SlabBytes, from flow: Flow) {
        switch admission.admit(request, bodyBytes: body.count, isWhole: true, from: flow) {
        case .refused(let head): answer(request, with: head, from: flow)
        case .answer(let head): answer(request, with: head, from: flow)
        case .verify(let admitted): scheduler.verify(admitted, body, from: flow)
        case .resolve(let admitted): take(admitted, body, from: flow)
        case .fetch(let admitted): scheduler.fetches.start(admitted, from: flow)
        case .identify: identify(request, by: body, from: flow)
        }
    }

    /// Finds the transaction that the evidence of a Fetch names, and takes the request again. What
    /// the App Store answers about it is verified; the evidence is not.
    private func identify(
        _ request: consuming Request, by evidence: SlabBytes, from flow: Flow
    ) {
        guard evidence.count > ServerLimits.bytesParsedInPlace else {
            flow.pay(for: .json(evidence.span))
            return take(
                request, of: Inspection.transactionId(of: evidence.span), evidence, from: flow)
        }
        let none = evidence.extracting(0..<0)
        let (head, form, began) = (request.head, request.form, request.began)
        let mine = LoopBound(
            { id in
                self.take(Request(head, as: form, began: began), of: id, none, from: flow)
            }, to: context.loop)
        parse(
            ParseJob(of: flow, id: head.id, form.trace, bytes: evidence.count) {
                let id = Inspection.transactionId(of: evidence.span)
                return { mine.value(id) }
            })
    }

    /// Takes a Fetch whose transaction was found; nil if the evidence names none.
    private func take(
        _ request: consuming Request, of transactionId: String?, _ body: SlabBytes, from flow: Flow
    ) {
        guard case .fetch(var call) = request.head.call, let transactionId else {
            return answer(request, with: .noTransactionInEvidence(request.head.id), from: flow)
        }
        call.transactionId = transactionId
        request.head.call = .fetch(call)
        take(request, body.extracting(0..<0), from: flow)
    }

    /// Answers a call that has no body.
    package func answer(_ request: borrowing Request, from flow: Flow) {
        switch admission.admit(request, bodyBytes: 0, isWhole: true, from: flow) {
        case .refused(let head): answer(request, with: head, from: flow)
        case .answer(let head): answer(request, with: head, from: flow)
        case .verify: break
        case .resolve: break
        case .fetch: break
        case .identify: break
        }
    }

    private func answer(
        _ request: borrowing Request, with head: ResponseHead, from flow: Flow
    ) {
        flow.answerAtOnce(CallLabel(request.head.call), head, of: request.form.trace)
    }

    /// Has a body parsed on a background thread, before its request is taken.
    package func parse(_ job: ParseJob) { scheduler.parses.add(job) }

    // MARK: Receipts

    /// Has a receipt verified whose last byte was read, or refuses it for lack of memory.
    package func complete(_ receipt: ArrivingReceipt, from flow: Flow) {
        guard !scheduler.verify(receipt, from: flow) else { return }
        flow.inFlight.remove(receipt.id)
        flow.answerAtOnce(.verify, .memoryExhausted(receipt.id), of: receipt.form.trace)
    }

    /// Refuses a receipt for which there is no memory.
    package func refuse(_ receipt: ArrivingReceipt, from flow: Flow) {
        let canFit = flow.peer.canFit(receipt: receipt.wanted)
        drop(receipt, from: flow)
        flow.answerAtOnce(
            .verify, .memoryExhausted(receipt.id, canFit: canFit), of: receipt.form.trace)
    }

    /// Drops a receipt, whose request is not in flight any more.
    package func drop(_ receipt: ArrivingReceipt, from flow: Flow) {
        flow.inFlight.remove(receipt.id)
        receipt.giveBackMemory()
    }

    // MARK: Items of a Resolve

    /// Takes all items of a request that has arrived whole.
    private func take(_ admitted: AdmittedResolve, _ body: SlabBytes, from flow: Flow) {
        let resolve = resolver.begin(admitted, from: flow)
        var start = 0
        for (index, item) in admitted.call.items.enumerated() {
            let end = start + Int(item.length)
            guard verify(body.extracting(start..<end), index, of: resolve) else {
                return refuseForMemory(resolve)
            }
            start = end
        }
        // The request itself was counted.
        flow.pay(for: .requests(admitted.call.items.count - 1))
    }

    /// Has an item verified. Returns false if there is no memory for it.
    package func verify(_ evidence: SlabBytes, _ index: Int, of resolve: AcceptedResolve) -> Bool {
        let evidence = scheduler.forQueue(evidence)
        guard let job = resolver.job(for: evidence, index, of: resolve) else { return false }
        scheduler.verify(job)
        return true
    }

    /// Begins to verify an item, a receipt, as it arrives.
    package func beginReceipt(size: Int, of resolve: AcceptedResolve) -> ArrivingReceipt {
        ArrivingReceipt(
            resolve.admitted.receipt(for: resolve.port.flow.peer), size: size, at: context.now)
    }

    /// Has an item verified, a receipt whose last byte was read. Returns false if there is no
    /// memory for it.
    package func complete(_ receipt: ArrivingReceipt, _ index: Int, of resolve: AcceptedResolve)
        -> Bool
    {
        guard let job = resolver.job(for: receipt, index, of: resolve) else { return false }
        scheduler.verify(job)
        return true
    }

    /// Ends a request for lack of memory.
    package func refuseForMemory(_ resolve: AcceptedResolve) {
        let canFit = resolve.port.flow.peer.canFit(.whole(resolve.admitted.call))
        resolve.refuse(.memoryExhausted(resolve.id, canFit: canFit))
    }
}
