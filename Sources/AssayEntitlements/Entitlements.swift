public import AssayModels

/// What a customer owns at one moment, and which evidence says so.
public struct Entitlements: Equatable, Sendable {
    /// The moment that the answer is about.
    public var at: Timestamp
    /// By environment, then bundle identifier.
    public var apps: [AppEntitlements] = []
    /// The newest date at which Apple signed any of the evidence.
    public var newestSignedDate: Timestamp?
    /// Whether the newest evidence is older than the policy's maximum age.
    public var isStale = false
    /// The earliest moment at which the answer changes without new evidence.
    public var nextChange: Timestamp?
    public var warnings: [EntitlementWarning] = []

    public init(at: Timestamp) { self.at = at }
}

/// What a customer owns in one app and environment. The two never mix with others: Sandbox and
/// Production number transactions independently.
public struct AppEntitlements: Equatable, Sendable {
    public var environment: StoreEnvironment
    public var bundleId: String
    /// By group identifier.
    public var subscriptionGroups: [SubscriptionGroup] = []
    /// By product identifier.
    public var nonConsumables: [ProductEntitlement] = []
    /// By product identifier.
    public var nonRenewing: [ProductEntitlement] = []
    /// By transaction identifier. A consumable is never an entitlement.
    public var consumables: [ConsumablePurchase] = []
    public var customers = Customers()
}

/// The evidence that decided an answer.
public struct DecidedBy: Equatable, Sendable {
    /// Index of the item.
    public var item: Int
    public var transactionId: String
    public var signedDate: Timestamp?
}

/// Subscriptions of one group. The group entitles if any of its subscriptions does.
public struct SubscriptionGroup: Equatable, Sendable {
    /// Nil where no evidence names the group; the group then holds one subscription.
    public var subscriptionGroupIdentifier: String?
    /// The subscription that decides: an entitled one first, then the one that ends last.
    public var deciding: Subscription
    /// By original transaction identifier.
    public var subscriptions: [Subscription]

    public var isEntitled: Bool { deciding.isEntitled }
}

/// One subscription: all transactions of one original transaction identifier.
public struct Subscription: Equatable, Sendable {
    public var originalTransactionId: String
    public var status: SubscriptionState
    public var isEntitled: Bool
    public var productId: String?
    /// End of the entitlement; nil where there is none or its end is not known.
    public var entitledUntil: Timestamp?
    public var ownership: InAppOwnershipType?
    public var isTrial: Bool
    public var offerType: OfferType?
    public var billingPlanType: BillingPlanType?
    /// Nil without renewal information.
    public var willRenew: Bool?
    /// The product of the next period; nil without renewal information.
    public var renewsAs: String?
    public var expirationIntent: ExpirationIntent?
    /// In milliunits of percent, where the deciding transaction was refunded in part.
    public var revocationPercentage: Int32?
    public var decidedBy: DecidedBy
    /// End of the deciding transaction's period.
    public var expiresDate: Timestamp?
}

/// The state of a subscription at one moment.
public enum SubscriptionState: String, Sendable, CaseIterable {
    /// Refunded or revoked.
    case revoked = "REVOKED"
    /// A paid period is in force.
    case active = "ACTIVE"
    /// The payment failed; access goes on for Apple's grace period.
    case gracePeriod = "GRACE_PERIOD"
    /// The payment failed and Apple tries again.
    case billingRetry = "BILLING_RETRY"
    case expired = "EXPIRED"
    /// No period is in force, and no renewal information says more.
    case unknown = "UNKNOWN"
}

/// A non-consumable or a non-renewing subscription.
public struct ProductEntitlement: Equatable, Sendable {
    public var productId: String
    public var isEntitled: Bool
    /// Of a non-renewing subscription whose duration the policy knows.
    public var entitledUntil: Timestamp?
    public var transactionId: String
    public var ownership: InAppOwnershipType?
    public var revocationDate: Timestamp?
    /// In milliunits of percent.
    public var revocationPercentage: Int32?
    public var decidedBy: DecidedBy
}

/// One purchase of a consumable.
public struct ConsumablePurchase: Equatable, Sendable {
    public var transactionId: String
    public var productId: String?
    public var quantity: Int64
    /// In milliunits of percent: 0 nothing was refunded, 100000 all of it.
    public var revokedPercentage: Int32
    /// Deduplicate deliveries by this key.
    public var dedupKey: String
    public var decidedBy: DecidedBy
}

/// The customers that the evidence names.
public struct Customers: Equatable, Sendable {
    /// Sorted, in lower case.
    public var appAccountTokens: [String] = []
    /// Sorted.
    public var appTransactionIds: [String] = []
    /// Whether evidence of several customers was mixed, or of another one than expected.
    public var isConflicting = false
}

/// Something that the caller should know about the evidence. It never changes an entitlement.
public struct EntitlementWarning: Equatable, Sendable {
    public enum Code: String, Sendable, CaseIterable {
        /// Renewal information whose subscription is not among the evidence.
        case renewalInfoWithoutTransaction = "RENEWAL_INFO_WITHOUT_TRANSACTION"
        /// A transaction without an identifier contributes nothing.
        case transactionWithoutId = "TRANSACTION_WITHOUT_ID"
        /// A product type that this version does not know. It grants nothing by itself.
        case unknownProductType = "UNKNOWN_PRODUCT_TYPE"
        /// Every transaction of a subscription was upgraded, and its successor is missing.
        case upgradedWithoutSuccessor = "UPGRADED_WITHOUT_SUCCESSOR"
        /// Evidence of several customers was mixed, or of another one than expected.
        case customersMixed = "CUSTOMERS_MIXED"
        /// A receipt leaves finished consumables out, so their absence proves nothing.
        case receiptOmitsConsumables = "RECEIPT_OMITS_CONSUMABLES"
    }

    public var code: Code
    /// One sentence.
    public var message: String
    /// Index of the item, where the warning is about one.
    public var item: Int?
}
