/// The payload of signed renewal info (Apple: JWSRenewalInfoDecodedPayload).
public struct JWSRenewalInfoDecodedPayload: Equatable, Sendable {
    public var expirationIntent: ExpirationIntent?
    public var originalTransactionId: String?
    public var autoRenewProductId: String?
    public var productId: String?
    public var autoRenewStatus: AutoRenewStatus?
    public var isInBillingRetryPeriod: Bool?
    public var priceIncreaseStatus: PriceIncreaseStatus?
    /// The end of the billing grace period.
    public var gracePeriodExpiresDate: Timestamp?
    public var offerType: OfferType?
    public var offerIdentifier: String?
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp?
    public var environment: StoreEnvironment?
    public var recentSubscriptionStartDate: Timestamp?
    public var renewalDate: Timestamp?
    public var currency: String?
    /// In milliunits of `currency`.
    public var renewalPrice: Int64?
    public var offerDiscountType: OfferDiscountType?
    public var eligibleWinBackOfferIds: [String]?
    /// A UUID that the app supplied.
    public var appAccountToken: String?
    public var appTransactionId: String?
    public var offerPeriod: String?
    public var advancedCommerceInfo: AdvancedCommerceRenewalInfo?
    public var commitmentInfo: RenewalCommitmentInfo?
    public var renewalBillingPlanType: RenewalBillingPlanType?
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device. Present only in
    /// payloads from a device, not in those from Apple's servers.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?

    public init() {}
}

/// Apple: RenewalCommitmentInfo.
public struct RenewalCommitmentInfo: Equatable, Sendable {
    public var commitmentAutoRenewProductId: String?
    public var commitmentAutoRenewStatus: AutoRenewStatus?
    public var commitmentRenewalBillingPlanType: RenewalBillingPlanType?
    public var commitmentRenewalDate: Timestamp?
    /// In milliunits of the currency.
    public var commitmentRenewalPrice: Int64?

    public init() {}
}

/// An open enumeration: keeps values that Apple adds later.
public struct ExpirationIntent: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let cancelled = Self(rawValue: 1)
    public static let billingError = Self(rawValue: 2)
    public static let noConsentToPriceIncrease = Self(rawValue: 3)
    public static let productNotAvailable = Self(rawValue: 4)
    public static let other = Self(rawValue: 5)
}

/// An open enumeration: keeps values that Apple adds later.
public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let off = Self(rawValue: 0)
    public static let on = Self(rawValue: 1)
}

/// An open enumeration: keeps values that Apple adds later.
public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    public static let notResponded = Self(rawValue: 0)
    public static let consentedOrNotNeeded = Self(rawValue: 1)
}

/// An open enumeration: keeps values that Apple adds later.
public struct RenewalBillingPlanType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    public static let monthly = Self(rawValue: "MONTHLY")
}
