/// The payload of a signed transaction (Apple: JWSTransactionDecodedPayload).
public struct JWSTransactionDecodedPayload: Equatable, Sendable {
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String?
    /// Unique identifier of the transaction.
    public var transactionId: String?
    /// Identifier of a subscription purchase or renewal, the same on all devices.
    public var webOrderLineItemId: String?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Product identifier, as in App Store Connect.
    public var productId: String?
    /// Subscription group that the product belongs to.
    public var subscriptionGroupIdentifier: String?
    /// When Apple charged the account.
    public var purchaseDate: Timestamp?
    /// When the original purchase was made.
    public var originalPurchaseDate: Timestamp?
    /// The end of the subscription period.
    public var expiresDate: Timestamp?
    /// Number of consumables bought.
    public var quantity: Int32?
    /// Type of the product.
    public var type: ProductType?
    /// A UUID that the app supplied.
    public var appAccountToken: String?
    /// Whether the customer bought the product or has it through Family Sharing.
    public var inAppOwnershipType: InAppOwnershipType?
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp?
    /// Why Apple refunded the purchase.
    public var revocationReason: RevocationReason?
    /// When Apple refunded or revoked the purchase. Present means no entitlement.
    public var revocationDate: Timestamp?
    /// Whether an upgrade to a higher service level replaced the subscription.
    public var isUpgraded: Bool?
    /// Type of the offer.
    public var offerType: OfferType?
    /// Identifier of the offer, or the offer code.
    public var offerIdentifier: String?
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// ISO 3166-1 alpha-3 country code of the storefront.
    public var storefront: String?
    /// Apple's identifier of the storefront.
    public var storefrontId: String?
    /// Cause of the transaction.
    public var transactionReason: TransactionReason?
    /// ISO 4217 code of the currency of the prices.
    public var currency: String?
    /// In milliunits of `currency`.
    public var price: Int64?
    /// Payment mode of the offer.
    public var offerDiscountType: OfferDiscountType?
    /// Identifier of the app's download, unique per Apple Account and app.
    public var appTransactionId: String?
    /// ISO 8601 duration of the offer.
    public var offerPeriod: String?
    /// Type of the revocation.
    public var revocationType: RevocationType?
    /// The refunded share of the price, as Apple reports it.
    public var revocationPercentage: Int32?
    /// Present for purchases made with the Advanced Commerce API.
    public var advancedCommerceInfo: AdvancedCommerceTransactionInfo? {
        get { boxedAdvancedCommerceInfo?.value }
        set { boxedAdvancedCommerceInfo = newValue.map { .value($0) } }
    }
    /// Billing plan of the subscription.
    public var billingPlanType: BillingPlanType?
    /// The commitment of a monthly plan.
    public var commitmentInfo: TransactionCommitmentInfo? {
        get { boxedCommitmentInfo?.value }
        set { boxedCommitmentInfo = newValue.map { .value($0) } }
    }
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device. Present only in
    /// payloads from a device, not in those from Apple's servers.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?
    /// Transaction identifier of the original purchase before the subscription moved, for example
    /// to the Advanced Commerce API.
    public var previousOriginalTransactionId: String?
    /// Product identifier of the subscription bundle that the transaction comes from. The spelling
    /// of the four bundle members in Apple's JSON is unconfirmed: `ID` and `Id` are both read.
    public var bundleProductID: String?
    /// Subscription group of the bundle. Spelling unconfirmed.
    public var bundleSubscriptionGroupID: String?
    /// Transaction identifier of the bundle's own transaction. Spelling unconfirmed.
    public var bundleTransactionID: String?
    /// Transaction identifier of the bundle's original purchase. Spelling unconfirmed.
    public var bundleOriginalTransactionID: String?
    /// Why the transaction adds to a period instead of beginning one.
    public var additionalTransactionReason: AdditionalTransactionReason?
    /// The seats of a subscription for a group or an organisation. `quantity` is their number, and
    /// `price` the average of one.
    public var multiSeatInfo: TransactionMultiSeatInfo? {
        get { boxedMultiSeatInfo?.value }
        set { boxedMultiSeatInfo = newValue.map { .value($0) } }
    }

    private var boxedAdvancedCommerceInfo: Boxed<AdvancedCommerceTransactionInfo>?
    private var boxedCommitmentInfo: Boxed<TransactionCommitmentInfo>?
    private var boxedMultiSeatInfo: Boxed<TransactionMultiSeatInfo>?

    /// Creates an empty value.
    public init() {}
}

/// Why a transaction adds to a period. An open enumeration: keeps values that Apple adds later.
public struct AdditionalTransactionReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Seats were added to the period.
    public static let seatAddition = Self(rawValue: "SEAT_ADDITION")
}

