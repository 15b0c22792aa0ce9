/// The payload of a signed transaction (Apple: JWSTransactionDecodedPayload).
public struct JWSTransactionDecodedPayload: Equatable, Sendable {
    public var originalTransactionId: String?
    public var transactionId: String?
    public var webOrderLineItemId: String?
    public var bundleId: String?
    public var productId: String?
    public var subscriptionGroupIdentifier: String?
    public var purchaseDate: Timestamp?
    public var originalPurchaseDate: Timestamp?
    /// The end of the subscription period.
    public var expiresDate: Timestamp?
    public var quantity: Int32?
    public var type: ProductType?
    /// A UUID that the app supplied.
    public var appAccountToken: String?
    public var inAppOwnershipType: InAppOwnershipType?
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp?
    public var revocationReason: RevocationReason?
    /// When Apple refunded or revoked the purchase. Present means no entitlement.
    public var revocationDate: Timestamp?
    /// Whether an upgrade to a higher service level replaced the subscription.
    public var isUpgraded: Bool?
    public var offerType: OfferType?
    public var offerIdentifier: String?
    public var environment: StoreEnvironment?
    public var storefront: String?
    public var storefrontId: String?
    public var transactionReason: TransactionReason?
    public var currency: String?
    /// In milliunits of `currency`.
    public var price: Int64?
    public var offerDiscountType: OfferDiscountType?
    public var appTransactionId: String?
    public var offerPeriod: String?
    public var revocationType: RevocationType?
    /// The refunded share of the price, as Apple reports it.
    public var revocationPercentage: Int32?
    public var advancedCommerceInfo: AdvancedCommerceTransactionInfo?
    public var billingPlanType: BillingPlanType?
    public var commitmentInfo: TransactionCommitmentInfo?
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device. Present only in
    /// payloads from a device, not in those from Apple's servers.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?

    public init() {}
}

/// Apple: TransactionCommitmentInfo.
public struct TransactionCommitmentInfo: Equatable, Sendable {
    public var billingPeriodNumber: Int32?
    public var commitmentExpiresDate: Timestamp?
    /// In milliunits of the currency.
    public var commitmentPrice: Int64?
    public var totalBillingPeriods: Int32?

    public init() {}
}

/// An open enumeration: keeps values that Apple adds later.
public struct ProductType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let autoRenewableSubscription = Self(rawValue: "Auto-Renewable Subscription")
    public static let nonConsumable = Self(rawValue: "Non-Consumable")
    public static let consumable = Self(rawValue: "Consumable")
    public static let nonRenewingSubscription = Self(rawValue: "Non-Renewing Subscription")
}

/// An open enumeration: keeps values that Apple adds later.
public struct InAppOwnershipType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let familyShared = Self(rawValue: "FAMILY_SHARED")
    public static let purchased = Self(rawValue: "PURCHASED")
}

/// An open enumeration: keeps values that Apple adds later.
public struct RevocationReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let other = Self(rawValue: 0)
    public static let issue = Self(rawValue: 1)
}

/// An open enumeration: keeps values that Apple adds later.
public struct OfferType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let introductory = Self(rawValue: 1)
    public static let promotional = Self(rawValue: 2)
    public static let offerCode = Self(rawValue: 3)
    public static let winBack = Self(rawValue: 4)
}

/// An open enumeration: keeps values that Apple adds later.
public struct TransactionReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let purchase = Self(rawValue: "PURCHASE")
    public static let renewal = Self(rawValue: "RENEWAL")
}

/// An open enumeration: keeps values that Apple adds later.
public struct OfferDiscountType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let freeTrial = Self(rawValue: "FREE_TRIAL")
    public static let payAsYouGo = Self(rawValue: "PAY_AS_YOU_GO")
    public static let payUpFront = Self(rawValue: "PAY_UP_FRONT")
    public static let oneTime = Self(rawValue: "ONE_TIME")
}

/// An open enumeration: keeps values that Apple adds later.
public struct RevocationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let refundFull = Self(rawValue: "REFUND_FULL")
    public static let refundProrated = Self(rawValue: "REFUND_PRORATED")
    public static let familyRevoke = Self(rawValue: "FAMILY_REVOKE")
}

/// An open enumeration: keeps values that Apple adds later.
public struct BillingPlanType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    public static let monthly = Self(rawValue: "MONTHLY")
}
