import AssayModels

/// A purchase of another store than Apple's, as far as entitlements need it.
struct StorePurchase {
    /// What the evidence says of the product's type.
    enum Kind {
        case subscription
        /// Bought once. Google does not say whether it is consumed.
        case product
        case consumable
        /// Its end comes from the policy.
        case nonRenewing
        /// A type that this version does not know, or none. It grants nothing.
        case unknown
    }

    let item: Int
    /// Empty where the store's evidence names none.
    let environment: StoreEnvironment
    /// The group that the store names.
    private(set) var group: String?
    let kind: Kind
    /// Names the purchase: Google's token, Huawei's order.
    let id: String
    /// Names the purchase for the store's API.
    let token: String
    let productIds: [String]
    let state: PurchaseState
    let purchaseTime: Timestamp?
    let quantity: Int64
    let account: String?
    /// End of the subscription's period; nil where the store does not say it.
    let end: Timestamp?
    /// End of the grace period that follows.
    private(set) var graceEnd: Timestamp?
    /// Whether the store took it back, also where it does not say when.
    let isRevoked: Bool
    /// When the store canceled, refunded or revoked it; nil where it does not say it.
    let revokedAt: Timestamp?
    /// Whether the store says that the subscription is not in force, whatever its dates.
    private(set) var hasExpired = false
    private(set) var isRetried = false
    private(set) var isTrial = false
    /// Whether the store states something of the subscription that this version does not know.
    private(set) var hasUnknownStatus = false
    let willRenew: Bool?
    /// The names of a subscription's periods, which are one subscription.
    let subscription: String
    /// Distinguishes statements about one purchase.
    private let rank: [Int64]
    private let json: [UInt8]

    init(_ purchase: VerifiedPayload<GooglePurchase>, item: Int) {
        let payload = purchase.payload
        self.item = item
        environment = StoreEnvironment(rawValue: "")
        let quantity = Int64(payload.quantity ?? 1)
        // Only a consumable can be bought several times at once.
        kind = payload.autoRenewing != nil ? .subscription : quantity > 1 ? .consumable : .product
        token = payload.purchaseToken ?? ""
        id = token
        productIds = payload.productIds
        state = payload.state
        purchaseTime = payload.purchaseTime
        self.quantity = quantity
        account = payload.obfuscatedAccountId
        end = nil
        isRevoked = Self.takenBack.contains(payload.state)
        revokedAt = nil
        willRenew = payload.autoRenewing
        subscription = token
        rank = [
            Self.rank(payload.state), payload.purchaseTime?.milliseconds ?? .min,
            payload.acknowledged == true ? 1 : 0, payload.autoRenewing == false ? 1 : 0,
        ]
        json = purchase.json
    }

    init(_ purchase: VerifiedPayload<HuaweiPurchase>, item: Int) {
        self.init(purchase.payload, json: purchase.json, item: item)
    }

    /// Nil without an order: the notification names no purchase then.
    init?(_ notification: VerifiedPayload<HuaweiNotification>, item: Int) {
        guard let order = notification.payload.latestReceiptInfo else { return nil }
        self.init(order, json: notification.json, item: item)
    }

    private init(_ payload: HuaweiPurchase, json: [UInt8], item: Int) {
        self.item = item
        environment = payload.environment
        kind =
            switch payload.kind {
            case 0: .consumable
            case 1: .product
            case 2: .subscription
            default: .unknown
            }
        token = payload.purchaseToken ?? ""
        id = payload.orderId ?? token
        productIds = payload.productId.map { [$0] } ?? []
        state = payload.state
        purchaseTime = payload.purchaseTime
        quantity = Int64(payload.quantity ?? 1)
        account = nil
        end = payload.expirationDate
        graceEnd = payload.graceExpirationTime
        isRevoked = payload.cancelTime != nil || Self.takenBack.contains(payload.state)
        revokedAt = payload.cancelTime
        hasExpired = payload.kind == 2 && payload.subIsvalid == false
        isTrial = payload.trialFlag == 1
        willRenew = payload.autoRenewing
        subscription = payload.subscriptionId ?? token
        rank = [
            Self.rank(payload.state), payload.cancelTime == nil ? 0 : 1,
            payload.subIsvalid == false ? 1 : 0,
            payload.expirationDate?.milliseconds ?? .min,
            payload.graceExpirationTime?.milliseconds ?? .min,
            payload.purchaseTime?.milliseconds ?? .min,
            payload.autoRenewing == false ? 1 : 0,
        ]
        self.json = json
    }

    init(_ purchase: VerifiedPayload<HarmonyPurchase>, item: Int) {
        self.init(purchase.payload, json: purchase.json, item: item)
    }