/// The seats of a transaction (Apple: multiSeatInfo).
public struct TransactionMultiSeatInfo: Equatable, Sendable {
    /// Who sends the invitations to the seats.
    public var invitationManagement: InvitationManagement?
    /// The prices of the seats, by number.
    public var priceTiers: [SeatPriceTier] = []
    /// The number of seats that Apple refunded.
    public var revokedSeatQuantity: Int32?

    /// Creates an empty value.
    public init() {}
}

/// The price of some seats.
public struct SeatPriceTier: Equatable, Sendable {
    /// Of one seat, in milliunits of the currency.
    public var price: Int64?
    /// The number of seats at this price.
    public var quantity: Int32?

    /// Creates an empty value.
    public init() {}
}

/// Who sends the invitations to seats. An open enumeration: keeps values that Apple adds later.
public struct InvitationManagement: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store.
    public static let apple = Self(rawValue: "APPLE")
    /// The developer.
    public static let developer = Self(rawValue: "DEVELOPER")
}

/// Apple: TransactionCommitmentInfo.
public struct TransactionCommitmentInfo: Equatable, Sendable {
    /// Number of the billing period within the commitment, from 1.
    public var billingPeriodNumber: Int32?
    /// End of the commitment.
    public var commitmentExpiresDate: Timestamp?
    /// In milliunits of the currency.
    public var commitmentPrice: Int64?
    /// Number of billing periods in the commitment.
    public var totalBillingPeriods: Int32?

    /// Creates an empty value.
    public init() {}
}

/// The type of a product. An open enumeration: keeps values that Apple adds later. The values for
/// subscription bundles and suites are unconfirmed and have no name here; their text is kept.
public struct ProductType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription that renews.
    public static let autoRenewableSubscription = Self(rawValue: "Auto-Renewable Subscription")
    /// Bought once, owned forever.
    public static let nonConsumable = Self(rawValue: "Non-Consumable")
    /// Used up, and bought again.
    public static let consumable = Self(rawValue: "Consumable")
    /// A subscription without renewal.
    public static let nonRenewingSubscription = Self(rawValue: "Non-Renewing Subscription")
}

/// How the customer owns a product. An open enumeration: keeps values that Apple adds later.
public struct InAppOwnershipType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Shared by a family member.
    public static let familyShared = Self(rawValue: "FAMILY_SHARED")
    /// Bought by the customer.
    public static let purchased = Self(rawValue: "PURCHASED")
    /// A seat that a group or an organisation gave the customer.
    public static let assigned = Self(rawValue: "ASSIGNED")
}

/// The reason for a refund. An open enumeration: keeps values that Apple adds later.
public struct RevocationReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// Another reason.
    public static let other = Self(rawValue: 0)
    /// An issue with the app.
    public static let issue = Self(rawValue: 1)
}

/// The type of a subscription offer. An open enumeration: keeps values that Apple adds later.
public struct OfferType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// An introductory offer.
    public static let introductory = Self(rawValue: 1)
    /// A promotional offer.
    public static let promotional = Self(rawValue: 2)
    /// An offer code.
    public static let offerCode = Self(rawValue: 3)
    /// A win-back offer.
    public static let winBack = Self(rawValue: 4)
    /// A retention offer.
    public static let retention = Self(rawValue: 5)
}

/// The cause of a transaction. An open enumeration: keeps values that Apple adds later.
public struct TransactionReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought the product.
    public static let purchase = Self(rawValue: "PURCHASE")
    /// A subscription renewed.
    public static let renewal = Self(rawValue: "RENEWAL")
}

/// The payment mode of an offer. An open enumeration: keeps values that Apple adds later.
public struct OfferDiscountType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A free trial.
    public static let freeTrial = Self(rawValue: "FREE_TRIAL")
    /// A reduced price for a number of periods.
    public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    /// One payment for the whole offer.
    public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    /// A discount on a one-time purchase.
    public static let oneTime = Self(rawValue: "ONE_TIME")
}

/// The type of a revocation. An open enumeration: keeps values that Apple adds later.
public struct RevocationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A refund of the whole price.
    public static let refundFull = Self(rawValue: "REFUND_FULL")
    /// A refund of a share of the price.
    public static let refundProrated = Self(rawValue: "REFUND_PRORATED")
    /// The end of Family Sharing for the purchase.
    public static let familyRevoke = Self(rawValue: "FAMILY_REVOKE")
    /// The end of a seat that a group or an organisation had assigned. The spelling could not be
    /// confirmed.
    public static let assignmentRevoke = Self(rawValue: "ASSIGNMENT_REVOKE")
}

/// The billing plan of a subscription. An open enumeration: keeps values that Apple adds later.
public struct BillingPlanType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// One payment for the whole period.
    public static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    /// Monthly payments with a commitment.
    public static let monthly = Self(rawValue: "MONTHLY")
}
