/// A purchase that Huawei AppGallery signed on Android (HMS): the JSON of `InAppPurchaseData`. It
/// does not say what happened since.
public struct HuaweiPurchase: Equatable, Sendable {
    /// Order identifier.
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
    /// 0 purchased, 1 canceled, 2 refunded, 3 pending.
    public var purchaseState: Int32?
    /// Names the purchase for Huawei's API.
    public var purchaseToken: String?
    /// 0 sandbox, 1 promotion code; absent for a paid purchase.
    public var purchaseType: Int32?
    /// The number of items; absent for one.
    public var quantity: Int32?
    /// Identifier of the subscription, which all its periods share.
    public var subscriptionId: String?
    /// Whether the subscription was in force at the signature (`subIsvalid`).
    public var subIsvalid: Bool?
    /// End of the subscription's period.
    public var expirationDate: Timestamp?
    /// When the subscription was canceled or refunded.
    public var cancelTime: Timestamp?
    /// Whether the subscription renews, as of the signature.
    public var autoRenewing: Bool?
    /// Text that the app added to the purchase.
    public var developerPayload: String?

    /// Creates a purchase without members.
    public init() {}

    /// The state at the moment of the signature.
    public var state: PurchaseState {
        switch purchaseState {
        case 0: .purchased
        case 1: .canceled
        case 2: .refunded
        case 3: .pending
        default: .unknown
        }
    }

    /// Sandbox by `purchaseType`, otherwise Production.
    public var environment: StoreEnvironment { purchaseType == 0 ? .sandbox : .production }
}
