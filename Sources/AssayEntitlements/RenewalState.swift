import AssayModels

/// The newest renewal information of one subscription.
struct RenewalState {
    var evidence: VerifiedPayload<JWSRenewalInfoDecodedPayload>
    var signedDate: Int64
    /// The app that a notification around it names. Renewal information itself names none.
    var bundleId: String?
    /// Index of the item.
    var item: Int

    init(
        _ evidence: VerifiedPayload<JWSRenewalInfoDecodedPayload>, of bundleId: String?, item: Int
    ) {
        self.evidence = evidence
        self.bundleId = bundleId
        signedDate = evidence.payload.signedDate?.milliseconds ?? .min
        self.item = item
    }

    var autoRenewStatus: AutoRenewStatus? { evidence.payload.autoRenewStatus }
    var autoRenewProductId: String? { evidence.payload.autoRenewProductId }
    var productId: String? { evidence.payload.productId }
    var expirationIntent: ExpirationIntent? { evidence.payload.expirationIntent }
    var isInBillingRetry: Bool { evidence.payload.isInBillingRetryPeriod == true }
    var bundleOriginal: String? { evidence.payload.bundleOriginalTransactionID }
    var graceEnds: Int64? { evidence.payload.gracePeriodExpiresDate?.milliseconds }
    /// The end of the most recent purchase.
    var renewalDate: Int64? { evidence.payload.renewalDate?.milliseconds }
    /// A receipt's dates have whole seconds: less is no difference.
    static let secondOfReceipts: Int64 = 1_000

    /// Whether it is about a period: the one that ends at its `renewalDate`. Only where it names
    /// none, it is about the latest period that had begun when it was signed.
    ///
    /// - Parameter next: when the next period begins.
    func isAbout(periodFrom begin: Int64, to end: Int64, before next: Int64?) -> Bool {
        guard let renewalDate else { return begin <= signedDate && signedDate < next ?? .max }
        let (difference, isFar) = renewalDate.subtractingReportingOverflow(end)
        return !isFar && difference.magnitude < Self.secondOfReceipts
    }

    var account: String? { evidence.payload.appAccountToken?.lowercased() }

    /// Whether it wins over another of the same subscription: by signed date, then by the signed
    /// bytes, so that the order of the evidence never decides.
    func wins(over other: RenewalState) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        let (mine, theirs) = (evidence.json, other.evidence.json)
        if mine != theirs { return theirs.lexicographicallyPrecedes(mine) }
        if (bundleId == nil) != (other.bundleId == nil) { return bundleId != nil }
        return item < other.item
    }
}

/// The newest status of a subscription that Apple signed: `data.status` of a notification.
struct SignedStatus {
    var status: SubscriptionStatus
    var signedDate: Int64
    /// Index of the item.
    var item: Int

    /// Whether this version knows what it says: a status that Apple adds later decides nothing.
    var isKnown: Bool { SubscriptionState(status) != nil }

    /// Of two with the same signed date the one that takes away more wins.
    func wins(over other: SignedStatus) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        if status != other.status { return status.rawValue > other.status.rawValue }
        return item < other.item
    }
}
