/// The store that signed evidence. An open enumeration: keeps values that later versions add.
public struct EvidenceStore: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's App Store.
    public static let apple = Self(rawValue: "APPLE")
    /// Google Play.
    public static let google = Self(rawValue: "GOOGLE")
    /// Huawei AppGallery on Android (HMS).
    public static let huawei = Self(rawValue: "HUAWEI")
    /// Huawei AppGallery on HarmonyOS (IAP Kit).
    public static let harmony = Self(rawValue: "HARMONY")
}

/// The state of a purchase at the moment of its signature. An open enumeration: keeps values that
/// later versions add. Only `purchased` is paid.
public struct PurchaseState: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Paid.
    public static let purchased = Self(rawValue: "PURCHASED")
    /// Not paid yet, for example in cash. Grant nothing.
    public static let pending = Self(rawValue: "PENDING")
    /// Canceled. Grant nothing.
    public static let canceled = Self(rawValue: "CANCELED")
    /// Refunded. Grant nothing.
    public static let refunded = Self(rawValue: "REFUNDED")
    /// The purchase names no state, or one that this version does not know. Grant nothing.
    public static let unknown = Self(rawValue: "UNKNOWN")
}

extension PurchaseState {
    /// Whether the store took the purchase back.
    package var isTakenBack: Bool { self == .canceled || self == .refunded }

    /// A state follows those before it: pending, purchased, then what takes away.
    package var rank: Int64 {
        switch self {
        case .pending: 1
        case .purchased: 2
        case .canceled: 3
        case .refunded: 4
        default: 0
        }
    }
}

/// A purchase of another store than Apple's, in the words that all stores share: what it entitles
/// to follows from these members alone.
package struct StorePurchase: Sendable {
    /// What the evidence says of the product's type.
    package enum Kind: Sendable {
        case subscription
        /// Bought once. Google does not say whether it is consumed.
        case product
        case consumable
        /// Its end comes from the policy.
        case nonRenewing
        /// A type that this version does not know, or none. It grants nothing.
        case unknown
    }

    /// Empty where the store's evidence names none.
    package let environment: StoreEnvironment
    package let kind: Kind
    /// Names the purchase: Google's token, Huawei's order.
    package let id: String
    /// Names the purchase for the store's API.
    package let token: String
    package let productIds: [String]
    package let state: PurchaseState
    package let purchaseTime: Timestamp?
    package let quantity: Int64
    package internal(set) var account: String?
    /// The group that the store names.
    package internal(set) var group: String?
    /// The name of a subscription's periods, which are one subscription.
    package internal(set) var subscription: String
    /// End of the subscription's period; nil where the store does not say it.
    package internal(set) var end: Timestamp?
    /// End of the grace period that follows.
    package internal(set) var graceEnd: Timestamp?
    /// Whether the store took it back, also where it does not say when.
    package internal(set) var isRevoked: Bool
    /// When the store canceled, refunded or revoked it; nil where it does not say it.
    package internal(set) var revokedAt: Timestamp?
    /// Why, by the name of the member and its number.
    package internal(set) var revocationReason: (member: String, number: Int64)?
    /// Whether the store says that the subscription is not in force, whatever its dates.
    package internal(set) var hasExpired = false
    package internal(set) var isRetried = false
    package internal(set) var isTrial = false
    /// Whether the store states something of the subscription that this version does not know.
    package internal(set) var hasUnknownStatus = false
    package internal(set) var willRenew: Bool?
    /// Of two statements about one purchase the greater replaces the other: the later state, then
    /// what takes away more.
    package internal(set) var rank: [Int64] = []

    init(
        _ environment: StoreEnvironment, _ kind: Kind, id: String, token: String,
        productIds: [String], state: PurchaseState, purchaseTime: Timestamp?, quantity: Int32?
    ) {
        self.environment = environment
        self.kind = kind
        self.id = id
        self.token = token
        self.productIds = productIds
        self.state = state
        self.purchaseTime = purchaseTime
        self.quantity = Int64(quantity ?? 1)
        subscription = token
        isRevoked = state.isTakenBack
    }
}
