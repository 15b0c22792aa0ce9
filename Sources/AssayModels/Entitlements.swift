/// What a customer owns at one moment, and which evidence says so.
public struct Entitlements: Equatable, Sendable {
    /// The moment that the answer is about.
    public var at: Timestamp
    /// By environment, then bundle identifier, then store.
    public var apps: [AppEntitlements] = []
    /// The newest date at which Apple signed any of the evidence.
    public var newestSignedDate: Timestamp?
    /// Whether the newest evidence is older than the policy's maximum age.
    public var isStale = false
    /// The earliest moment at which the answer changes without new evidence.
    public var nextChange: Timestamp?
    /// When to ask the App Store, because the evidence ends there. By moment and transaction.
    public var refresh: [EntitlementRefresh] = []
    /// Indices of the items that newer ones replace whole: without them the answer is the same.
    public package(set) var superseded: [Int] = []
    /// Remarks about the evidence, ordered by code.
    public var warnings: [EntitlementWarning] = []

    /// Creates entitlements without any app.
    public init(at: Timestamp) { self.at = at }
}

/// What a customer owns in one app and environment. The two never mix with others: Sandbox and
/// Production number transactions independently.
public struct AppEntitlements: Equatable, Sendable {
    /// The environment of the evidence; nil at Google Play, whose evidence names none.
    public var environment: StoreEnvironment?
    /// The app's bundle identifier; at other stores its package.
    public var bundleId: String
    /// The store that signed the evidence.
    public var store = EvidenceStore.apple
    /// By group identifier.
    public var subscriptionGroups: [SubscriptionGroup] = []
    /// By product identifier.
    public var nonConsumables: [ProductEntitlement] = []
    /// By product identifier.
    public var nonRenewing: [ProductEntitlement] = []
    /// By transaction identifier. A consumable is never an entitlement.
    public var consumables: [ConsumablePurchase] = []
    /// The customers that the evidence names.
    public var customers = Customers()

    /// Creates the answer for an app without purchases.
    public init(
        environment: StoreEnvironment? = nil, bundleId: String, store: EvidenceStore = .apple
    ) {
        self.environment = environment
        self.bundleId = bundleId
        self.store = store
    }
}

/// The evidence that decided an answer.
public struct DecidedBy: Equatable, Sendable {
    /// Index of the item.
    public var item: Int
    /// The transaction identifier.
    public var transactionId: String
    /// When Apple signed the evidence.
    public var signedDate: Timestamp?

    /// Names the evidence.
    public init(item: Int, transactionId: String, signedDate: Timestamp? = nil) {
        self.item = item
        self.transactionId = transactionId
        self.signedDate = signedDate
    }
}

/// Subscriptions of one group. The group entitles if any of its subscriptions does.
public struct SubscriptionGroup: Equatable, Sendable {
    /// Nil if no evidence names the group; the group then has one subscription.
    public var subscriptionGroupIdentifier: String?
    /// The subscription that decides: an entitled one first, then the one that ends last.
    public var deciding: Subscription
    /// By original transaction identifier.
    public var subscriptions: [Subscription]

    /// Creates a group.
    public init(
        subscriptionGroupIdentifier: String? = nil, deciding: Subscription,
        subscriptions: [Subscription]
    ) {
        self.subscriptionGroupIdentifier = subscriptionGroupIdentifier
        self.deciding = deciding
        self.subscriptions = subscriptions
    }

    /// Whether the customer has access to the group now.
    public var isEntitled: Bool { deciding.isEntitled }
}

