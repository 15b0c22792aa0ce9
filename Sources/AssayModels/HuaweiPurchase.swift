/// A purchase that Huawei AppGallery signed on Android (HMS): the JSON of `InAppPurchaseData`. It
/// does not say what happened since.
public struct HuaweiPurchase: Equatable, Sendable {
    /// Order identifier: a subscription has one for each charge.
    public var orderId: String?
    /// The app.
    public var packageName: String?
    /// Huawei's identifier of the app.
    public var applicationId: String?
    /// The product.
    public var productId: String?
    /// 0 consumable, 1 non-consumable, 2 subscription.
    public var kind: Int32?
    /// When it was bought; the effective date of its verification.
    public var purchaseTime: Timestamp?
    /// -1 initialized, 0 purchased, 1 canceled, 2 refunded, 3 pending.
    public var purchaseState: Int32?
    /// Names the purchase for Huawei's API. All charges of a subscription have the same.
    public var purchaseToken: String?
    /// 0 sandbox, 1 promotion code; absent for a paid purchase.
    public var purchaseType: Int32?
    /// The number of items; absent for one.
    public var quantity: Int32?
    /// Identifier of the subscription, which all its periods share.
    public var subscriptionId: String?
    /// Whether the subscription was in force at the signature (`subIsvalid`). If false, it does not
    /// entitle, whatever the dates.
    public var subIsvalid: Bool?
    /// End of the subscription's period.
    public var expirationDate: Timestamp?
    /// When the subscription was canceled or refunded.
    public var cancelTime: Timestamp?
    /// End of the grace period, in which the subscription stays in force while Huawei tries to
    /// charge.
    public var graceExpirationTime: Timestamp?
    /// 1: the period is a free trial.
    public var trialFlag: Int32?
    /// Whether the subscription renews, as of the signature.
    public var autoRenewing: Bool?
    /// Text that the app added to the purchase.
    public var developerPayload: String?
    /// Whether a member that could take the purchase back is there and can't be read. The state is
    /// `unknown` then.
    public var unreadableState: Bool?

    /// Creates a purchase without members.
    public init() {}

    /// The state at the moment of the signature.
    public var state: PurchaseState {
        // Nobody knows what another type of purchase is worth.
        guard unreadableState != true, [nil, 0, 1].contains(purchaseType) else { return .unknown }
        switch purchaseState {
        case 0: return .purchased
        case 1: return .canceled
        case 2: return .refunded
        case 3, -1: return .pending
        default: return .unknown
        }
    }

    /// Sandbox by `purchaseType`, otherwise Production.
    public var environment: StoreEnvironment { purchaseType == 0 ? .sandbox : .production }
}

extension HuaweiPurchase: OtherStorePayload {
    package static var store: EvidenceStore { .huawei }
    package var app: String? { packageName }
    package var identifiers: EvidenceIdentifiers { EvidenceIdentifiers(token: purchaseToken) }

    package var purchase: StorePurchase? {
        let product: StorePurchase.Kind =
            switch kind {
            case 0: .consumable
            case 1: .product
            case 2: .subscription
            default: .unknown
            }
        let token = purchaseToken ?? ""
        var purchase = StorePurchase(
            environment, product, id: orderId ?? token, token: token,
            productIds: productId.map { [$0] } ?? [], state: state, purchaseTime: purchaseTime,
            quantity: quantity)
        purchase.end = expirationDate
        purchase.graceEnd = graceExpirationTime
        purchase.isRevoked = cancelTime != nil || state.isTakenBack
        purchase.revokedAt = cancelTime
        purchase.hasExpired = product == .subscription && subIsvalid == false
        purchase.isTrial = trialFlag == 1
        purchase.willRenew = autoRenewing
        purchase.subscription = subscriptionId ?? token
        purchase.rank = [
            state.rank, cancelTime == nil ? 0 : 1, subIsvalid == false ? 1 : 0,
            expirationDate?.milliseconds ?? .min, graceExpirationTime?.milliseconds ?? .min,
            purchaseTime?.milliseconds ?? .min, autoRenewing == false ? 1 : 0,
        ]
        return purchase
    }
}
