package import Assay
package import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// A pending verification: of a request, or of an item of a Resolve. A class, because the batch and
/// the threads that verify pass it on.
package final class Job: Sendable {
    /// Where the answer goes; the port of the whole Resolve for an item of it.
    let port: LoopBound<ReplyPort>
    let id: UInt64
    let app: AppEntry
    let kind: EvidenceKind
    let call: VerifyCall
    let evidence: Evidence
    /// Milliseconds of the loop's clock after which the client no longer waits.
    let deadline: UInt64
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read.
    let arrived: UInt64
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

    /// - Parameter size: bytes of the evidence.
    init(
        _ port: ReplyPort, app: AppEntry, kind: EvidenceKind, call: VerifyCall,
        evidence: Evidence, size: Int, deadline: UInt64, mayWait: Bool, form: any AnswerForm,
        slot: ResolveSlot? = nil, on loop: EventLoop
    ) {
        self.port = LoopBound(port, to: loop)
        id = port.id
        arrived = port.arrived
        self.app = app
        self.kind = kind
        self.call = call
        self.evidence = evidence
        self.deadline = deadline
        self.mayWait = mayWait
        self.form = form
        self.slot = slot
        work = WorkClass(kind, bytes: size)
    }

    /// The same, whose evidence keeps no other bytes alive.
    private init(_ job: Job, evidence: SlabBytes) {
        port = job.port
        id = job.id
        arrived = job.arrived
        app = job.app
        kind = job.kind
        call = job.call
        self.evidence = .whole(evidence)
        deadline = job.deadline
        mayWait = job.mayWait
        form = job.form
        slot = job.slot
        work = job.work
    }

    /// A copy for a long wait: its evidence keeps no other bytes alive.
    var forWaiting: Job {
        guard case .whole(let bytes) = evidence else { return self }
        return Job(self, evidence: bytes.forWaiting)
    }

    /// Whether the kind is an estimate, and the verification detects it.
    var detectsKind: Bool { slot?.detectsKind ?? form.detectsKind }

    /// The labels of its verification in the metrics.
    func outcome(_ verification: borrowing Verification) -> Outcome {
        let detected = detectsKind ? verification.kind : nil
        return Outcome(app: app.name, detected ?? kind, verification)
    }

    /// Why the answer in the form of verifyReceipt has a status other than 0; nil for other
    /// answers.
    func refusedReceipt(_ verification: Verification, at now: Timestamp) -> String? {
        guard form.isVerifyReceipt(call) else { return nil }
        return verifyReceiptDetail(
            for: verification, isOfPath: form.isOfApple, requestDate: now)
    }
}
