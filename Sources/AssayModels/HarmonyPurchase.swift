/// A purchase that Huawei's IAP Kit signed on HarmonyOS (PurchaseOrderPayload).
public struct HarmonyPurchase: Equatable, Sendable {
    /// NORMAL or SANDBOX, as Huawei writes it.
    public var environment: String?
    /// Huawei's identifier of the app.
    public var applicationId: String?
    /// The app's bundle name, in evidence that has one.
    public var packageName: String?
    /// Identifier of the order: a subscription has one for each period.
    public var purchaseOrderId: String?
    /// Names the purchase for Huawei's API.
    public var purchaseToken: String?
    /// The product.
    public var productId: String?
    /// 0 consumable, 1 non-consumable, 2 auto-renewable subscription, 3 non-renewing subscription.
    public var productType: Int32?
    /// When it was bought.
    public var purchaseTime: Timestamp?
    /// The number of items; absent for one.
    public var quantity: Int32?
    /// 1: the app has confirmed the delivery; 2: it has not.
    public var finishStatus: Int32?
    /// When it was refunded or revoked.
    public var revocationTime: Timestamp?
    /// Why it was refunded or revoked.
    public var revocationReasonCode: Int32?
    /// Text that the app added to the purchase.
    public var developerPayload: String?
    /// When Huawei signed this payload; the effective date of its verification.
    public var signedTime: Timestamp?
    /// Whether a member that could take the purchase back is there and can't be read. The state is
    /// `unknown` then.
    public var unreadableState: Bool?

    /// Creates a purchase without members.
    public init() {}

    /// The state at the moment of the signature.
    public var state: PurchaseState {
        if revocationTime != nil || revocationReasonCode != nil { return .refunded }
        if unreadableState == true { return .unknown }
        // Huawei writes the time once the purchase is complete.
        return purchaseTime == nil ? .pending : .purchased
    }

    /// Production or Sandbox; a value that Huawei adds later keeps its name.
    public var storeEnvironment: StoreEnvironment { StoreEnvironment(harmony: environment) }
}

/// The state of a subscription that Huawei's IAP Kit signed on HarmonyOS (SubGroupStatusPayload),
/// with the members of its `lastSubscriptionStatus`.
public struct HarmonySubscription: Equatable, Sendable {
    /// NORMAL or SANDBOX, as Huawei writes it.
    public var environment: String?
    /// Huawei's identifier of the app.
    public var applicationId: String?
    /// The app's bundle name, in evidence that has one.
    public var packageName: String?
    /// Identifier of the group.
    public var subGroupId: String?
    /// Identifier of the subscription.
    public var subscriptionId: String?
    /// Names the subscription for Huawei's API.
    public var purchaseToken: String?
    /// The state by Huawei's number: 1 active, 2 expired, 3 charging is retried, 5 revoked.
    /// Another one does not entitle.
    public var status: Int32?
    /// End of the period.
    public var expiresTime: Timestamp?
    /// The last order.
    public var lastPurchaseOrder: HarmonyPurchase?
    /// Whether it renews: 1 yes, 0 no.
    public var autoRenewStatusCode: Int32?
    /// When Huawei signed this payload, where it says so: Huawei documents the member for the order
    /// alone. Without it the effective date is that of the verification.
    public var signedTime: Timestamp?

    /// Creates a state without members.
    public init() {}

    /// Production or Sandbox; a value that Huawei adds later keeps its name.
    public var storeEnvironment: StoreEnvironment {
        StoreEnvironment(harmony: environment ?? lastPurchaseOrder?.environment)
    }
}