/// One subscription: all transactions of one original transaction identifier, and of those from
/// which it moved.
public struct Subscription: Equatable, Sendable {
    /// The transaction identifier of the original purchase.
    public var originalTransactionId: String
    /// The state at the moment of the decision.
    public var status: SubscriptionState
    /// Whether the customer has access now.
    public var isEntitled: Bool
    /// The product of the current or last period.
    public var productId: String?
    /// End of the entitlement; nil where there is none or its end is not known.
    public var entitledUntil: Timestamp?
    /// How the customer owns it.
    public var ownership: InAppOwnershipType?
    /// Whether the period is a free trial.
    public var isTrial: Bool
    /// The type of the offer.
    public var offerType: OfferType?
    /// The billing plan.
    public var billingPlanType: BillingPlanType?
    /// Nil without renewal information.
    public var willRenew: Bool?
    /// The product of the next period; nil without renewal information.
    public var renewsAs: String?
    /// The reason for which it expired.
    public var expirationIntent: ExpirationIntent?
    /// In milliunits of percent, where the deciding transaction was refunded in part.
    public var revocationPercentage: Int32?
    /// The evidence that decided.
    public var decidedBy: DecidedBy
    /// End of the deciding transaction's period.
    public var expiresDate: Timestamp?
    /// The number of seats that are paid for; nil for a subscription of one customer.
    public var seats: Int64?
    /// The account that the newest statement about the deciding purchase names, else the newest of
    /// the subscription; in lower case.
    public var appAccountToken: String?
    /// The app's download that bought it.
    public var appTransactionId: String?
    /// Start of the deciding transaction's period.
    public var purchaseDate: Timestamp?
    /// The account of the next period, where it is another one.
    public var renewsForAppAccountToken: String?
    /// Whether it names another account than the one that the policy expects.
    public var belongsToAnotherAccount = false
    /// When Apple refunded or revoked the deciding transaction; only of the status `revoked`.
    public var revocationDate: Timestamp?
    /// Why; nil where the evidence does not say it.
    public var revocationReason: RevocationReason?
    /// How; nil where the evidence does not say it.
    public var revocationType: RevocationType?
    /// The identifier of the offer.
    public var offerIdentifier: String?
    /// Of monthly payments with a commitment: when the commitment ends.
    public var commitmentExpiresDate: Timestamp?
    /// Whether it renews after the commitment; nil without renewal information about one.
    public var commitmentWillRenew: Bool?

    /// Creates a subscription.
    public init(
        originalTransactionId: String, status: SubscriptionState = .unknown,
        isEntitled: Bool = false, productId: String? = nil, entitledUntil: Timestamp? = nil,
        ownership: InAppOwnershipType? = nil, isTrial: Bool = false, offerType: OfferType? = nil,
        billingPlanType: BillingPlanType? = nil, willRenew: Bool? = nil, renewsAs: String? = nil,
        expirationIntent: ExpirationIntent? = nil, revocationPercentage: Int32? = nil,
        decidedBy: DecidedBy, expiresDate: Timestamp? = nil
    ) {
        self.originalTransactionId = originalTransactionId
        self.status = status
        self.isEntitled = isEntitled
        self.productId = productId
        self.entitledUntil = entitledUntil
        self.ownership = ownership
        self.isTrial = isTrial
        self.offerType = offerType
        self.billingPlanType = billingPlanType
        self.willRenew = willRenew
        self.renewsAs = renewsAs
        self.expirationIntent = expirationIntent
        self.revocationPercentage = revocationPercentage
        self.decidedBy = decidedBy
        self.expiresDate = expiresDate
    }
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
    /// The last period has ended.
    case expired = "EXPIRED"
    /// No period is in force, and no renewal information says more.
    case unknown = "UNKNOWN"
}

