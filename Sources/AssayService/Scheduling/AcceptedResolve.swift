import Assay
import AssayEntitlements
import AssayIO
import AssayModels
import AssayTelemetry
package import AssayWire

/// A Resolve request that the server has accepted and will answer. Each of its items is verified
/// like a request of its own: in any order, and by any worker. Belongs to the loop's thread.
package final class AcceptedResolve {
    let port: ReplyPort
    package let admitted: AdmittedResolve
    /// In the order in which they came.
    private var verifications: [Verification] = []
    /// Of each item, the index of its verification; nil where it has none, also where the item
    /// has not arrived.
    private var indices: [Int?] = []

    init(_ admitted: AdmittedResolve, _ port: ReplyPort) {
        self.admitted = admitted
        self.port = port
    }

    package var id: UInt64 { admitted.id }

    /// Whether it is answered, or dropped. Its remaining items are not verified.
    package var isEnded: Bool { port.isEnded }

    /// Takes the verification of one item. Returns the complete work after the last one; nil
    /// while items are missing, or if the request has ended.
    func take(_ verification: Verification, of index: Int) -> ResolveWork? {
        guard !isEnded else { return nil }
        let count = admitted.call.items.count
        if verifications.isEmpty {
            indices = Array(repeating: nil, count: count)
            verifications.reserveCapacity(count)
        }
        precondition(indices[index] == nil, "an item is verified once")
        indices[index] = verifications.count
        verifications.append(verification)
        guard verifications.count == count else { return nil }
        defer { verifications = [] }
        return ResolveWork(
            admitted,
            indices.enumerated().map { item, index in
                EvidenceItem(verifications[index!], label: admitted.call.items[item].label)
            })
    }

    /// Ends the request without a result. Its items that still wait are not verified.
    ///
    /// - Parameter refusal: the answer; nil if the connection takes none.
    package func refuse(_ refusal: ResponseHead?) {
        verifications = []
        port.refuse(refusal)
    }
}

/// The slot of a request that is an item of a Resolve.
package struct ResolveSlot: Sendable {
    let resolve: LoopBound<AcceptedResolve>
    let index: Int
    /// Whether the kind is an estimate, and the verification detects it.
    let detectsKind: Bool
}

/// What the answer to a Resolve is computed from. Any thread can compute it.
package struct ResolveWork: Sendable {
    private let admitted: AdmittedResolve
    private let items: [EvidenceItem]

    init(_ admitted: AdmittedResolve, _ items: [EvidenceItem]) {
        self.admitted = admitted
        self.items = items
    }

    /// Decides what the customer owns, and encodes the answer.
    func answer(
        at now: Timestamp, by codec: MessageCodec, isAudited: Bool
    ) -> DecidedResolve {
        let call = admitted.call
        // Kinds that the verification detected.
        if let problem = call.problem(of: items.compactMap(\.verification.kind)) {
            return DecidedResolve(
                encoded: .refused(.invalidQuestion(admitted.id, problem)), outcome: .refused)
        }
        let entitlements = Entitlements(of: items, at: call.at ?? now, policy: call.policy)
        let answer = admitted.form.encode(
            entitlements, of: items, answering: admitted.id, call, at: now, by: codec)
        let outcome = ResolveOutcome(entitlements, items)
        let line =
            isAudited
            ? AuditLine(
                .resolve, app: admitted.app.name, outcome, items: items.count, entitlements,
                at: now) : nil
        return DecidedResolve(encoded: answer, outcome: outcome, line: line)
    }
}

/// What became of a Resolve.
package struct DecidedResolve: Sendable {
    let encoded: EncodedAnswer
    let outcome: ResolveOutcome
    /// Its line of the audit log; nil where that is off.
    var line: AuditLine?
}

extension ResolveOutcome {
    init(_ entitlements: Entitlements, _ items: [EvidenceItem]) {
        // A span has its elements read in place.
        let all = items.span
        let valid = all.indices.count { all[$0].verification.verdict == .valid }
        self =
            if entitlements.apps.contains(where: \.customers.isConflicting) {
                .conflict
            } else if valid == items.count {
                .valid
            } else {
                valid == 0 ? .refused : .partlyRefused
            }
    }
}
