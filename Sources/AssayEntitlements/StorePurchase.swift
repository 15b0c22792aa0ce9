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
    }

    let item: Int
    let environment: StoreEnvironment
    /// The group that the store names.
    private(set) var group: String?
    let kind: Kind
    let token: String
    let productIds: [String]
    let state: PurchaseState
    let purchaseTime: Timestamp?
    let quantity: Int64
    let account: String?
    /// End of the subscription's period; nil where the store does not say it.
    let end: Timestamp?
    let isRevoked: Bool
    /// When the store canceled, refunded or revoked it; nil where it does not say it.
    let revokedAt: Timestamp?
    /// Whether the store says that the subscription has ended, whatever its end.
    private(set) var hasExpired = false
    let willRenew: Bool?
    /// The names of a subscription's periods, which are one subscription.
    let subscription: String
    /// Distinguishes statements about one purchase.
    private let rank: [Int64]
    private let json: [UInt8]

    init(_ purchase: VerifiedPayload<GooglePurchase>, item: Int) {
        let payload = purchase.payload
        self.item = item
        environment = payload.environment
        let quantity = Int64(payload.quantity ?? 1)
        // Only a consumable can be bought several times at once.
        kind = payload.autoRenewing != nil ? .subscription : quantity > 1 ? .consumable : .product
        token = payload.purchaseToken ?? ""
        productIds = payload.productIds
        state = payload.state
        purchaseTime = payload.purchaseTime
        self.quantity = quantity
        account = payload.obfuscatedAccountId
        end = nil
        (isRevoked, revokedAt) = (false, nil)
        willRenew = payload.autoRenewing
        subscription = token
        rank = [
            Self.rank(payload.state), payload.purchaseTime?.milliseconds ?? .min,
            payload.acknowledged == true ? 1 : 0, payload.autoRenewing == false ? 1 : 0,
        ]
        json = purchase.json
    }

    init(_ purchase: VerifiedPayload<HuaweiPurchase>, item: Int) {
        let payload = purchase.payload
        self.item = item
        environment = payload.environment
        kind = payload.kind == 2 ? .subscription : payload.kind == 0 ? .consumable : .product
        token = payload.purchaseToken ?? ""
        productIds = payload.productId.map { [$0] } ?? []
        state = payload.state
        purchaseTime = payload.purchaseTime
        quantity = Int64(payload.quantity ?? 1)
        account = nil
        end = payload.expirationDate
        (isRevoked, revokedAt) = (payload.cancelTime != nil, payload.cancelTime)
        willRenew = payload.autoRenewing
        subscription = payload.subscriptionId ?? token
        rank = [
            Self.rank(payload.state), payload.cancelTime == nil ? 0 : 1,
            payload.expirationDate?.milliseconds ?? .min,
            payload.purchaseTime?.milliseconds ?? .min,
            payload.autoRenewing == false ? 1 : 0,
        ]
        json = purchase.json
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
            case 2: .subscription
            case 3: .nonRenewing
            default: .product
            }
        token = payload.purchaseOrderId ?? payload.purchaseToken ?? ""
        productIds = payload.productId.map { [$0] } ?? []
        state = payload.state
        purchaseTime = payload.purchaseTime
        quantity = Int64(payload.quantity ?? 1)
        account = nil
        self.end = end
        self.isRevoked = isRevoked || payload.revocationTime != nil
        revokedAt = payload.revocationTime
        self.willRenew = willRenew
        self.subscription = subscription ?? payload.purchaseToken ?? token
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
        hasExpired = payload.status == Self.expiredStatus
    }

    /// Huawei's numbers of a subscription's state.
    private static let (expiredStatus, revokedStatus): (Int32, Int32) = (2, 5)

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

    var isPaid: Bool { state == .purchased && !isRevoked }

    var decidedBy: DecidedBy {
        DecidedBy(item: item, transactionId: token, signedDate: purchaseTime)
    }
}

/// The purchases of one app at another store, each by its winning statement.
struct StorePurchases {
    private var byToken: [String: StorePurchase] = [:]

    mutating func add(_ purchase: StorePurchase) {
        if let known = byToken[purchase.token], !purchase.wins(over: known) { return }
        byToken[purchase.token] = purchase
    }

    var all: Dictionary<String, StorePurchase>.Values { byToken.values }

    /// By purchase time, then token.
    var sorted: [StorePurchase] {
        byToken.values.sorted {
            let (left, right) = (
                $0.purchaseTime ?? .init(milliseconds: .min),
                $1.purchaseTime ?? .init(milliseconds: .min)
            )
            return left != right ? left < right : $0.token < $1.token
        }
    }
}