/// A non-consumable or a non-renewing subscription.
public struct ProductEntitlement: Equatable, Sendable {
    /// The product identifier.
    public var productId: String
    /// Whether the customer owns it now.
    public var isEntitled: Bool
    /// Of a non-renewing subscription whose duration the policy knows.
    public var entitledUntil: Timestamp?
    /// The transaction identifier.
    public var transactionId: String
    /// How the customer owns it.
    public var ownership: InAppOwnershipType?
    /// When Apple refunded or revoked the purchase.
    public var revocationDate: Timestamp?
    /// In milliunits of percent.
    public var revocationPercentage: Int32?
    /// The evidence that decided.
    public var decidedBy: DecidedBy
    /// The account that the purchase names, in lower case.
    public var appAccountToken: String?
    /// The app's download that bought it.
    public var appTransactionId: String?
    /// When it was bought.
    public var purchaseDate: Timestamp?
    /// Whether it names another account than the one that the policy expects.
    public var belongsToAnotherAccount = false
    /// Why Apple refunded or revoked it; nil where the evidence does not say it.
    public var revocationReason: RevocationReason?
    /// How; nil where the evidence does not say it.
    public var revocationType: RevocationType?
    /// Every purchase of a non-renewing subscription, by date.
    public var purchases: [ProductPurchase] = []

    /// Creates a product.
    public init(
        productId: String, isEntitled: Bool = false, entitledUntil: Timestamp? = nil,
        transactionId: String, ownership: InAppOwnershipType? = nil,
        revocationDate: Timestamp? = nil, revocationPercentage: Int32? = nil, decidedBy: DecidedBy
    ) {
        self.productId = productId
        self.isEntitled = isEntitled
        self.entitledUntil = entitledUntil
        self.transactionId = transactionId
        self.ownership = ownership
        self.revocationDate = revocationDate
        self.revocationPercentage = revocationPercentage
        self.decidedBy = decidedBy
    }
}

/// One purchase of a non-renewing subscription.
public struct ProductPurchase: Equatable, Sendable {
    /// The transaction identifier.
    public var transactionId: String
    /// When it was bought.
    public var purchaseDate: Timestamp?
    /// When its period begins: the purchase, or the end of the period that it adds to.
    public var periodStart: Timestamp?
    /// The end of its period; nil: no end known.
    public var periodEnd: Timestamp?
    /// When Apple refunded or revoked it.
    public var revocationDate: Timestamp?
    /// Why; nil where the evidence does not say it.
    public var revocationReason: RevocationReason?
    /// How; nil where the evidence does not say it.
    public var revocationType: RevocationType?

    /// Creates a purchase.
    public init(
        transactionId: String, purchaseDate: Timestamp? = nil,
        periodStart: Timestamp? = nil, periodEnd: Timestamp? = nil, revocationDate: Timestamp? = nil
    ) {
        self.transactionId = transactionId
        self.purchaseDate = purchaseDate
        self.periodStart = periodStart
        self.periodEnd = periodEnd
        self.revocationDate = revocationDate
    }
}

/// One purchase of a consumable.
public struct ConsumablePurchase: Equatable, Sendable {
    /// The transaction identifier.
    public var transactionId: String
    /// The product identifier.
    public var productId: String?
    /// The number of items bought.
    public var quantity: Int64
    /// In milliunits of percent: 0 nothing was refunded, 100000 all of it.
    public var revokedPercentage: Int32
    /// Names the purchase: deliver it once by this key.
    public var dedupKey: String
    /// The evidence that decided.
    public var decidedBy: DecidedBy
    /// When it was bought.
    public var purchaseDate: Timestamp?
    /// The account that the purchase names, in lower case.
    public var appAccountToken: String?
    /// The app's download that bought it.
    public var appTransactionId: String?
    /// Whether it names another account than the one that the policy expects.
    public var belongsToAnotherAccount = false
    /// When Apple refunded or revoked it, or a share of it.
    public var revocationDate: Timestamp?
    /// Why; nil where the evidence does not say it.
    public var revocationReason: RevocationReason?
    /// How; nil where the evidence does not say it.
    public var revocationType: RevocationType?

    /// Creates a purchase.
    public init(
        transactionId: String, productId: String? = nil, quantity: Int64 = 1,
        revokedPercentage: Int32 = 0, dedupKey: String, decidedBy: DecidedBy
    ) {
        self.transactionId = transactionId
        self.productId = productId
        self.quantity = quantity
        self.revokedPercentage = revokedPercentage
        self.dedupKey = dedupKey
        self.decidedBy = decidedBy
    }
}

