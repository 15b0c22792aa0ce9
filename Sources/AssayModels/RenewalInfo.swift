/// The payload of signed renewal info (Apple: JWSRenewalInfoDecodedPayload).
public struct JWSRenewalInfoDecodedPayload: Equatable, Sendable {
    /// Why the subscription expired.
    public var expirationIntent: ExpirationIntent?
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String?
    /// Product of the next period.
    public var autoRenewProductId: String?
    /// Product of the current period.
    public var productId: String?
    /// Whether the subscription renews automatically.
    public var autoRenewStatus: AutoRenewStatus?
    /// Whether Apple is retrying a failed payment.
    public var isInBillingRetryPeriod: Bool?
    /// Response to a price increase.
    public var priceIncreaseStatus: PriceIncreaseStatus?
    /// The end of the billing grace period.
    public var gracePeriodExpiresDate: Timestamp?
    /// Type of the offer.
    public var offerType: OfferType?
    /// Identifier of the offer, or the offer code.
    public var offerIdentifier: String?
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp?
    /// The environment of the purchase.
    public var environment: StoreEnvironment?
    /// Start of the latest series of periods without a gap of over 60 days.
    public var recentSubscriptionStartDate: Timestamp?
    /// When the current period ends and the subscription renews.
    public var renewalDate: Timestamp?
    /// ISO 4217 code of the currency of the prices.
    public var currency: String?
    /// In milliunits of `currency`.
    public var renewalPrice: Int64?
    /// Payment mode of the offer.
    public var offerDiscountType: OfferDiscountType?
    /// Win-back offers for which the customer is eligible, best first.
    public var eligibleWinBackOfferIds: [String]?
    /// A UUID that the app supplied.
    public var appAccountToken: String?
    /// Identifier of the app's download, unique per Apple Account and app.
    public var appTransactionId: String?
    /// ISO 8601 duration of the offer.
    public var offerPeriod: String?
    /// Present for purchases made with the Advanced Commerce API.
    public var advancedCommerceInfo: AdvancedCommerceRenewalInfo? {
        get { boxedAdvancedCommerceInfo?.value }
        set { boxedAdvancedCommerceInfo = newValue.map { .value($0) } }
    }
    /// The commitment of a monthly plan.
    public var commitmentInfo: RenewalCommitmentInfo? {
        get { boxedCommitmentInfo?.value }
        set { boxedCommitmentInfo = newValue.map { .value($0) } }
    }
    /// Billing plan after the renewal.
    public var renewalBillingPlanType: RenewalBillingPlanType?
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device. Present only in
    /// payloads from a device, not in those from Apple's servers.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?
    /// Product identifier of the subscription bundle of the next period. The spelling of the
    /// bundle members in Apple's JSON is unconfirmed: `ID` and `Id` are both read.
    public var bundleProductID: String?
    /// Subscription group of the bundle. Spelling unconfirmed.
    public var bundleSubscriptionGroupID: String?
    /// Transaction identifier of the bundle's original purchase. Spelling unconfirmed.
    public var bundleOriginalTransactionID: String?
    /// Whether the subscription leaves the bundle at its next renewal. Spelling unconfirmed.
    public var willUnbundle: Bool?
    /// The number of seats of the next period.
    public var renewalQuantity: Int32?
    /// The prices of the seats of the next period.
    public var multiSeatInfo: RenewalMultiSeatInfo? {
        get { boxedMultiSeatInfo?.value }
        set { boxedMultiSeatInfo = newValue.map { .value($0) } }
    }

    private var boxedAdvancedCommerceInfo: Boxed<AdvancedCommerceRenewalInfo>?
    private var boxedCommitmentInfo: Boxed<RenewalCommitmentInfo>?
    private var boxedMultiSeatInfo: Boxed<RenewalMultiSeatInfo>?

    /// Creates an empty value.
    public init() {}
}

/// The seats of the next period (Apple: multiSeatInfo of renewal info).
public struct RenewalMultiSeatInfo: Equatable, Sendable {
    /// The prices of the seats, by number.
    public var renewalPriceTiers: [SeatPriceTier] = []

    /// Creates an empty value.
    public init() {}
}

/// Apple: RenewalCommitmentInfo.
public struct RenewalCommitmentInfo: Equatable, Sendable {
    /// Product after the commitment.
    public var commitmentAutoRenewProductId: String?
    /// Whether the subscription renews after the commitment.
    public var commitmentAutoRenewStatus: AutoRenewStatus?
    /// Billing plan after the commitment.
    public var commitmentRenewalBillingPlanType: RenewalBillingPlanType?
    /// When the commitment renews.
    public var commitmentRenewalDate: Timestamp?
    /// In milliunits of the currency.
    public var commitmentRenewalPrice: Int64?

    /// Creates an empty value.
    public init() {}
}

/// The reason for which a subscription expired. An open enumeration: keeps values that Apple adds
/// later.
public struct ExpirationIntent: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The customer cancelled.
    public static let cancelled = Self(rawValue: 1)
    /// The payment failed.
    public static let billingError = Self(rawValue: 2)
    /// The customer did not consent to a price increase.
    public static let noConsentToPriceIncrease = Self(rawValue: 3)
    /// The product was not for sale at the renewal.
    public static let productNotAvailable = Self(rawValue: 4)
    /// Another reason.
    public static let other = Self(rawValue: 5)
}

/// Whether a subscription renews automatically. An open enumeration: keeps values that Apple adds
/// later.
public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The subscription expires at the end of the period.
    public static let off = Self(rawValue: 0)
    /// The subscription renews at the end of the period.
    public static let on = Self(rawValue: 1)
}

/// The response to a price increase. An open enumeration: keeps values that Apple adds later.
public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int32
    public init(rawValue: Int32) { self.rawValue = rawValue }

    /// The customer has not answered.
    public static let notResponded = Self(rawValue: 0)
    /// The customer consented, or consent is not needed.
    public static let consentedOrNotNeeded = Self(rawValue: 1)
}

/// The billing plan of a subscription after its renewal. An open enumeration: keeps values that
/// Apple adds later.
public struct RenewalBillingPlanType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// One payment for the whole period.
    public static let billedUpfront = Self(rawValue: "BILLED_UPFRONT")
    /// Monthly payments with a commitment.
    public static let monthly = Self(rawValue: "MONTHLY")
}
