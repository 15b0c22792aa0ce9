package import Assay
package import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// A pending verification: of a request, whose port it is, or of an item of a Resolve, which ends
/// with the Resolve. One object for both, because the batch and the threads that verify pass it on.
package final class Job: ReplyPort, @unchecked Sendable {
    let app: AppEntry
    let kind: EvidenceKind
    let call: VerifyCall
    let evidence: Evidence
    /// Milliseconds of the loop's clock after which the client no longer waits.
    let deadline: UInt64
    let work: WorkClass
    /// Whether it is served after requests without this flag, and is not rejected because of
    /// them.
    let mayWait: Bool
    /// How the answer is written.
    let form: any AnswerForm
    /// Its slot in a Resolve; nil for a request of its own.
    let slot: ResolveSlot?

    package enum Evidence: Sendable {
        /// Evidence in the receive buffer.
        case whole(SlabBytes)
        /// A receipt that was read as it arrived; only its end is left to do. Indirect, because it
        /// is large and would enlarge every job.
        indirect case receipt(AppReceiptStream)
        /// The beginning of evidence above the limit of its kind.
        indirect case oversized(OversizedEvidence)
    }

    /// Accepts a request.
    ///
    /// - Parameter size: bytes of the evidence.
    init(
        _ admitted: borrowing Admitted, _ evidence: Evidence, size: Int, from flow: Flow,
        on loop: EventLoop, holding reservation: consuming Reservation
    ) {
        app = admitted.app
        kind = admitted.kind
        call = admitted.call
        self.evidence = evidence
        deadline = admitted.deadline
        mayWait = admitted.mayWait
        form = admitted.form
        slot = nil
        work = WorkClass(admitted.kind, bytes: min(size, admitted.exceeded ?? size))
        super.init(
            .verify, admitted.id, form.trace, from: flow, on: loop, holding: reservation)
    }

    /// An item of a Resolve.
    ///
    /// - Parameter size: bytes of the evidence.
    init(
        _ slot: ResolveSlot, of resolve: AcceptedResolve, _ kind: EvidenceKind,
        _ evidence: Evidence, size: Int
    ) {
        let admitted = resolve.admitted
        app = admitted.app
        self.kind = kind
        call = admitted.itemCall(kind)
        self.evidence = evidence
        deadline = admitted.deadline
        mayWait = admitted.mayWait
        form = admitted.form
        self.slot = slot
        work = WorkClass(kind, bytes: size)
        super.init(partOf: resolve.port)
    }

    /// The same, whose evidence keeps no other bytes alive.
    private init(replacing job: Job, evidence: SlabBytes) {
        app = job.app
        kind = job.kind
        call = job.call
        self.evidence = .whole(evidence)
        deadline = job.deadline
        mayWait = job.mayWait
        form = job.form
        slot = job.slot
        work = job.work
        super.init(replacing: job)
    }

    /// Returns the job that replaces this one for a long wait: its evidence keeps no other bytes
    /// alive.
    func replacedForWaiting() -> Job {
        guard case .whole(let bytes) = evidence else { return self }
        return Job(replacing: self, evidence: bytes.forWaiting)
    }

    override var isEnded: Bool { slot.map { $0.resolve.value.isEnded } ?? super.isEnded }

    /// Answers without a verdict. A Resolve ends with the first of its items.
    override func refuse(_ refusal: ResponseHead?) {
        guard let slot else { return super.refuse(refusal) }
        slot.resolve.value.refuse(refusal)
    }

    /// Whether the kind is an estimate, and the verification detects it.
    var detectsKind: Bool { slot?.detectsKind ?? form.detectsKind }

    override var subject: RequestSubject? { RequestSubject(app: app.name, kind: kind) }

    /// The labels of its verification in the metrics, and its line of the audit log.
    ///
    /// - Parameter audit: nil where it is off.
    func outcome(
        _ verification: borrowing Verification, at now: Timestamp, _ audit: AuditLog?
    ) -> Outcome {
        let detected = detectsKind ? verification.kind : nil
        var outcome = Outcome(app: app.name, detected ?? kind, verification)
        if let audit {
            outcome.line = AuditLine(
                outcome, verification, item: slot?.index,
                audit.includesEvidence
                    ? auditEvidence(outcome.kind, verification.verdict) : nil, at: now)
        }
        return outcome
    }

    /// - Parameter detected: the kind that was found.
    private func auditEvidence(_ detected: EvidenceKind, _ verdict: Verdict) -> AuditEvidence {
        switch evidence {
        case .whole(let bytes): AuditEvidence(bytes.span, verdict, as: kind, detected)
        case .receipt, .oversized: .omitted(.size)
        }
    }

    /// Why the answer in the form of verifyReceipt has a status other than 0; nil for other
    /// answers.
    func refusedReceipt(_ verification: Verification, at now: Timestamp) -> String? {
        guard form.isVerifyReceipt(call) else { return nil }
        return verifyReceiptDetail(
            for: verification, isOfPath: form.isOfApple, requestDate: now)
    }
}
