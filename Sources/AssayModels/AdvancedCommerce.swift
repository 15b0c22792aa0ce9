// Prices are in the currency of the enclosing transaction or renewal information. Every member is
// optional: none decides whether evidence is valid or a customer entitled.

/// Apple: AdvancedCommerceTransactionInfo.
public struct AdvancedCommerceTransactionInfo: Equatable, Sendable {
    /// Texts shown to the customer.
    public var descriptors: AdvancedCommerceDescriptors?
    /// In milliunits of the currency.
    public var estimatedTax: Int64?
    /// The items of the purchase.
    public var items: [AdvancedCommerceTransactionItem]?
    /// ISO 8601 duration of the billing period.
    public var period: AdvancedCommercePeriod?
    /// UUID of the request that started the purchase.
    public var requestReferenceId: String?
    /// Apple's code for the tax category.
    public var taxCode: String?
    /// In milliunits of the currency.
    public var taxExclusivePrice: Int64?
    /// A decimal number as text.
    public var taxRate: String?

    /// Creates an empty value.
    public init() {}
}

/// Apple: AdvancedCommerceTransactionItem.
public struct AdvancedCommerceTransactionItem: Equatable, Sendable {
    /// Product identifier, chosen by the developer.
    public var sku: String?
    /// Description shown to the customer.
    public var description: String?
    /// Name shown to the customer.
    public var displayName: String?
    /// Offer of the item.
    public var offer: AdvancedCommerceOffer?
    /// In milliunits of the currency.
    public var price: Int64?
    /// Refunds of the item.
    public var refunds: [AdvancedCommerceRefund]?
    /// When Apple refunded or revoked the item. Present means no entitlement.
    public var revocationDate: Timestamp?
    /// The partners of the item (Apple: partners), as JSON text: the names of their members could
    /// not be confirmed.
    public var partners: String?

    /// Creates an empty value.
    public init() {}
}

/// Apple: AdvancedCommerceRefund.
public struct AdvancedCommerceRefund: Equatable, Sendable {
    /// In milliunits of the currency.
    public var refundAmount: Int64?
    /// Date of the refund.
    public var refundDate: Timestamp?
    /// Reason for the refund.
    public var refundReason: AdvancedCommerceRefundReason?
    /// Extent of the refund.
    public var refundType: AdvancedCommerceRefundType?

    /// Creates an empty value.
    public init() {}
}

/// Apple: AdvancedCommerceOffer.
public struct AdvancedCommerceOffer: Equatable, Sendable {
    /// ISO 8601 duration of one period.
    public var period: AdvancedCommerceOfferPeriod?
    /// Number of periods.
    public var periodCount: Int32?
    /// In milliunits of the currency.
    public var price: Int64?
    /// Purpose of the offer.
    public var reason: AdvancedCommerceOfferReason?

    /// Creates an offer.
    public init(
        period: AdvancedCommerceOfferPeriod? = nil, periodCount: Int32? = nil, price: Int64? = nil,
        reason: AdvancedCommerceOfferReason? = nil
    ) {
        self.period = period
        self.periodCount = periodCount
        self.price = price
        self.reason = reason
    }
}

/// Apple: AdvancedCommerceDescriptors.
public struct AdvancedCommerceDescriptors: Equatable, Sendable {
    /// Description shown to the customer.
    public var description: String?
    /// Name shown to the customer.
    public var displayName: String?

    /// Creates descriptors.
    public init(description: String? = nil, displayName: String? = nil) {
        self.description = description
        self.displayName = displayName
    }
}

/// Apple: AdvancedCommerceRenewalInfo.
public struct AdvancedCommerceRenewalInfo: Equatable, Sendable {
    /// Token for the next request about the subscription.
    public var consistencyToken: String?
    /// Texts shown to the customer.
    public var descriptors: AdvancedCommerceDescriptors?
    /// The items of the purchase.
    public var items: [AdvancedCommerceRenewalItem]?
    /// ISO 8601 duration of the billing period.
    public var period: AdvancedCommercePeriod?
    /// UUID of the request that started the purchase.
    public var requestReferenceId: String?
    /// Apple's code for the tax category.
    public var taxCode: String?

    /// Creates an empty value.
    public init() {}
}

