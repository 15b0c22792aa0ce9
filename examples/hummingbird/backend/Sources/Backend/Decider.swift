import Assay
import AssayClient
import AssayEntitlements

/// A token of StoreKit, or the body of a notification, as it was sent.
struct Evidence: Codable, Equatable, Sendable {
    var kind: String
    var body: String
}

/// What Assay says about evidence of one customer, in this process or at a server.
protocol Decider: Sendable {
    func decide(
        _ evidence: [Evidence], for user: String?, at now: Timestamp
    ) async throws -> (items: [EvidenceItem], entitlements: Entitlements)
}

extension Decider {
    /// The app's expectations, with those of the user of a session.
    func expectations(for user: String?) -> Expectations {
        guard let user else { return Expectations(bundleId: "com.example.game") }
        return Expectations(bundleId: "com.example.game", appAccountToken: user)
    }
}

/// The verifier in this process: no other service, and no socket.
struct InProcess: Decider {
    let verifier: Verifier
    let policy: Policy

    func decide(
        _ evidence: [Evidence], for user: String?, at now: Timestamp
    ) async -> (items: [EvidenceItem], entitlements: Entitlements) {
        let items = evidence.map { one in
            EvidenceItem(
                verifier.verify(
                    one.body.utf8.span,
                    as: one.kind == "notification" ? .notification : .transaction,
                    policy: policy, expecting: expectations(for: user), at: now))
        }
        return (items, Entitlements(of: items, at: now))
    }
}

/// A server beside this process, which many backends can share.
struct Sidecar: Decider {
    let client: AssayClient

    func decide(
        _ evidence: [Evidence], for user: String?, at now: Timestamp
    ) async throws -> (items: [EvidenceItem], entitlements: Entitlements) {
        if evidence.isEmpty { return ([], Entitlements(at: now)) }
        let answer = try await client.resolve(
            evidence.map { one in
                ResolveItem(
                    Array(one.body.utf8),
                    as: one.kind == "notification" ? .notification : .transaction)
            }, at: now, expecting: expectations(for: user))
        let items = answer.items.map { EvidenceItem($0.verification, identifiers: $0.identifiers) }
        return (items, answer.entitlements)
    }
}
