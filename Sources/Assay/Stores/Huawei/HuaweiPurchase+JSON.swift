import AssayBytes
import AssayModels

extension HuaweiPurchase {
    /// Reads the signed members.
    init(from members: inout JSONMembers) {
        self.init()
        autoRenewing = members.lenientBool("autoRenewing")
        subIsvalid = members.lenientBool("subIsvalid")
        orderId = members.lenientString("orderId")
        packageName = members.lenientString("packageName")
        applicationId = members.lenientString("applicationId")
        kind = members.lenientInt32("kind")
        productId = members.lenientString("productId")
        purchaseTime =
            members.lenientDate("purchaseTime") ?? members.lenientDate("purchaseTimeMillis")
        purchaseState = members.lenientInt32("purchaseState")
        developerPayload = members.lenientString("developerPayload")
        purchaseToken = members.lenientString("purchaseToken")
        purchaseType = members.lenientInt32("purchaseType")
        quantity = members.lenientInt32("quantity")
        subscriptionId = members.lenientString("subscriptionId")
        expirationDate = members.lenientDate("expirationDate")
        cancelTime = members.lenientDate("cancelTime")
        graceExpirationTime = members.lenientDate("graceExpirationTime")
        trialFlag = members.lenientInt32("trialFlag")
        let hasUnreadable = [
            members.hasOther("cancelTime") { $0.lenientDate($1) },
            members.hasOther("subIsvalid") { $0.lenientBool($1) },
            members.hasOther("purchaseType") { $0.lenientInt32($1) },
        ]
        if hasUnreadable.contains(true) { unreadableState = true }
    }
}

extension EvidenceClaims {
    init(_ purchase: HuaweiPurchase, digest: String) {
        self.init(kind: .huaweiPurchase, environment: purchase.environment)
        carriesBundleId = true
        bundleId = purchase.packageName
        productId = purchase.productId
        transactionId = purchase.orderId
        purchaseDate = purchase.purchaseTime
        // All charges of a subscription have one token; each has an order of its own.
        purchaseToken = purchase.purchaseToken
        setPurchase(purchase.orderId ?? purchase.purchaseToken, digest: digest)
    }
}
