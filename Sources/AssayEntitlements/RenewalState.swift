import AssayModels

/// The newest renewal information of one subscription.
struct RenewalState {
    var evidence: VerifiedPayload<JWSRenewalInfoDecodedPayload>
    var signedDate: Int64
    /// Index of the item.
    var item: Int

    init(_ evidence: VerifiedPayload<JWSRenewalInfoDecodedPayload>, item: Int) {
        self.evidence = evidence
        signedDate = evidence.payload.signedDate?.milliseconds ?? .min
        self.item = item
    }

    var autoRenewStatus: AutoRenewStatus? { evidence.payload.autoRenewStatus }
    var autoRenewProductId: String? { evidence.payload.autoRenewProductId }
    var expirationIntent: ExpirationIntent? { evidence.payload.expirationIntent }
    var isInBillingRetry: Bool { evidence.payload.isInBillingRetryPeriod == true }
    var bundleOriginal: String? { evidence.payload.bundleOriginalTransactionID }
    var graceEnds: Int64? { evidence.payload.gracePeriodExpiresDate?.milliseconds }

    /// Whether it wins over another of the same subscription: by signed date, then by the signed
    /// bytes, so that the order of the evidence never decides.
    func wins(over other: RenewalState) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        let (mine, theirs) = (evidence.json, other.evidence.json)
        return mine == theirs ? item < other.item : theirs.lexicographicallyPrecedes(mine)
    }

    /// Retry and grace of an older period say nothing about the latest transaction.
    func isStale(for latest: Snapshot) -> Bool { signedDate < latest.purchaseDate }
}
