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
        setToken(purchase.purchaseToken, digest: digest)
    }
}
