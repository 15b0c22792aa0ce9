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
    /// Of each item; nil where it is not verified yet. Empty before the first.
    private var decisions: [Decision?] = []
    private var decided = 0

    init(_ admitted: AdmittedResolve, _ port: ReplyPort) {
        self.admitted = admitted
        self.port = port
    }

    package var id: UInt64 { admitted.id }

    /// Whether it is answered, or dropped. Its remaining items are not verified.
    package var isEnded: Bool { port.isEnded }

    /// Takes the decision on one item. Returns the complete work after the last one; nil while
    /// items are missing, or if the request has ended.
    func take(_ decision: Decision, of index: Int) -> ResolveWork? {
        guard !isEnded else { return nil }
        let count = admitted.call.items.count
        if decisions.isEmpty { decisions = Array(repeating: nil, count: count) }
        precondition(decisions[index] == nil, "an item is verified once")
        decisions[index] = decision
        decided += 1
        guard decided == count else { return nil }
        defer { decisions = [] }
        return ResolveWork(admitted, decisions.compactMap(\.self))
    }

    /// Ends the request without a result. Its items that still wait are not verified.
    ///
    /// - Parameter refusal: the answer; nil if the connection takes none.
    package func refuse(_ refusal: ResponseHead?) {
        decisions = []
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
    private let decisions: [Decision]

    init(_ admitted: AdmittedResolve, _ decisions: [Decision]) {
        self.admitted = admitted
        self.decisions = decisions
    }

    /// Decides what the customer owns, and encodes the answer.
    func answer(
        at now: Timestamp, by codec: MessageCodec, isAudited: Bool
    ) -> DecidedResolve {
        let call = admitted.call
        // Kinds that the verification detected.
        if let problem = call.problem(of: decisions.compactMap(\.verification.kind)) {
            return DecidedResolve(
                encoded: .refused(.invalidQuestion(admitted.id, problem)), outcome: .refused)
        }
        let items = zip(decisions, call.items).map { EvidenceItem($0, label: $1.label) }
        let entitlements = Entitlements(of: items, at: call.at ?? now, policy: call.policy)
        let outcome = ResolveOutcome(entitlements, items)
        let line =
            isAudited
            ? AuditLine(
                .resolve, app: admitted.app.name, outcome, items: items.count, entitlements,
                at: now) : nil
        let answer = admitted.form.encode(
            entitlements, of: items, answering: admitted.id, call, at: now, by: codec)
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
        let valid = items.count { $0.decision.verification.verdict == .valid }
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
