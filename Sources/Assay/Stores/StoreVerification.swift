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
                unverified, by: policy.keys(of: kind), kind, log: log)
            let (evidence, claims, state) = try purchase.decode(as: kind, log: log)
            return answer(
                evidence, claims, accepted: purchase.key.acceptance, state: state,
                remark: state.remark)
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
    fileprivate func decode(
        as kind: EvidenceKind, log: CheckLog?
    ) throws(Refusal) -> (VerifiedEvidence, EvidenceClaims, PurchaseState) {
        log?.begin(
            .kind, found: Self.likelyKind(document.root)?.name, expected: kind.name)
        switch kind {
        case .googlePurchase:
            let purchase = document.withRootMembers { GooglePurchase(from: &$0) }
            try Self.check(purchase.packageName, purchase.purchaseToken, kind)
            return (
                .googlePurchase(VerifiedPayload(purchase, json: document.text)),
                EvidenceClaims(purchase, digest: digest), purchase.state
            )
        case .huaweiPurchase:
            let purchase = document.withRootMembers { HuaweiPurchase(from: &$0) }
            try Self.check(purchase.packageName, purchase.purchaseToken, kind)
            return (
                .huaweiPurchase(VerifiedPayload(purchase, json: document.text)),
                EvidenceClaims(purchase, digest: digest), purchase.state
            )
        default: preconditionFailure("no purchase of another store")
        }
    }

    /// A store signs other texts with the same key, such as answers of its licence service.
    static func check(
        _ packageName: String?, _ token: String?, _ kind: EvidenceKind
    ) throws(Refusal) {
        guard packageName != nil, token != nil else {
            throw Refusal(
                .wrongKind,
                "the signed text has no \(packageName == nil ? "packageName" : "purchaseToken"), "
                    + "which each \(kind.name) has")
        }
    }

    /// The kind of a purchase by its members: Huawei's have members of their own.
    static func likelyKind(_ root: JSONValue) -> EvidenceKind? {
        guard let members = root.members else { return nil }
        let ofHuawei = ["accountFlag", "applicationId", "payOrderId", "confirmed", "subIsvalid"]
        if ofHuawei.contains(where: { members[$0] != nil }) { return .huaweiPurchase }
        let isPurchase =
            members["packageName"] != nil
            && ["purchaseToken", "purchaseTime", "orderId"].contains { members[$0] != nil }
        return isPurchase ? .googlePurchase : nil
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

extension Policy {
    /// The keys of the store that signs this kind.
    func keys(of kind: EvidenceKind) -> [PurchaseKey] {
        kind.store == .huawei ? huawei.keys : google.keys
    }
}

extension EvidenceClaims {
    /// Purchases have no other date: the store signs them when they are made.
    func effectiveDate(_ now: Timestamp) -> EffectiveDate {
        EffectiveDate(signed: purchaseDate, now: now)
    }
}
