import AssayBytes
import AssayModels

extension GoogleNotification {
    /// Reads the message of a push whose token holds. Throws WRONG_KIND unless it names an app, and
    /// if it is about several things. Google adds notifications every year: another one is known
    /// by the name of its member.
    init(_ message: PushMessage) throws(Refusal) {
        let data = message.data.root
        let found = Self.subjects.filter { data[$0.subject.rawValue]?.members != nil }
        guard let package = data["packageName"]?.string else {
            throw Refusal(
                .wrongKind, "the message has no packageName, which each google-notification has")
        }
        guard found.count <= 1 else {
            throw Refusal(
                .wrongKind,
                "the message is about \(found.map(\.subject.rawValue).joined(separator: " and "))")
        }
        self = message.data.withRootMembers { members in
            var notification = GoogleNotification()
            notification.eventTimeMillis = members.lenientDate("eventTimeMillis")
            guard let name = found.first?.name else { return notification }
            _ = try? members.withObject(name) { inside throws(JSONError) in
                notification.read(&inside)
            }
            return notification
        }
        messageId = message.id
        subscription = message.subscription
        packageName = package
        about = found.first?.subject ?? Self.unknownSubject(data)
        if about == .pendingRefundReview {
            respondBy = eventTimeMillis?.advanced(by: Self.refundReviewMilliseconds)
        }
    }

    /// The first member that is an object with the name of a notification, else any object.
    private static func unknownSubject(_ data: JSONValue) -> GoogleNotificationSubject? {
        let objects = data.members?.pairs.filter { $0.value.kind == .object }.map(\.name) ?? []
        let name = objects.first { $0.hasSuffix("Notification") } ?? objects.first
        return name.map { GoogleNotificationSubject(rawValue: $0) }
    }

    /// How long Google waits for a backend's word about a refund.
    private static let refundReviewMilliseconds: Int64 = 24 * 60 * 60 * 1000

    /// What the detail of a VALID notification adds; nil for one that needs nothing beside.
    var remark: String? {
        if about == .pendingRefundReview {
            return "answer with orders.reviewrefund"
                + (respondBy.map { " by \($0.rfc3339)" } ?? " within 24 hours")
        }
        guard Self.subjects.contains(where: { $0.subject == about }) else {
            return "this version does not know what it is about (\(quoted(about?.rawValue)))"
        }
        guard let number = notificationType, let known = Self.events[about ?? .test],
            !known.contains(number)
        else { return nil }
        return "this version does not know its notificationType, \(number)"
    }

    /// The numbers of events that Google has documented.
    private static let events: [GoogleNotificationSubject: Set<Int32>] = [
        .subscription: Set(1...13).union(17...20).union([22]), .oneTimeProduct: [1, 2],
    ]

    private static let subjects: [(subject: GoogleNotificationSubject, name: JSONName)] = [
        (.subscription, "subscriptionNotification"),
        (.oneTimeProduct, "oneTimeProductNotification"),
        (.voidedPurchase, "voidedPurchaseNotification"),
        (.pendingRefundReview, "pendingRefundReviewNotification"), (.test, "testNotification"),
    ]

    private mutating func read(_ members: inout JSONMembers) {
        notificationType = members.lenientInt32("notificationType")
        purchaseToken = members.lenientString("purchaseToken")
        subscriptionId = members.lenientString("subscriptionId")
        sku = members.lenientString("sku")
        orderId = members.lenientString("orderId")
        productType = members.lenientInt32("productType")
        refundType = members.lenientInt32("refundType")
        pendingRefundToken = members.lenientString("pendingRefundToken")
        refundReason = members.lenientInt32("refundReason")
        obfuscatedAccountId = members.lenientString("obfuscatedAccountId")
        obfuscatedProfileId = members.lenientString("obfuscatedProfileId")
    }
}

extension EvidenceClaims {
    init(_ notification: GoogleNotification) {
        // Pushes of test purchases look like the others.
        self.init(kind: .googleNotification, environment: nil)
        carriesBundleId = true
        bundleId = notification.packageName
        productId = notification.subscriptionId ?? notification.sku
        transactionId = notification.orderId
        appAccountToken = notification.obfuscatedAccountId
        purchaseToken = notification.purchaseToken
        purchaseDate = notification.eventTimeMillis
        // Not the purchase: a notification grants nothing, and has no key that a purchase has.
        purchase = notification.messageId.map { PurchaseIdentity(purchaseToken: "message/" + $0) }
        statement = Statement(notification.messageId)
    }
}
