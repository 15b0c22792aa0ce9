import AssayClient
import Foundation

/// One call of a case.
struct Call: Sendable {
    let count: Int
    let cancelAfter: Duration?
    private let name: String
    private let timeout: Duration?
    private let app: String
    private let mayWait: Bool
    private let evidence: [UInt8]
    private let kind: EvidenceKind?
    private let expectations: Expectations
    private let payloads: ReturnedPayloads
    private let items: [ResolveItem]
    private let moment: Timestamp?
    private let policy: EntitlementPolicy
    private let transactionId: String
    private let lists: [FetchCall.List]

    init(_ members: JSON) throws {
        name = members["call"] as? String ?? ""
        count = members["count"] as? Int ?? 1
        timeout = (members["timeoutMs"] as? Int).map { .milliseconds($0) }
        cancelAfter = (members["cancelAfterMs"] as? Int).map { .milliseconds($0) }
        app = members["app"] as? String ?? ""
        mayWait = members["mayWait"] as? Bool ?? false
        evidence = try Self.evidence(members["evidence"])
        kind = try Self.kind(members["kind"])
        expectations = Self.expectations(members["expectations"] as? JSON ?? [:])
        payloads = Self.payloads(members, of: name)
        items = try (members["items"] as? [JSON] ?? []).map { item in
            ResolveItem(
                try Self.evidence(item["evidence"]), as: try Self.kind(item["kind"]),
                label: item["label"] as? String)
        }
        moment = Self.time(members["at"])
        policy = Self.policy(members["policy"] as? JSON ?? [:])
        transactionId = members["transactionId"] as? String ?? ""
        lists = try (members["lists"] as? [String] ?? []).map(Self.list)
    }

    /// Performs the call once.
    func outcome(from client: AssayClient) async throws -> CaseResult {
        let start = ContinuousClock.now
        let result: JSON
        do throws(ClientError) {
            result = try await answer(from: client)
        } catch {
            result = CaseResult.members(of: error)
        }
        let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
        return CaseResult(result.merging(["elapsedMs": elapsed]) { $1 })
    }

    private func answer(from client: AssayClient) async throws(ClientError) -> JSON {
        switch name {
        case "ping":
            try await client.ping(timeout: timeout)
            return ["ok": "pong"]
        case "health":
            return ["ok": "health", "serving": try await client.health(timeout: timeout)]
        case "info": return CaseResult.members(of: try await client.info(timeout: timeout))
        case "resolve":
            return CaseResult.members(
                of: try await client.resolve(
                    items, at: moment, policy: policy, expecting: expectations,
                    returning: payloads, app: app, timeout: timeout, mayWait: mayWait))
        case "fetch" where !evidence.isEmpty:
            return CaseResult.members(
                of: try await client.fetch(
                    evidence, lists: lists, at: moment, policy: policy, returning: payloads,
                    app: app, timeout: timeout))
        case "fetch":
            return CaseResult.members(
                of: try await client.fetch(
                    transactionId: transactionId, lists: lists, at: moment, policy: policy,
                    returning: payloads, app: app, timeout: timeout))
        default:
            guard let kind else {
                // The public call requires a kind.
                return CaseResult.members(
                    of: try await client.verify(evidence, VerifyCall(kind: nil), app: app))
            }
            return CaseResult.members(
                of: try await client.verify(
                    evidence, as: kind, expecting: expectations,
                    returning: payloads, app: app, timeout: timeout, mayWait: mayWait))
        }
    }

    // MARK: Members

    private static func evidence(_ value: Any?) throws -> [UInt8] {
        guard let members = value as? JSON else { return [] }
        if let path = members["file"] as? String {
            return [UInt8](try Data(contentsOf: URL(filePath: path)))
        }
        if let count = members["zeros"] as? Int { return [UInt8](repeating: 0, count: count) }
        return Array((members["text"] as? String ?? "").utf8)
    }

    private static func kind(_ value: Any?) throws -> EvidenceKind? {
        guard let name = value as? String else { return nil }
        let kind = EvidenceKind(name: name.lowercased().replacing("_", with: "-"))
        guard let kind else { throw CaseError("unknown kind: \(name)") }
        return kind
    }

    /// The payloads that a call of this name returns: by default those of a Verify as typed fields.
    private static func payloads(_ members: JSON, of call: String) -> ReturnedPayloads {
        func has(_ name: String) -> Bool { members[name] as? Bool ?? false }
        var payloads: ReturnedPayloads = has("returnPayloadJson") ? .json : []
        let isVerify = !["resolve", "fetch"].contains(call)
        if isVerify ? !has("omitTypedPayload") : has("returnTypedPayloads") {
            payloads.insert(.typed)
        }
        return payloads
    }

    private static func list(_ name: String) throws -> FetchCall.List {
        switch name {
        case "STATUSES": .statuses
        case "HISTORY": .history
        default: throw CaseError("unknown list: \(name)")
        }
    }

    private static func time(_ value: Any?) -> Timestamp? {
        (value as? String).flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    private static func expectations(_ members: JSON) -> Expectations {
        var expectations = Expectations(
            appAppleId: (members["appAppleId"] as? String).flatMap { Int64($0) },
            environments: (members["environments"] as? [String] ?? []).map(StoreEnvironment.init),
            productIds: members["productIds"] as? [String] ?? [],
            notOlderThan: time(members["notOlderThan"]))
        expectations.bundleId = members["bundleId"] as? String
        expectations.appAccountToken = members["appAccountToken"] as? String
        expectations.transactionId = members["transactionId"] as? String
        expectations.deviceVerificationId = members["deviceVerificationId"] as? String
        // The suite writes one device alone, and an empty one.
        expectations.deviceIdentifier = (members["deviceIdentifier"] as? String).map { text in
            stride(from: 0, to: text.count, by: 2).compactMap { index in
                UInt8(text.dropFirst(index).prefix(2), radix: 16)
            }
        }
        return expectations
    }

    private static func policy(_ members: JSON) -> EntitlementPolicy {
        var policy = EntitlementPolicy()
        func number(_ name: String) -> Int64? { (members[name] as? String).flatMap { Int64($0) } }
        policy.maxAgeMilliseconds = number("maxAgeMs")
        policy.billingRetryLeniencyMilliseconds = number("billingRetryLeniencyMs") ?? 0
        policy.acceptsFamilySharing = !(members["refuseFamilySharing"] as? Bool ?? false)
        policy.expectedAppAccountToken = members["expectedAppAccountToken"] as? String
        policy.renewalLeniencyMilliseconds = number("renewalLeniencyMs") ?? 0
        policy.knownAt = time(members["knownAt"])
        policy.durations = (members["durations"] as? [String: String] ?? [:])
            .compactMapValues { Int64($0) }
        policy.stackedProducts = Set(members["stackedProducts"] as? [String] ?? [])
        return policy
    }
}
