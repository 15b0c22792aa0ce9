import Assay
import AssayIO
import AssayModels
import AssayWire

/// A Verify request that the server has accepted and will answer, or an item of a Resolve. A class,
/// because it is passed between the loop, the batch and a worker.
final class AcceptedRequest: Sendable {
    let connection: LoopBound<Connection>
    let id: UInt64
    let app: AppEntry
    let kind: EvidenceKind
    let call: VerifyCall
    let evidence: AcceptedEvidence
    /// Its share of the budget. The scheduler gives it back with the answer, no deinit: the last
    /// reference can end on a worker's thread, and the budget belongs to the loop's thread.
    let cost: RequestCost
    /// Milliseconds of the loop's clock after which the client no longer waits.
    let deadline: UInt64
    /// Nanoseconds of the monotonic clock at which its last bytes could have been read.
    let arrived: UInt64
    let work: WorkClass
    /// Whether it is served after requests without this flag, and is not rejected because of
    /// them.
    let mayWait: Bool
    /// Its place in a Resolve; nil for a request of its own.
    let place: ResolvePlace?
    /// How the answer is written.
    let form: any AnswerForm

    /// - Parameter size: bytes of the evidence.
    init(
        connection: LoopBound<Connection>, id: UInt64, app: AppEntry, kind: EvidenceKind,
        call: VerifyCall, evidence: AcceptedEvidence, size: Int, cost: RequestCost,
        deadline: UInt64, arrived: UInt64, mayWait: Bool, form: any AnswerForm,
        place: ResolvePlace? = nil
    ) {
        self.connection = connection
        self.id = id
        self.app = app
        self.kind = kind
        self.call = call
        self.evidence = evidence
        self.cost = cost
        self.deadline = deadline
        self.arrived = arrived
        self.mayWait = mayWait
        self.place = place
        self.form = form
        work = WorkClass(kind, bytes: size)
    }

    /// A copy for a long wait: its evidence keeps no other bytes alive.
    var forWaiting: AcceptedRequest {
        guard case .whole(let bytes) = evidence else { return self }
        return AcceptedRequest(
            connection: connection, id: id, app: app, kind: kind, call: call,
            evidence: .whole(bytes.forWaiting), size: bytes.count, cost: cost,
            deadline: deadline, arrived: arrived, mayWait: mayWait, form: form, place: place)
    }

    /// Whether the kind is an estimate, and the verification detects it.
    var detectsKind: Bool { place?.detectsKind ?? form.detectsKind }

    /// Why the answer in the form of verifyReceipt has a status other than 0; nil for other
    /// answers.
    func refusedReceipt(_ verification: Verification, at now: Timestamp) -> String? {
        guard form.isVerifyReceipt(call) else { return nil }
        return verifyReceiptDetail(for: verification, requestDate: now)
    }

    /// Whether verifying it takes less time than waking a worker.
    var hasKnownChain: Bool {
        guard case .whole(let evidence) = evidence else { return false }
        return app.verifier.hasKnownChain(evidence.span, as: kind)
    }

    /// Whether it needs at most one signature check: an unknown chain is deferred.
    var isSingleSignature: Bool {
        guard case .whole = evidence else { return false }
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .realtimeRequest: return true
        case .notification, .appReceipt, .transactionReceipt, .serverAnswer, .notificationV1:
            return false
        }
    }
}

/// The evidence of an accepted request.
enum AcceptedEvidence: Sendable {
    /// Evidence in the receive buffer.
    case whole(SlabBytes)
    /// A receipt that was read as it arrived; only its end is left to do. Indirect, because it is
    /// large and would enlarge every request.
    indirect case receipt(AppReceiptStream)
}

/// Maps requests to verifications.
enum RequestMapping {
    /// Prepares the verification of a request.
    static func prepare(
        _ request: AcceptedRequest, at now: Timestamp, unknownChains: UnknownChainPolicy
    ) -> PreparedVerification {
        switch request.evidence {
        case .whole(let evidence) where request.detectsKind:
            request.app.verifier.prepareDetectingKind(
                evidence.span, policy: request.app.policy,
                expecting: request.app.narrowed(request.call.expectations),
                inApp: request.call.inApp, at: now, unknownChains: unknownChains)
        case .whole(let evidence):
            request.app.verifier.prepare(
                evidence.span, as: request.kind, policy: request.app.policy,
                expecting: request.app.narrowed(request.call.expectations),
                inApp: request.call.inApp, at: now, unknownChains: unknownChains)
        case .receipt(let stream): stream.prepared(at: now, unknownChains: unknownChains)
        }
    }

    /// Verifies all signatures of a slice with one call per verifier. Each request is then
    /// decided or deferred.
    static func verify(
        _ slice: [AcceptedRequest], at now: Timestamp, unknownChains: UnknownChainPolicy
    ) -> [PreparedVerification] {
        let verifier = slice[0].app.verifier
        if slice.allSatisfy({ $0.app.verifier === verifier }) {
            return verify(slice, by: verifier, at: now, unknownChains)
        }
        var answers = [PreparedVerification?](repeating: nil, count: slice.count)
        var rest = Array(slice.indices)
        while let first = rest.first {
            let verifier = slice[first].app.verifier
            let mine = rest.filter { slice[$0].app.verifier === verifier }
            rest.removeAll { slice[$0].app.verifier === verifier }
            let verifications = verify(mine.map { slice[$0] }, by: verifier, at: now, unknownChains)
            for (index, verification) in zip(mine, verifications) { answers[index] = verification }
        }
        return answers.map { $0! }
    }

    private static func verify(
        _ slice: [AcceptedRequest], by verifier: Verifier, at now: Timestamp,
        _ unknownChains: UnknownChainPolicy
    ) -> [PreparedVerification] {
        var batch: [PreparedVerification] = []
        batch.reserveCapacity(slice.count)
        for request in slice {
            batch.append(prepare(request, at: now, unknownChains: unknownChains))
            // Each chain takes a fraction of a millisecond. The loop, which may wait for the same
            // processor, answers known chains in between.
            if case .validate = unknownChains { Thread.yield() }
        }
        verifier.verifySignatures(&batch)
        return batch
    }
}

extension VerifiedEvidence {
    /// The signed JSON as one object: `payload`, and beside it the parts of a notification.
    var json: [UInt8] {
        let members = payloadJSON
        // Longer than each name with its punctuation.
        var writer = JSONWriter(capacity: members.reduce(2) { $0 + $1.json.count + 24 })
        writer.object { object in
            for (name, json) in members { object.member(name, raw: json) }
        }
        return writer.text
    }
}
