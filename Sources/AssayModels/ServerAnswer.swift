/// An answer of Apple's App Store Server API. Every signed member is verified.
public struct ServerAnswer: Equatable, Sendable {
    /// The signed transactions, in the answer's order. A transaction can occur twice: Apple sorts a
    /// history by modification while it is paged.
    public let transactions: [VerifiedPayload<JWSTransactionDecodedPayload>]
    /// The signed renewal information, in the answer's order.
    public let renewalInfos: [VerifiedPayload<JWSRenewalInfoDecodedPayload>]
    /// `signedAppTransactionInfo`.
    public let appTransaction: VerifiedPayload<AppTransaction>?
    /// The signed notifications with their nested evidence, in the answer's order.
    public let notifications: [VerifiedNotification]
    /// The members that Apple does not sign. They prove nothing.
    public let unsigned: UnsignedAnswerMembers
    /// Remarks about the answer. They never change the verdict.
    public let warnings: [EvidenceWarning]
    /// One for each of `transactions`, in their order: names the purchase, which is granted once by
    /// this key. Empty for a transaction without an identifier.
    public let dedupKeys: [String]

    package init(
        transactions: [VerifiedPayload<JWSTransactionDecodedPayload>] = [],
        renewalInfos: [VerifiedPayload<JWSRenewalInfoDecodedPayload>] = [],
        appTransaction: VerifiedPayload<AppTransaction>? = nil,
        notifications: [VerifiedNotification] = [],
        unsigned: UnsignedAnswerMembers = UnsignedAnswerMembers(),
        warnings: [EvidenceWarning] = [], dedupKeys: [String] = []
    ) {
        self.transactions = transactions
        self.renewalInfos = renewalInfos
        self.appTransaction = appTransaction
        self.notifications = notifications
        self.unsigned = unsigned
        self.warnings = warnings
        self.dedupKeys = dedupKeys
    }
}

/// The members of an answer that Apple does not sign. Anybody can change them; use them for paging
/// and for messages, never for a decision about a purchase.
public struct UnsignedAnswerMembers: Equatable, Sendable {
    /// The environment that the answer names.
    public var environment: StoreEnvironment?
    /// The bundle identifier that the answer names.
    public var bundleId: String?
    /// The App Store identifier that the answer names.
    public var appAppleId: Int64?
    /// The token of the next page of a history.
    public var revision: String?
    /// Whether Apple has more pages.
    public var hasMore: Bool?
    /// The token of the next page of a notification history.
    public var paginationToken: String?
    /// The status of an order lookup: 0 valid, 1 invalid.
    public var status: Int32?
    /// The statuses that the answer names, in its order.
    public var subscriptions: [UnsignedSubscriptionStatus] = []

    /// Creates an empty value.
    public init() {}
}

/// The status that an answer names for one subscription. Apple does not sign it.
public struct UnsignedSubscriptionStatus: Equatable, Sendable {
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String?
    /// Status of the subscription.
    public var status: SubscriptionStatus?

    /// Creates an empty value.
    public init() {}
}

/// Something that the caller should know about the evidence. It never changes the verdict.
public struct EvidenceWarning: Equatable, Sendable {
    /// The kind of warning. An open enumeration: a newer server can send more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The answer has no signed member, and so proves nothing.
        public static let noEvidence = Self(rawValue: "NO_EVIDENCE")
        /// The answer names more pages: what it lacks proves nothing.
        public static let incomplete = Self(rawValue: "ANSWER_INCOMPLETE")
        /// An unsigned member disagrees with the signed ones.
        public static let unsignedDisagrees = Self(rawValue: "UNSIGNED_DISAGREES")
        /// The signed members name several app account tokens or app transaction ids.
        public static let customersMixed = Self(rawValue: "CUSTOMERS_MIXED")
        /// An entry pairs a transaction with the renewal information of another original.
        public static let pairDisagrees = Self(rawValue: "PAIR_DISAGREES")
        /// A notification names its app in a member that this version does not know.
        public static let unknownContainer = Self(rawValue: "UNKNOWN_CONTAINER")
        /// The volume purchase of a receipt has ended (attribute 21): it entitles to nothing.
        public static let receiptExpired = Self(rawValue: "RECEIPT_EXPIRED")
        /// A transaction of a list verifies but names no bundle: the answer is without it.
        public static let transactionWithoutBundle = Self(rawValue: "TRANSACTION_WITHOUT_BUNDLE")
    }

    /// The kind of warning.
    public var code: Code
    /// One sentence.
    public var message: String
    /// The member that it is about, such as `data[0].lastTransactions[1].status`.
    public var member: String?

    /// Creates a warning.
    public init(code: Code, message: String, member: String? = nil) {
        self.code = code
        self.message = message
        self.member = member
    }

    /// The volume purchase of a receipt has ended.
    package static let receiptExpired = EvidenceWarning(
        code: .receiptExpired,
        message: "the volume purchase of this receipt has ended: it entitles to nothing",
        member: "expirationDate")
}
