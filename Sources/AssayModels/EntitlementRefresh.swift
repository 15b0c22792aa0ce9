/// When to ask the App Store about one subscription.
public struct EntitlementRefresh: Equatable, Sendable {
    /// Why the evidence ends there. An open enumeration: keeps values that later versions add.
    public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A period that should renew ends.
        public static let periodEnds = Self(rawValue: "PERIOD_ENDS")
        /// Nothing says what happened after the end of the last period, or the transaction of the
        /// period in force is missing.
        public static let statusUnknown = Self(rawValue: "STATUS_UNKNOWN")
        /// Apple tries to charge again.
        public static let billingRetry = Self(rawValue: "BILLING_RETRY")
    }

    /// The transaction to ask about.
    public var transactionId: String
    /// Not after the moment of the decision: at once.
    public var at: Timestamp
    /// Why.
    public var reason: Reason
    /// The store to ask. Other stores than Apple's are asked with the purchase token, which is the
    /// transaction identifier here.
    public var store = EvidenceStore.apple

    /// Creates a request to ask.
    public init(
        transactionId: String, at: Timestamp, reason: Reason, store: EvidenceStore = .apple
    ) {
        self.store = store
        self.transactionId = transactionId
        self.at = at
        self.reason = reason
    }
}
