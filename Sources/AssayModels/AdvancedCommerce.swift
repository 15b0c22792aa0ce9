// Prices are in the currency of the enclosing transaction or renewal information.

/// Apple: AdvancedCommerceTransactionInfo.
public struct AdvancedCommerceTransactionInfo: Equatable, Sendable {
    public var descriptors: AdvancedCommerceDescriptors?
    /// In milliunits of the currency.
    public var estimatedTax: Int64?
    public var items: [AdvancedCommerceTransactionItem]?
    public var period: AdvancedCommercePeriod?
    public var requestReferenceId: String?
    public var taxCode: String?
    /// In milliunits of the currency.
    public var taxExclusivePrice: Int64?
    /// A decimal number as text.
    public var taxRate: String?

    public init() {}
}

/// Apple: AdvancedCommerceTransactionItem.
public struct AdvancedCommerceTransactionItem: Equatable, Sendable {
    public var sku: String?
    public var description: String?
    public var displayName: String?
    public var offer: AdvancedCommerceOffer?
    /// In milliunits of the currency.
    public var price: Int64?
    public var refunds: [AdvancedCommerceRefund]?
    /// When Apple refunded or revoked the item. Present means no entitlement.
    public var revocationDate: Timestamp?

    public init() {}
}

/// Apple: AdvancedCommerceRefund.
public struct AdvancedCommerceRefund: Equatable, Sendable {
    /// In milliunits of the currency.
    public var refundAmount: Int64?
    public var refundDate: Timestamp?
    public var refundReason: AdvancedCommerceRefundReason?
    public var refundType: AdvancedCommerceRefundType?

    public init() {}
}

/// Apple: AdvancedCommerceOffer.
public struct AdvancedCommerceOffer: Equatable, Sendable {
    public var period: AdvancedCommerceOfferPeriod
    public var periodCount: Int32
    /// In milliunits of the currency.
    public var price: Int64
    public var reason: AdvancedCommerceOfferReason

    public init(
        period: AdvancedCommerceOfferPeriod,
        periodCount: Int32,
        price: Int64,
        reason: AdvancedCommerceOfferReason
    ) {
        self.period = period
        self.periodCount = periodCount
        self.price = price
        self.reason = reason
    }
}

/// Apple: AdvancedCommerceDescriptors.
public struct AdvancedCommerceDescriptors: Equatable, Sendable {
    public var description: String
    public var displayName: String

    public init(
        description: String,
        displayName: String
    ) {
        self.description = description
        self.displayName = displayName
    }
}

/// Apple: AdvancedCommerceRenewalInfo.
public struct AdvancedCommerceRenewalInfo: Equatable, Sendable {
    public var consistencyToken: String?
    public var descriptors: AdvancedCommerceDescriptors?
    public var items: [AdvancedCommerceRenewalItem]?
    public var period: AdvancedCommercePeriod?
    public var requestReferenceId: String?
    public var taxCode: String?

    public init() {}
}

/// Apple: AdvancedCommerceRenewalItem.
public struct AdvancedCommerceRenewalItem: Equatable, Sendable {
    public var sku: String?
    public var description: String?
    public var displayName: String?
    public var offer: AdvancedCommerceOffer?
    /// In milliunits of the currency.
    public var price: Int64?
    public var priceIncreaseInfo: AdvancedCommercePriceIncreaseInfo?

    public init() {}
}

/// Apple: AdvancedCommercePriceIncreaseInfo.
public struct AdvancedCommercePriceIncreaseInfo: Equatable, Sendable {
    public var dependentSKUs: [String]?
    /// In milliunits of the currency.
    public var price: Int64?
    public var status: AdvancedCommercePriceIncreaseInfoStatus?

    public init() {}
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommercePeriod: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let p1w = Self(rawValue: "P1W")
    public static let p1m = Self(rawValue: "P1M")
    public static let p2m = Self(rawValue: "P2M")
    public static let p3m = Self(rawValue: "P3M")
    public static let p6m = Self(rawValue: "P6M")
    public static let p1y = Self(rawValue: "P1Y")
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommerceRefundReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let unintendedPurchase = Self(rawValue: "UNINTENDED_PURCHASE")
    public static let fulfillmentIssue = Self(rawValue: "FULFILLMENT_ISSUE")
    public static let unsatisfiedWithPurchase = Self(rawValue: "UNSATISFIED_WITH_PURCHASE")
    public static let legal = Self(rawValue: "LEGAL")
    public static let other = Self(rawValue: "OTHER")
    public static let modifyItemsRefund = Self(rawValue: "MODIFY_ITEMS_REFUND")
    public static let simulateRefundDecline = Self(rawValue: "SIMULATE_REFUND_DECLINE")
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommerceRefundType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let full = Self(rawValue: "FULL")
    public static let prorated = Self(rawValue: "PRORATED")
    public static let custom = Self(rawValue: "CUSTOM")
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommerceOfferPeriod: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let p3d = Self(rawValue: "P3D")
    public static let p1w = Self(rawValue: "P1W")
    public static let p2w = Self(rawValue: "P2W")
    public static let p1m = Self(rawValue: "P1M")
    public static let p2m = Self(rawValue: "P2M")
    public static let p3m = Self(rawValue: "P3M")
    public static let p6m = Self(rawValue: "P6M")
    public static let p9m = Self(rawValue: "P9M")
    public static let p1y = Self(rawValue: "P1Y")
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommerceOfferReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let acquisition = Self(rawValue: "ACQUISITION")
    public static let winBack = Self(rawValue: "WIN_BACK")
    public static let retention = Self(rawValue: "RETENTION")
}

/// An open enumeration: keeps values that Apple adds later.
public struct AdvancedCommercePriceIncreaseInfoStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let scheduled = Self(rawValue: "SCHEDULED")
    public static let pending = Self(rawValue: "PENDING")
    public static let accepted = Self(rawValue: "ACCEPTED")
}
