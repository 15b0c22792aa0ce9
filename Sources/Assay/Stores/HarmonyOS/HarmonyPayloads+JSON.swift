import AssayBytes
import AssayModels

extension HarmonyPurchase {
    init(from members: inout JSONMembers) {
        self.init()
        environment = members.lenientString("environment")
        applicationId = members.lenientString("applicationId")
        packageName = members.lenientString("packageName") ?? members.lenientString("bundleName")
        purchaseOrderId = members.lenientString("purchaseOrderId")
        purchaseToken = members.lenientString("purchaseToken")
        productId = members.lenientString("productId")
        productType = members.lenientInt32("productType")
        purchaseTime = members.lenientDate("purchaseTime")
        quantity = members.lenientInt32("quantity")
        finishStatus = members.lenientInt32("finishStatus")
        revocationTime = members.lenientDate("revocationTime")
        revocationReasonCode = members.lenientInt32("purchaseOrderRevocationReasonCode")
        developerPayload = members.lenientString("developerPayload")
        signedTime = members.lenientDate("signedTime")
        let hasUnreadable = [
            members.hasOther("revocationTime") { $0.lenientDate($1) },
            members.hasOther("purchaseOrderRevocationReasonCode") { $0.lenientInt32($1) },
        ]
        if hasUnreadable.contains(true) { unreadableState = true }
    }
}

extension HarmonySubscription {
    init(from members: inout JSONMembers) {
        self.init()
        environment = members.lenientString("environment")
        applicationId = members.lenientString("applicationId")
        packageName = members.lenientString("packageName") ?? members.lenientString("bundleName")
        subGroupId = members.lenientString("subGroupId")
        signedTime = members.lenientDate("signedTime")
        var copy = self
        _ = try? members.withObject("lastSubscriptionStatus") { status throws(JSONError) in
            copy.subscriptionId = status.lenientString("subscriptionId")
            copy.purchaseToken = status.lenientString("purchaseToken")
            copy.status = status.lenientInt32("status")
            copy.expiresTime = status.lenientDate("expiresTime")
            copy.lastPurchaseOrder = try status.withObject("lastPurchaseOrder") {
                order throws(JSONError) in HarmonyPurchase(from: &order)
            }
            if status.hasOther("status", than: { $0.lenientInt32($1) }) {
                copy.lastPurchaseOrder?.unreadableState = true
            }
            copy.autoRenewStatusCode =
                try status.withObject("renewalInfo") {
                    renewal throws(JSONError) in renewal.lenientInt32("autoRenewStatusCode")
                } ?? nil
        }
        self = copy
    }
}

extension HarmonyNotification {
    init(from members: inout JSONMembers) {
        self.init()
        notificationType = members.lenientString("notificationType")
        notificationSubtype = members.lenientString("notificationSubtype")
        notificationRequestId = members.lenientString("notificationRequestId")
        signedTime = members.lenientDate("signedTime")
        var copy = self
        _ = try? members.withObject("notificationMetaData") { data throws(JSONError) in
            copy.environment = data.lenientString("environment")
            copy.applicationId = data.lenientString("applicationId")
            copy.packageName =
                data.lenientString("packageName") ?? data.lenientString("bundleName")
            copy.productId =
                data.lenientString("currentProductId") ?? data.lenientString("productId")
            copy.purchaseToken = data.lenientString("purchaseToken")
            copy.purchaseOrderId = data.lenientString("purchaseOrderId")
        }
        self = copy
    }
}

extension VerifiedJWS {
    /// Decodes a payload of another store, and the claims that the policy checks.
    func decode(
        ofStore kind: EvidenceKind, log: CheckLog?
    ) throws(Refusal) -> (VerifiedEvidence, EvidenceClaims) {
        let found = kind.storeFormat.likelyKind(payload.root)
        log?.begin(.kind, found: found?.name, expected: kind.name)
        guard found == kind else {
            throw Refusal(
                .wrongKind,
                found.map { "the payload is of the kind \($0.name), not \(kind.name)" }
                    ?? "the payload lacks the members of a \(kind.name)")
        }
        let (evidence, claims, _) = kind.storePayload.decode(payload, "")
        return (evidence, claims)
    }
}

extension EvidenceClaims {
    init(_ purchase: HarmonyPurchase) {
        self.init(kind: .harmonyPurchase, environment: purchase.storeEnvironment)
        setApp(purchase.applicationId, purchase.packageName)
        productId = purchase.productId
        transactionId = purchase.purchaseOrderId
        purchaseToken = purchase.purchaseToken
        self.purchase = purchase.purchaseOrderId.map { PurchaseIdentity(purchaseToken: $0) }
        statement = Statement(purchase.purchaseOrderId, signed: purchase.signedTime)
    }

    init(_ subscription: HarmonySubscription) {
        self.init(kind: .harmonySubscription, environment: subscription.storeEnvironment)
        let order = subscription.lastPurchaseOrder
        setApp(
            subscription.applicationId ?? order?.applicationId,
            subscription.packageName ?? order?.packageName)
        productId = order?.productId
        transactionId = order?.purchaseOrderId
        purchaseToken = subscription.purchaseToken
        purchase = order?.purchaseOrderId.map { PurchaseIdentity(purchaseToken: $0) }
        statement = Statement(
            subscription.subscriptionId ?? subscription.purchaseToken,
            signed: subscription.signedTime ?? order?.signedTime)
        if subscription.signedTime == nil { orderDate = order?.signedTime }
    }

    init(_ notification: HarmonyNotification) {
        self.init(kind: .harmonyNotification, environment: notification.storeEnvironment)
        setApp(notification.applicationId, notification.packageName)
        productId = notification.productId
        transactionId = notification.purchaseOrderId
        purchaseToken = notification.purchaseToken
        purchase = notification.purchaseOrderId.map { PurchaseIdentity(purchaseToken: $0) }
        statement = Statement(notification.notificationRequestId)
    }

    /// The application id names the app; not all evidence has a bundle name as well.
    private mutating func setApp(_ applicationId: String?, _ packageName: String?) {
        carriesBundleId = true
        bundleId = applicationId ?? packageName
        otherBundleId = packageName
    }
}
