import Assay
import AssayIO
import AssayModels
import AssayWire

/// Gathers the verifications of Resolve requests, has their answers computed, and delivers these.
///
/// Owns the count of answers that are being computed. Belongs to the loop's thread.
final class Resolver {
    private let context: ServerContext
    private let turns: Turns
    private let budget: Budget
    private let workers: WorkerPool
    private let codecs: IdleCodecs
    private var computing = 0

    init(
        _ context: ServerContext, _ turns: Turns, _ budget: Budget, workers: WorkerPool,
        codecs: IdleCodecs
    ) {
        self.context = context
        self.turns = turns
        self.budget = budget
        self.workers = workers
        self.codecs = codecs
    }

    /// Whether no answer is being computed.
    var isIdle: Bool { computing == 0 }

    // MARK: Items

    /// Starts a request whose items follow.
    func begin(_ admitted: AdmittedResolve, from connection: Connection) -> AcceptedResolve {
        context.telemetry.metrics.didStart(.resolve)
        let cost = RequestCost.call(admitted.call)
        budget.give(cost)
        connection.inFlight.insert(admitted.id, cost)
        let resolve = AcceptedResolve(admitted, from: connection)
        resolve.add(cost)
        return resolve
    }

    /// Makes the request that verifies an item, whose bytes are complete.
    ///
    /// - Returns: nil if the budget does not admit the item.
    func request(
        for evidence: SlabBytes, _ index: Int, of resolve: AcceptedResolve
    ) -> AcceptedRequest? {
        let cost = RequestCost.item(evidence.count, of: resolve.admitted.call)
        guard budget.admits(cost) else { return nil }
        budget.give(cost)
        return request(for: .whole(evidence), index, of: resolve, size: evidence.count, cost)
    }

    /// Makes the request that verifies an item: a receipt that was read as it arrived.
    ///
    /// - Returns: nil if the budget does not admit its answer.
    func request(
        for receipt: ArrivingReceipt, _ index: Int, of resolve: AcceptedResolve
    ) -> AcceptedRequest? {
        guard let cost = receipt.handOver() else { return nil }
        return request(
            for: .receipt(receipt.completed), index, of: resolve, size: receipt.size, cost)
    }

    private func request(
        for evidence: AcceptedEvidence, _ index: Int, of resolve: AcceptedResolve, size: Int,
        _ cost: RequestCost
    ) -> AcceptedRequest {
        let admitted = resolve.admitted
        resolve.add(cost)
        resolve.connection.inFlight.charge(cost)
        resolve.arrived = resolve.connection.arrived
        let kind: EvidenceKind =
            switch (admitted.call.items[index].kind, evidence) {
            case (.named(let kind), _): kind
            case (_, .receipt): .appReceipt
            case (_, .whole(let bytes)): Self.estimate(bytes)
            }
        return AcceptedRequest(
            connection: LoopBound(resolve.connection, to: context.loop), id: admitted.id,
            app: admitted.app, kind: kind, call: admitted.itemCall(kind), evidence: evidence,
            size: size, cost: .none, deadline: admitted.deadline, arrived: resolve.arrived,
            mayWait: admitted.mayWait, form: resolve.form,
            place: ResolvePlace(
                resolve: LoopBound(resolve, to: context.loop), index: index,
                detectsKind: admitted.call.items[index].kind == .detected))
    }

    /// The probable kind by the first bytes, for the estimate of its cost.
    private static func estimate(_ evidence: SlabBytes) -> EvidenceKind {
        if Verifier.beginsLikeAppReceipt(evidence.span) { return .appReceipt }
        let isJSON = evidence.count > 0 && evidence.span[0] == UInt8(ascii: "{")
        return isJSON ? .notification : .transaction
    }

    // MARK: Answers

    /// Takes the verification of an item. After the last one, has the answer computed.
    ///
    /// - Parameter began: when its verification began, in nanoseconds of the monotonic clock.
    func take(_ verification: Verification, of request: AcceptedRequest, began: UInt64) {
        guard let place = request.place else { preconditionFailure("not an item of a Resolve") }
        let outcome = Outcome(request.app, verification.kind ?? request.kind, verification)
        context.telemetry.metrics.didVerifyItem(outcome, arrived: request.arrived, began: began)
        let resolve = place.resolve.value
        guard let work = resolve.take(verification, of: place.index) else { return }
        let clock = context.fixed.clock
        guard isLarge(resolve) else {
            return deliver(codecs.lend { work.answer(at: clock(), by: $0) }, to: resolve)
        }
        computing += 1
        let (codecs, loop) = (codecs, context.loop)
        let mine = LoopBound((self, resolve), to: loop)
        workers.submit {
            let answer = codecs.lend { work.answer(at: clock(), by: $0) }
            loop.post {
                let (resolver, resolve) = mine.value
                resolver.computing -= 1
                resolver.deliver(answer, to: resolve)
            }
        }
    }

    /// Whether to compute the answer on a worker: the loop's thread has no time for it.
    private func isLarge(_ resolve: AcceptedResolve) -> Bool {
        resolve.admitted.call.items.count > ServerLimits.itemsDecidedInPlace
            || resolve.cost.bytes > context.limits.streamedReceiptBytes
    }

    private func deliver(
        _ answer: (EncodedAnswer, ResolveOutcome), to resolve: AcceptedResolve
    ) {
        let (answer, outcome) = answer
        switch answer {
        case .encoded(let bytes):
            guard resolve.end() else { return }
            context.telemetry.metrics.didResolve(
                outcome, arrived: resolve.arrived, now: SystemClock.monotonicNanoseconds)
            answered(resolve) { $0.append(bytes[...], to: resolve.id) }
        case .refused(let refusal): refuse(resolve, refusal)
        }
    }

    /// Ends a request without a result. Its items that still wait are not verified.
    ///
    /// - Parameter refusal: the answer; nil if the connection takes none.
    func refuse(_ resolve: AcceptedResolve, _ refusal: ResponseHead?) {
        guard resolve.end() else { return }
        let refusal = resolve.connection.isClosed ? nil : refusal
        context.telemetry.metrics.didDrop(.resolve, refusal)
        answered(resolve) { connection in
            if let refusal { connection.answer(refusal) }
        }
    }

    /// Gives the memory of a request back to the budget, and answers it.
    private func answered(_ resolve: AcceptedResolve, _ answer: (Connection) -> Void) {
        budget.takeBack(resolve.cost)
        resolve.connection.inFlight.remove(resolve.id, resolve.cost)
        answer(resolve.connection)
        turns.touch(resolve.connection)
    }
}