    /// - Parameter signed: when Huawei signed it, also as part of a subscription's state.
    private init(
        _ payload: HarmonyPurchase, signed: Timestamp? = nil, end: Timestamp? = nil,
        willRenew: Bool? = nil, subscription: String? = nil, isRevoked: Bool = false,
        json: [UInt8], item: Int
    ) {
        self.item = item
        environment = payload.storeEnvironment
        kind =
            switch payload.productType {
            case 0: .consumable
            case 1: .product
            case 2: .subscription
            case 3: .nonRenewing
            default: .unknown
            }
        id = payload.purchaseOrderId ?? payload.purchaseToken ?? ""
        token = payload.purchaseToken ?? id
        productIds = payload.productId.map { [$0] } ?? []
        state = payload.state
        purchaseTime = payload.purchaseTime
        quantity = Int64(payload.quantity ?? 1)
        account = nil
        self.end = end
        self.isRevoked = isRevoked || Self.takenBack.contains(payload.state)
        revokedAt = payload.revocationTime
        self.willRenew = willRenew
        self.subscription = subscription ?? payload.purchaseToken ?? id
        // Huawei dates its statements. One of a subscription's state knows more than its order.
        rank = [
            (signed ?? payload.signedTime)?.milliseconds ?? .min, Self.rank(payload.state),
            end == nil ? 0 : 1,
        ]
        self.json = json
    }

    /// Nil without an order: the state names no product then.
    init?(_ evidence: VerifiedPayload<HarmonySubscription>, item: Int) {
        let payload = evidence.payload
        guard var order = payload.lastPurchaseOrder else { return nil }
        order.environment = payload.environment ?? order.environment
        order.productType = order.productType ?? 2
        self.init(
            order, signed: payload.signedTime ?? order.signedTime, end: payload.expiresTime,
            willRenew: payload.autoRenewStatusCode.map { $0 == 1 },
            subscription: payload.purchaseToken ?? payload.subscriptionId,
            isRevoked: payload.status == Self.revokedStatus, json: evidence.json, item: item)
        group = payload.subGroupId
        switch payload.status {
        case 1, Self.revokedStatus, nil: break
        case 2: hasExpired = true
        case 3: isRetried = true
        default: hasUnknownStatus = true
        }
    }

    /// Huawei's number of a subscription that was revoked.
    private static let revokedStatus: Int32 = 5

    private static let takenBack: [PurchaseState] = [.canceled, .refunded]

    /// A state follows those before it: pending, purchased, then what takes away.
    private static func rank(_ state: PurchaseState) -> Int64 {
        switch state {
        case .pending: 1
        case .purchased: 2
        case .canceled: 3
        case .refunded: 4
        default: 0
        }
    }

    /// Whether this statement replaces another about the same purchase. No store dates its
    /// statements: the later state wins, what takes away more, then byte order.
    func wins(over other: StorePurchase) -> Bool {
        if rank != other.rank { return other.rank.lexicographicallyPrecedes(rank) }
        if json != other.json { return other.json.lexicographicallyPrecedes(json) }
        return item < other.item
    }

    var decidedBy: DecidedBy {
        DecidedBy(item: item, transactionId: id, signedDate: purchaseTime)
    }
}

// MARK: - One purchase at a moment

extension StorePurchase {
    /// Whether it was bought by then.
    func hasBegun(at moment: Int64) -> Bool { (purchaseTime?.milliseconds ?? .min) <= moment }

    /// Whether the store had taken it back by then. Without a date it never counts.
    func isRevoked(at moment: Int64) -> Bool {
        isRevoked && revokedAt.map { $0.milliseconds <= moment } ?? true
    }

    /// Whether it is paid and, as far as the store says when, not yet taken back.
    func isPaid(at moment: Int64) -> Bool {
        let wasPaid = state == .purchased || state == .refunded && revokedAt != nil
        return wasPaid && !hasUnknownStatus && hasBegun(at: moment) && !isRevoked(at: moment)
    }

    /// The earlier of an end and the moment at which the store took it back.
    func limited(_ end: Timestamp?) -> Timestamp? {
        guard isRevoked, let revokedAt else { return end }
        return end.map { min($0, revokedAt) } ?? revokedAt
    }
}

/// The purchases of one app at another store, each by its winning statement.
struct StorePurchases {
    private var byID: [String: StorePurchase] = [:]

    mutating func add(_ purchase: StorePurchase) {
        if let known = byID[purchase.id], !purchase.wins(over: known) { return }
        byID[purchase.id] = purchase
    }

    var all: Dictionary<String, StorePurchase>.Values { byID.values }

    /// By purchase time, then identifier.
    var sorted: [StorePurchase] {
        byID.values.sorted {
            let (left, right) = (
                $0.purchaseTime ?? .init(milliseconds: .min),
                $1.purchaseTime ?? .init(milliseconds: .min)
            )
            return left != right ? left < right : $0.id < $1.id
        }
    }
}
