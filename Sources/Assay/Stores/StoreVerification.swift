import AssayBytes
import AssayModels

extension VerificationRequest {
    /// Verifies a purchase of another store: its signature, then policy and expectations.
    func prepared(purchase evidence: Span<UInt8>) throws(Refusal) -> PreparedVerification {
        let unverified = try UnverifiedPurchase(evidence, as: kind, log: log)
        var prepared = PreparedVerification(request: self, state: .answered(answer(unverified)))
        prepared.wrapper = unverified.wrapper
        return prepared
    }

    private func answer(_ unverified: UnverifiedPurchase) -> Verification {
        do throws(Refusal) {
            let purchase = try VerifiedPurchase(
                unverified, by: kind.storeFormat.keys(policy), kind, log: log)
            let (evidence, claims, state) = try purchase.decode(as: kind, log: log)
            return answer(
                evidence, claims, accepted: purchase.key.acceptance, state: state,
                remark: state?.remark ?? "")
        } catch {
            log?.didRefuse()
            return error.answer(kind)
        }
    }

    /// The answer about evidence without a chain, whose signature holds, after policy and
    /// expectations.
    ///
    /// - Parameters:
    ///   - acceptance: the beginning of the detail of a VALID answer.
    ///   - remark: its end.
    func answer(
        _ evidence: VerifiedEvidence, _ claims: EvidenceClaims, accepted acceptance: String,
        state: PurchaseState? = nil, remark: String
    ) -> Verification {
        var answer = Verification(
            verdict: .valid, detail: acceptance, kind: kind, environment: claims.environment,
            dedupKey: claims.dedupKey, evidenceKey: claims.evidenceKey, state: state)
        do throws(Refusal) {
            try accept(claims)
            answer.evidence = evidence
            answer.detail += remark
        } catch {
            log?.didRefuse()
            (answer.verdict, answer.detail) = (error.verdict, error.detail)
        }
        return answer
    }

    /// Checks policy and expectations of evidence without a chain, whose signature holds.
    private func accept(_ claims: EvidenceClaims) throws(Refusal) {
        try claims.checkOrigin(policy, expectations, log: log)
        log?.begin(.signingDate, found: claims.effectiveDate(now).text)
        let date = try claims.effectiveDate(now).timestamp()
        try claims.check(expectations, effectiveDate: date, log: log)
    }
}

extension PurchaseState {
    /// The end of the detail of a VALID purchase; empty if it is paid.
    var remark: String {
        self == .purchased ? "" : "; the purchase is not paid (\(rawValue)): grant nothing"
    }
}

extension VerifiedPurchase {
    /// Decodes the members of the caller's kind, and the claims that the policy checks.
    func decode(
        as kind: EvidenceKind, log: CheckLog?
    ) throws(Refusal) -> StorePayload.Decoded {
        log?.begin(.kind, found: likelyKind?.name, expected: kind.name)
        let decoded = kind.storePayload.decode(document, digest)
        try Self.check(decoded.claims)
        return decoded
    }

    private var likelyKind: EvidenceKind? { Self.likelyKind(document.root) }

    /// A store signs other texts with the same key, such as answers of its licence service.
    static func check(_ claims: EvidenceClaims) throws(Refusal) {
        guard claims.bundleId != nil, claims.purchaseToken != nil else {
            throw Refusal(
                .wrongKind,
                "the signed text has no "
                    + "\(claims.bundleId == nil ? "packageName" : "purchaseToken"), which each "
                    + "\(claims.kind.name) has")
        }
    }

    /// The kind of a purchase by its members: Huawei's have members of their own.
    static func likelyKind(_ root: JSONValue) -> EvidenceKind? {
        StoreFormat.huawei.likelyKind(root) ?? StoreFormat.google.likelyKind(root)
    }
}

extension PurchaseEnvelope {
    /// The kind of the purchase in this envelope, or nil if it seems to be none.
    var likelyKind: EvidenceKind? {
        if algorithm != nil { return .huaweiPurchase }
        guard let document = try? JSONDocument.parse(data) else { return nil }
        return VerifiedPurchase.likelyKind(document.root)
    }
}

extension EvidenceClaims {
    /// Purchases have no other date: the store signs them when they are made.
    func effectiveDate(_ now: Timestamp) -> EffectiveDate {
        EffectiveDate(signed: purchaseDate, now: now)
    }
}
