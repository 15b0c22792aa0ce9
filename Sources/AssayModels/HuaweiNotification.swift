/// A notification of Huawei AppGallery about a subscription on Android (HMS), version 2: the JSON
/// of `statusUpdateNotification`, which Huawei signed.
public struct HuaweiNotification: Equatable, Sendable {
    /// The event by Huawei's number.
    public var notificationType: Int32?
    /// PROD or Sandbox, as Huawei writes it.
    public var environment: String?
    /// Huawei's identifier of the app.
    public var applicationId: String?
    /// The product.
    public var productId: String?
    /// Identifier of the subscription, which all its periods share.
    public var subscriptionId: String?
    /// Names the subscription for Huawei's API.
    public var purchaseToken: String?
    /// Identifier of the order.
    public var orderId: String?
    /// When the subscription was canceled or refunded.
    public var cancellationDate: Timestamp?
    /// Identifier of the refund.
    public var refundPayOrderId: String?
    /// Whether the subscription renews: 1 yes, 0 no.
    public var autoRenewStatus: Int32?
    /// Why a renewal failed, by Huawei's number.
    public var expirationIntent: Int32?
    /// The last order, with a signature of its own that verified.
    public var latestReceiptInfo: HuaweiPurchase?

    /// Creates a notification without members.
    public init() {}

    /// Production or Sandbox; a value that Huawei adds later keeps its name.
    public var storeEnvironment: StoreEnvironment {
        switch environment?.lowercased() {
        case "prod", nil: latestReceiptInfo?.environment ?? .production
        case "sandbox": .sandbox
        case .some: StoreEnvironment(rawValue: environment ?? "")
        }
    }
}

extension HuaweiNotification: OtherStorePayload {
    package static var store: EvidenceStore { .huawei }
    package var app: String? { latestReceiptInfo?.packageName }
    package var identifiers: EvidenceIdentifiers {
        EvidenceIdentifiers(
            token: latestReceiptInfo?.purchaseToken ?? purchaseToken,
            type: notificationType.map { String($0) })
    }
    /// That of the order inside: without one the notification names no purchase.
    package var purchase: StorePurchase? { latestReceiptInfo?.purchase }
}
