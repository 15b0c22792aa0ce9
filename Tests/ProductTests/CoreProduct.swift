import Assay

/// Uses the product Assay alone.
enum CoreProduct {
    /// Returns the verdicts of the transaction: alone, and in a batch under an expectation that it
    /// fails.
    static func verdicts(
        of evidence: MintedEvidence, at milliseconds: Int64
    ) throws(TrustStoreError) -> [String] {
        let now = Timestamp(milliseconds: milliseconds)
        let denied: Fingerprint? = Fingerprint(String(repeating: "0", count: 64))
        let trust: TrustStore = try .empty.pinning(evidence.root, development: false)
            .denying(denied.map { [$0] } ?? [])
        let anchors: [TrustAnchor] = trust.anchors
        precondition(anchors.count == 1)
        let verifier = Verifier(trust: trust, keyTables: .onRequest)
        let policy = Policy(
            bundleId: MintedEvidence.bundleId, environments: [StoreEnvironment.production])
        let single: Verification = verifier.verify(
            evidence.transaction.span, as: .transaction, policy: policy, at: now)
        let batch = verifier.verify(
            [
                Verifier.BatchItem(evidence.transaction, as: .transaction, policy: policy),
                Verifier.BatchItem(
                    evidence.transaction, as: .transaction, policy: policy,
                    expecting: Expectations(productIds: ["another"])),
            ], at: now)
        return ([single] + batch).map(\.verdict.name)
    }

    /// Returns the bundle identifier of the receipt, which arrives in chunks.
    static func bundleId(
        of evidence: MintedEvidence, at milliseconds: Int64
    ) throws(TrustStoreError) -> String? {
        let trust = try TrustStore.empty.pinning(evidence.receiptRoot, development: false)
        var stream = AppReceiptStream(
            Verifier(trust: trust), policy: Policy(bundleId: nil), inApp: .latest)
        for octet in evidence.receipt { stream.receive([octet].span) }
        let answer = stream.finish(at: Timestamp(milliseconds: milliseconds))
        guard case .appReceipt(let receipt) = answer.evidence else { return nil }
        let records: InAppPurchases = receipt.inApp
        precondition(!records.isEmpty)
        return receipt.bundleId
    }
}