/// A notification of Huawei's IAP Kit for HarmonyOS. It says that something changed; ask Huawei's
/// API what.
public struct HarmonyNotification: Equatable, Sendable {
    /// The event.
    public var notificationType: String?
    /// The detail of the event.
    public var notificationSubtype: String?
    /// Names the notification; retries have the same.
    public var notificationRequestId: String?
    /// NORMAL or SANDBOX, as Huawei writes it.
    public var environment: String?
    /// Huawei's identifier of the app.
    public var applicationId: String?
    /// The app's bundle name.
    public var packageName: String?
    /// The product.
    public var productId: String?
    /// Names the purchase for Huawei's API.
    public var purchaseToken: String?
    /// Identifier of the order.
    public var purchaseOrderId: String?
    /// When Huawei signed this payload; the effective date of its verification.
    public var signedTime: Timestamp?

    /// Creates a notification without members.
    public init() {}

    /// Production or Sandbox; a value that Huawei adds later keeps its name.
    public var storeEnvironment: StoreEnvironment { StoreEnvironment(harmony: environment) }
}

extension StoreEnvironment {
    fileprivate init(harmony name: String?) {
        switch name {
        case "NORMAL": self = .production
        case "SANDBOX": self = .sandbox
        case nil: self = .unspecified
        case .some(let other): self = Self(rawValue: other)
        }
    }
}

extension HarmonyPurchase: OtherStorePayload {
    package static var store: EvidenceStore { .harmony }
    package var app: String? { applicationId ?? packageName }
    package var identifiers: EvidenceIdentifiers { EvidenceIdentifiers(token: purchaseToken) }
    package var purchase: StorePurchase? { purchase(signed: signedTime, end: nil) }

    /// - Parameters:
    ///   - signed: when Huawei signed it, also as part of a subscription's state.
    ///   - end: that of the subscription's period, which its state names.
    fileprivate func purchase(signed: Timestamp?, end: Timestamp?) -> StorePurchase {
        let product: StorePurchase.Kind =
            switch productType {
            case 0: .consumable
            case 1: .product
            case 2: .subscription
            case 3: .nonRenewing
            default: .unknown
            }
        let id = purchaseOrderId ?? purchaseToken ?? ""
        var purchase = StorePurchase(
            storeEnvironment, product, id: id, token: purchaseToken ?? id,
            productIds: productId.map { [$0] } ?? [], state: state, purchaseTime: purchaseTime,
            quantity: quantity)
        purchase.end = end
        purchase.revokedAt = revocationTime
        purchase.revocationReason = revocationReasonCode.map {
            ("revocationReasonCode", Int64($0))
        }
        // Huawei dates its statements. One of a subscription's state knows more than its order.
        purchase.rank = [signed?.milliseconds ?? .min, state.rank, end == nil ? 0 : 1]
        return purchase
    }
}

extension HarmonySubscription: OtherStorePayload {
    package static var store: EvidenceStore { .harmony }
    package var app: String? {
        applicationId ?? lastPurchaseOrder?.applicationId ?? packageName
    }
    package var identifiers: EvidenceIdentifiers { EvidenceIdentifiers(token: purchaseToken) }

    /// Nil without an order: the state names no product then.
    package var purchase: StorePurchase? {
        guard var order = lastPurchaseOrder else { return nil }
        order.environment = environment ?? order.environment
        order.productType = order.productType ?? 2
        var purchase = order.purchase(signed: signedTime ?? order.signedTime, end: expiresTime)
        purchase.willRenew = autoRenewStatusCode.map { $0 == 1 }
        purchase.subscription = purchaseToken ?? subscriptionId ?? purchase.token
        purchase.group = subGroupId
        switch status {
        case 1, nil: break
        case 2: purchase.hasExpired = true
        case 3: purchase.isRetried = true
        case 5: purchase.isRevoked = true
        default: purchase.hasUnknownStatus = true
        }
        return purchase
    }
}

extension HarmonyNotification: OtherStorePayload {
    package static var store: EvidenceStore { .harmony }
    package var app: String? { applicationId ?? packageName }
    package var identifiers: EvidenceIdentifiers {
        EvidenceIdentifiers(
            token: purchaseToken, type: notificationType, subtype: notificationSubtype)
    }
    package var purchase: StorePurchase? { nil }
}