/// Apple: AdvancedCommerceRenewalItem.
public struct AdvancedCommerceRenewalItem: Equatable, Sendable {
    /// Product identifier, chosen by the developer.
    public var sku: String?
    /// Description shown to the customer.
    public var description: String?
    /// Name shown to the customer.
    public var displayName: String?
    /// Offer of the item.
    public var offer: AdvancedCommerceOffer?
    /// In milliunits of the currency.
    public var price: Int64?
    /// The pending price increase.
    public var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo?
    /// The partners of the item (Apple: partners), as JSON text: the names of their members could
    /// not be confirmed.
    public var partners: String?

    /// Creates an empty value.
    public init() {}
}

/// Apple: AdvancedCommercePriceIncreaseInfo.
public struct AdvancedCommercePriceIncreaseInfo: Equatable, Sendable {
    /// Items whose price changes with this one.
    public var dependentSKUs: [String]?
    /// In milliunits of the currency.
    public var price: Int64?
    /// State of the price increase.
    public var status: AdvancedCommercePriceIncreaseInfoStatus?

    /// Creates an empty value.
    public init() {}
}

/// The billing period of an Advanced Commerce subscription, an ISO 8601 duration. An open
/// enumeration: keeps values that Apple adds later.
public struct AdvancedCommercePeriod: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// One week.
    public static let p1w = Self(rawValue: "P1W")
    /// One month.
    public static let p1m = Self(rawValue: "P1M")
    /// Two months.
    public static let p2m = Self(rawValue: "P2M")
    /// Three months.
    public static let p3m = Self(rawValue: "P3M")
    /// Six months.
    public static let p6m = Self(rawValue: "P6M")
    /// One year.
    public static let p1y = Self(rawValue: "P1Y")
}

/// The reason for a refund of an Advanced Commerce item. An open enumeration: keeps values that
/// Apple adds later.
public struct AdvancedCommerceRefundReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer did not intend to buy.
    public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
    /// The customer did not receive the purchase, or it did not work.
    public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
    /// The customer was not satisfied with the purchase.
    public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
    /// A legal reason.
    public static let legal = Self(rawValue: "LEGAL")
    /// Another reason.
    public static let other = Self(rawValue: "OTHER")
    /// A change of the items of the subscription.
    public static let modifyItemsRefund = Self(rawValue: "MODIFY_ITEMS_REFUND")
    /// The sandbox simulates a declined refund.
    public static let simulateRefundDecline = Self(rawValue: "SIMULATE_REFUND_DECLINE")
}

/// The extent of a refund of an Advanced Commerce item. An open enumeration: keeps values that
/// Apple adds later.
public struct AdvancedCommerceRefundType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The whole price.
    public static let full = Self(rawValue: "FULL")
    /// The share for the rest of the period.
    public static let prorated = Self(rawValue: "PRORATED")
    /// An amount that the developer chose.
    public static let custom = Self(rawValue: "CUSTOM")
}

/// The length of one period of an Advanced Commerce offer, an ISO 8601 duration. An open
/// enumeration: keeps values that Apple adds later.
public struct AdvancedCommerceOfferPeriod: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Three days.
    public static let p3d = Self(rawValue: "P3D")
    /// One week.
    public static let p1w = Self(rawValue: "P1W")
    /// Two weeks.
    public static let p2w = Self(rawValue: "P2W")
    /// One month.
    public static let p1m = Self(rawValue: "P1M")
    /// Two months.
    public static let p2m = Self(rawValue: "P2M")
    /// Three months.
    public static let p3m = Self(rawValue: "P3M")
    /// Six months.
    public static let p6m = Self(rawValue: "P6M")
    /// Nine months.
    public static let p9m = Self(rawValue: "P9M")
    /// One year.
    public static let p1y = Self(rawValue: "P1Y")
}

/// The purpose of an Advanced Commerce offer. An open enumeration: keeps values that Apple adds
/// later.
public struct AdvancedCommerceOfferReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Wins new customers.
    public static let acquisition = Self(rawValue: "ACQUISITION")
    /// Wins former customers back.
    public static let winBack = Self(rawValue: "WIN_BACK")
    /// Keeps customers.
    public static let retention = Self(rawValue: "RETENTION")
}

/// The state of a price increase. An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommercePriceIncreaseInfoStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The increase is scheduled.
    public static let scheduled = Self(rawValue: "SCHEDULED")
    /// The increase is pending.
    public static let pending = Self(rawValue: "PENDING")
    /// The customer accepted the increase.
    public static let accepted = Self(rawValue: "ACCEPTED")
}
