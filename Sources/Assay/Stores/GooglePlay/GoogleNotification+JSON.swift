import AssayBytes
import AssayModels

extension GoogleNotification {
    /// Reads the message of a push whose token holds. Throws WRONG_KIND unless it names an app and
    /// one thing that changed.
    init(_ message: PushMessage) throws(Refusal) {
        let data = message.data.root
        let found = Self.subjects.filter { data[$0.subject.rawValue]?.members != nil }
        let package = data["packageName"]?.string
        guard let package, let (subject, name) = found.first else {
            throw Refusal(
                .wrongKind,
                "the message has no \(package == nil ? "packageName" : "known notification"), "
                    + "which each google-notification has")
        }
        guard found.count == 1 else {
            throw Refusal(
                .wrongKind,
                "the message is about \(found.map(\.subject.rawValue).joined(separator: " and "))")
        }
        self = message.data.withRootMembers { members in
            var notification = GoogleNotification()
            notification.eventTimeMillis = members.lenientDate("eventTimeMillis")
            _ = try? members.withObject(name) { inside throws(JSONError) in
                notification.read(&inside)
            }
            return notification
        }
        messageId = message.id
        subscription = message.subscription
        packageName = package
        about = subject
    }

    private static let subjects: [(subject: GoogleNotificationSubject, name: JSONName)] = [
        (.subscription, "subscriptionNotification"),
        (.oneTimeProduct, "oneTimeProductNotification"),
        (.voidedPurchase, "voidedPurchaseNotification"), (.test, "testNotification"),
    ]

    private mutating func read(_ members: inout JSONMembers) {
        notificationType = members.lenientInt32("notificationType")
        purchaseToken = members.lenientString("purchaseToken")
        subscriptionId = members.lenientString("subscriptionId")
        sku = members.lenientString("sku")
        orderId = members.lenientString("orderId")
        productType = members.lenientInt32("productType")
        refundType = members.lenientInt32("refundType")
    }
}

extension EvidenceClaims {
    init(_ notification: GoogleNotification) {
        // Google names no environment. Pushes of test purchases look like the others.
        self.init(kind: .googleNotification, environment: .production)
        carriesBundleId = true
        bundleId = notification.packageName
        productId = notification.subscriptionId ?? notification.sku
        transactionId = notification.orderId
        purchaseToken = notification.purchaseToken
        purchaseDate = notification.eventTimeMillis
        // Not the purchase: a notification grants nothing, and has no key that a purchase has.
        purchase = notification.messageId.map { PurchaseIdentity(purchaseToken: "message/" + $0) }
        statement = Statement(notification.messageId)
    }
}
