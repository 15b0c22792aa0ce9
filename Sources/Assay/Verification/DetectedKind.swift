package import AssayModels

extension Verifier {
    /// Prepares evidence whose kind the caller does not name, as `prepare` does. Evidence that
    /// shows no known kind is refused.
    package func prepareDetectingKind(
        _ evidence: Span<UInt8>, policy: Policy, expecting expectations: Expectations = .none,
        inApp: InAppSelection = .all, at now: Timestamp,
        unknownChains: UnknownChainPolicy = .validate, cache: ThreadCache? = nil
    ) -> PreparedVerification {
        let kind = Self.likelyKind(of: evidence)
        // Evidence that is refused before its kind matters still gets its verdict.
        var prepared = prepare(
            evidence, as: kind ?? .transaction, policy: policy, expecting: expectations,
            inApp: inApp, at: now, unknownChains: unknownChains, cache: cache)
        prepared.hasUnknownKind = kind == nil
        return prepared
    }

    /// The probable kind by the first bytes, which decides the limit and the estimate of the cost.
    /// Above the limit of a JWS, bytes that begin like none have that of the largest kind: what is
    /// no evidence is named at every size.
    package static func estimatedKind(of evidence: Span<UInt8>) -> EvidenceKind {
        if beginsLikeAppReceipt(evidence) { return .appReceipt }
        if evidence.count > 0, evidence[0] == UInt8(ascii: "{") {
            return evidence.count <= Limits.notificationBytes ? .notification : .serverAnswer
        }
        guard evidence.count > Limits.jwsBytes else { return .transaction }
        let isToken = evidence[0] == UInt8(ascii: "e") && evidence[1] == UInt8(ascii: "y")
        return isToken ? .transaction : .appReceipt
    }

    /// Whether evidence begins like an app receipt: a long DER SEQUENCE, or its base64.
    package static func beginsLikeAppReceipt(_ evidence: Span<UInt8>) -> Bool {
        guard evidence.count >= 2 else { return false }
        if evidence[0] == Tag.sequence.rawValue { return evidence[1] >= 0x80 }
        return evidence[0] == UInt8(ascii: "M") && evidence[1] == UInt8(ascii: "I")
    }
}

extension Verification {
    /// The verification of evidence without a known kind. A refusal that does not depend on the
    /// kind stays; any later verdict has no meaning without one.
    package var ofUnknownKind: Verification {
        guard Self.beforeKind.contains(verdict) else {
            return Verification(
                verdict: .wrongKind, detail: "the payload does not show its kind: name the kind")
        }
        var answer = self
        answer.kind = nil
        return answer
    }

    private static let beforeKind: Set<Verdict> = [
        .malformed, .unsupportedAlgorithm, .untrustedChain, .invalidChain,
        .wrongCertificatePurpose, .certificateRevoked, .certificateExpired, .invalidDate,
        .invalidSignature,
    ]
}
