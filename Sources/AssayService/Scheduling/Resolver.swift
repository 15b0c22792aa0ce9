import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Gathers the verifications of Resolve requests, has their answers computed, and delivers these.
///
/// Owns the count of answers that are being computed. Belongs to the loop's thread.
package final class Resolver {
    private let context: ServiceContext
    private let background: any Executor
    private let codecs: IdleCodecs
    private var computing = 0

    init(
        _ context: ServiceContext, background: any Executor, codecs: IdleCodecs
    ) {
        self.context = context
        self.background = background
        self.codecs = codecs
    }

    /// Whether no answer is being computed.
    var isIdle: Bool { computing == 0 }

    // MARK: Items

    /// Starts a request whose items follow.
    func begin(_ admitted: AdmittedResolve, from flow: Flow) -> AcceptedResolve {
        let reservation = Reservation(.call(admitted.call), for: flow.peer)
        let port = DecisionPort(
            .resolve, admitted.id, admitted.form.trace, of: admitted.app, from: flow,
            on: context.loop, holding: reservation)
        return AcceptedResolve(admitted, port)
    }

    /// Makes the job that verifies an item, whose bytes are complete.
    ///
    /// - Returns: nil if memory does not admit the item.
    func job(for evidence: SlabBytes, _ index: Int, of resolve: AcceptedResolve) -> Job? {
        let cost = RequestCost.item(evidence.count, of: resolve.admitted.call)
        let peer = resolve.port.flow.peer
        guard peer.admits(cost) else { return nil }
        let reservation = Reservation(cost, for: peer)
        return job(for: .whole(evidence), index, of: resolve, size: evidence.count, reservation)
    }

    /// Makes the job that verifies an item: a receipt that was read as it arrived.
    ///
    /// - Returns: nil if memory does not admit its answer.
    func job(for receipt: ArrivingReceipt, _ index: Int, of resolve: AcceptedResolve)
        -> Job?
    {
        guard let reservation = receipt.handOver() else { return nil }
        return job(
            for: receipt.completed, index, of: resolve, size: receipt.size, reservation)
    }

    private func job(
        for evidence: Job.Evidence, _ index: Int, of resolve: AcceptedResolve, size: Int,
        _ reservation: consuming Reservation
    ) -> Job {
        let admitted = resolve.admitted
        resolve.port.hold(reservation)
        let kind: EvidenceKind =
            switch (admitted.call.items[index].kind, evidence) {
            case (.named(let kind), _): kind
            case (_, .receipt): .appReceipt
            case (_, .whole(let bytes)): Verifier.estimatedKind(of: bytes.span)
            case (_, .oversized): .transaction
            }
        let slot = ResolveSlot(
            resolve: LoopBound(resolve, to: context.loop), index: index,
            detectsKind: admitted.call.items[index].kind == .detected)
        return Job(slot, of: resolve, kind, evidence, size: size)
    }

    // MARK: Answers

    /// Takes the decision on an item, which the loop's own thread has made.
    func take(_ decision: Decision, of job: Job, at time: Timestamp, began: UInt64) {
        let outcome = job.outcome(decision.verification, at: time, context.telemetry.audit)
        take(decision, outcome, of: job, began: began)
    }

    /// Takes the decision on an item. After the last one, has the answer computed.
    ///
    /// - Parameters:
    ///   - outcome: its labels, and its line of the audit log.
    ///   - began: when its verification began, in nanoseconds of the monotonic clock.
    func take(_ decision: Decision, _ outcome: Outcome, of job: Job, began: UInt64) {
        guard let slot = job.slot else { preconditionFailure("not an item of a Resolve") }
        context.telemetry.didVerifyItem(outcome, arrived: job.arrived, began: began)
        job.audit(outcome.line, job.flow)
        let resolve = slot.resolve.value
        guard let work = resolve.take(decision, of: slot.index) else { return }
        let clock = context.clock
        let isAudited = context.telemetry.audit != nil
        guard isLarge(resolve) else {
            let answer = codecs.lend { work.answer(at: clock(), by: $0, isAudited: isAudited) }
            return deliver(answer, to: resolve)
        }
        computing += 1
        let (codecs, loop) = (codecs, context.loop)
        let mine = LoopBound((self, resolve), to: loop)
        background.submit {
            let answer = codecs.lend { work.answer(at: clock(), by: $0, isAudited: isAudited) }
            loop.post {
                let (resolver, resolve) = mine.value
                resolver.computing -= 1
                resolver.deliver(answer, to: resolve)
            }
        }
    }

    /// Whether to compute the answer on a background thread: the loop's thread has no time for it.
    private func isLarge(_ resolve: AcceptedResolve) -> Bool {
        resolve.admitted.call.items.count > ServerLimits.itemsDecidedInPlace
            || resolve.port.heldBytes > context.limits.streamedReceiptBytes
    }

    private func deliver(_ answer: DecidedResolve, to resolve: AcceptedResolve) {
        switch answer.encoded {
        case .encoded(let bytes):
            let result = ReplyPort.Result.resolved(answer.outcome, answer.line)
            resolve.port.answer(result, bytes: bytes.count) { $0 += bytes }
        case .refused(let refusal): resolve.refuse(refusal)
        }
    }
}
