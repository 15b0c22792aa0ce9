import AssayBytes
import AssayModels

/// The POST body of a notification of Huawei AppGallery on Android: unverified.
struct HuaweiNotificationBody: Equatable {
    /// `statusUpdateNotification` and its signature.
    let envelope: PurchaseEnvelope

    enum Result: Equatable {
        case found(HuaweiNotificationBody)
        /// A notification about an order, or one of before version 2: nobody signs it.
        case unsigned
        /// Not such a body.
        case none
    }

    /// Finds the signed text in the body as it was posted, or in its `subNotification` alone.
    static func find(_ text: Span<UInt8>) -> Result {
        guard text.count > 0, text[0] == UInt8(ascii: "{"),
            let document = try? JSONDocument.parse(text, limit: Limits.notificationBytes)
        else { return .none }
        let root = document.root
        let nested = root["subNotification"].flatMap { $0.kind == .object ? $0 : nil }
        let inside = nested ?? root
        guard let text = inside["statusUpdateNotification"]?.bytes else {
            return nested != nil || root.hasMember("orderNotification") ? .unsigned : .none
        }
        // The name that it had before: notifycationSignature.
        let signature = inside["notificationSignature"] ?? inside["notifycationSignature"]
        guard let signature = signature?.bytes else { return .unsigned }
        return .found(
            HuaweiNotificationBody(
                envelope: PurchaseEnvelope(
                    data: text, signature: signature,
                    algorithm: inside["signatureAlgorithm"]?.string)))
    }
}

extension HuaweiNotification {
    /// Reads the signed members, but for the order inside.
    init(from members: inout JSONMembers) {
        self.init()
        notificationType = members.lenientInt32("notificationType")
        environment = members.lenientString("environment")
        applicationId = members.lenientString("applicationId")
        productId = members.lenientString("productId")
        subscriptionId = members.lenientString("subscriptionId")
        purchaseToken = members.lenientString("purchaseToken")
        orderId = members.lenientString("orderId")
        cancellationDate = members.lenientDate("cancellationDate")
        refundPayOrderId = members.lenientString("refundPayOrderId")
        autoRenewStatus = members.lenientInt32("autoRenewStatus")
        expirationIntent = members.lenientInt32("expirationIntent")
    }

    /// Whether this version knows the event. Huawei numbers them from 0 to 13.
    var hasKnownType: Bool { notificationType.map { (0...13).contains($0) } ?? false }
}

extension EvidenceClaims {
    /// The order inside names the app. Without one only the key does, which is that of one app.
    init(_ notification: HuaweiNotification, digest: String) {
        self.init(kind: .huaweiNotification, environment: notification.storeEnvironment)
        let order = notification.latestReceiptInfo
        carriesBundleId = order != nil
        bundleId = order?.packageName
        productId = order?.productId ?? notification.productId
        transactionId = order?.orderId ?? notification.orderId
        purchaseToken = order?.purchaseToken ?? notification.purchaseToken
        purchaseDate = order?.purchaseTime
        purchase = order.flatMap { $0.orderId ?? $0.purchaseToken }.map {
            PurchaseIdentity(purchaseToken: $0)
        }
        statement = Statement(digest)
    }
}
