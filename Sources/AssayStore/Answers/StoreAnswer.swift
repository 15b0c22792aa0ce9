package import Assay
import AssayBytes
public import AssayModels

/// An answer of the App Store. Every signed member in it is verified.
public struct StoreAnswer: Sendable, Equatable {
    /// The environment that answered.
    public let environment: StoreEnvironment
    /// The body as it came. What is not signed in it proves nothing.
    public let body: [UInt8]
    /// The verification, VALID; nil for an endpoint whose answers have no signed member.
    public let verification: Verification?

    /// The verified members; nil for an endpoint whose answers have no signed member.
    public var signed: ServerAnswer? {
        if case .serverAnswer(let answer) = verification?.evidence { answer } else { nil }
    }

    /// Reads and verifies a body.
    package init(
        _ body: [UInt8], to call: StoreCall, in environment: StoreEnvironment,
        _ configuration: StoreConfiguration, _ verifier: Verifier, at now: Timestamp
    ) throws(StoreError) {
        self.environment = environment
        self.body = body
        guard call.answer != .unsigned else {
            verification = nil
            try Self.checkJSON(body)
            return
        }
        let policy = Policy(
            bundleId: configuration.bundleId, appAppleId: configuration.appAppleId,
            environments: [environment])
        let verification = verifier.verify(
            body.span, as: .serverAnswer, policy: policy, at: now)
        switch verification.verdict {
        case .valid: self.verification = verification
        case .malformed where verification.certificate == nil:
            throw .malformedAnswer(verification.detail)
        default: throw .unverified(verification.verdict, detail: verification.detail)
        }
    }

    /// Many endpoints answer nothing. What they answer is JSON.
    private static func checkJSON(_ body: [UInt8]) throws(StoreError) {
        guard !body.isEmpty else { return }
        do throws(JSONError) {
            _ = try JSONDocument.parse(body, limit: StoreLimits.answerBytes)
        } catch {
            throw .malformedAnswer(error.description)
        }
    }

    /// What the answer says about its list.
    package var page: PageWalk.Page {
        guard let signed else { return PageWalk.Page(hasMore: false, token: nil, itemCount: 0) }
        return PageWalk.Page(
            hasMore: signed.unsigned.hasMore ?? false,
            token: signed.unsigned.revision ?? signed.unsigned.paginationToken,
            itemCount: signed.transactions.count + signed.notifications.count)
    }

    /// A member of an unsigned answer that is text, such as `testNotificationToken`.
    public func unsignedText(_ member: String) -> String? {
        let document = try? JSONDocument.parse(body, limit: StoreLimits.answerBytes)
        return document?.root[member]?.string
    }

    /// The answer as evidence.
    public func evidence(label: String? = nil) -> EvidenceItem? {
        verification.map { EvidenceItem($0, label: label) }
    }
}