/// The customers that the entries of one app name.
public struct Customers: Equatable, Sendable {
    /// Sorted, in lower case.
    public var appAccountTokens: [String] = []
    /// Sorted.
    public var appTransactionIds: [String] = []
    /// Whether the entries name more than one account.
    public var isConflicting = false

    /// Names no customer.
    public init() {}
}

/// Something that the caller should know about the evidence. It never changes an entitlement.
public struct EntitlementWarning: Equatable, Sendable {
    /// The kind of warning.
    public enum Code: String, Sendable, CaseIterable {
        /// Renewal information whose subscription is not among the evidence.
        case renewalInfoWithoutTransaction = "RENEWAL_INFO_WITHOUT_TRANSACTION"
        /// A transaction without an identifier contributes nothing.
        case transactionWithoutId = "TRANSACTION_WITHOUT_ID"
        /// A product type that this version does not know. It grants nothing by itself.
        case unknownProductType = "UNKNOWN_PRODUCT_TYPE"
        /// A state of another store's purchase that this version can't read. It does not entitle.
        case unknownState = "UNKNOWN_STATE"
        /// Every transaction of a subscription was upgraded, and its successor is missing.
        case upgradedWithoutSuccessor = "UPGRADED_WITHOUT_SUCCESSOR"
        /// Evidence of several customers was mixed, or of another one than expected.
        case customersMixed = "CUSTOMERS_MIXED"
        /// A receipt leaves finished consumables out, so their absence proves nothing.
        case receiptOmitsConsumables = "RECEIPT_OMITS_CONSUMABLES"
        /// A Server API answer has no signed member, and so proves nothing.
        case noEvidence = "NO_EVIDENCE"
        /// A Server API answer names more pages: what it lacks proves nothing.
        case answerIncomplete = "ANSWER_INCOMPLETE"
        /// An unsigned member of an answer disagrees with the signed ones, which decide.
        case unsignedDisagrees = "UNSIGNED_DISAGREES"
        /// An entry of a Server API answer pairs a transaction with the renewal information of
        /// another original. Each counts for its own subscription.
        case pairDisagrees = "PAIR_DISAGREES"
        /// A newer period exists that nobody sent: renewal information says when it ends.
        case periodFromRenewalInfo = "PERIOD_FROM_RENEWAL_INFO"
        /// Apple says that a subscription is in its grace period, and not until when.
        case graceWithoutDate = "GRACE_WITHOUT_DATE"
        /// The newest status that Apple signed is another one than the evidence gives.
        case statusDisagrees = "STATUS_DISAGREES"
        /// The volume purchase of a receipt has ended (attribute 21): it entitles to nothing.
        case receiptExpired = "RECEIPT_EXPIRED"
        /// A notification names its app in a member that this version does not know.
        case unknownContainer = "UNKNOWN_CONTAINER"
        /// A transaction of a Server API answer names no bundle, and contributes nothing.
        case transactionWithoutBundle = "TRANSACTION_WITHOUT_BUNDLE"
        /// A subscription was replaced by a bundle whose transaction is not among the evidence.
        case bundleMissing = "BUNDLE_MISSING"
        /// The transactions of one subscription name two subscription groups.
        case lineageInTwoGroups = "LINEAGE_IN_TWO_GROUPS"
        /// Transactions of one line item name two originals that nothing joins.
        case lineItemUnderTwoOriginals = "LINE_ITEM_UNDER_TWO_ORIGINALS"
        /// A warning that this version does not know, from a newer server.
        case other = "OTHER"
    }

    /// The kind of warning.
    public var code: Code
    /// One sentence.
    public var message: String
    /// Index of the item, where the warning is about one.
    public var item: Int?

    /// Creates a warning.
    public init(code: Code = .other, message: String = "", item: Int? = nil) {
        self.code = code
        self.message = message
        self.item = item
    }
}
