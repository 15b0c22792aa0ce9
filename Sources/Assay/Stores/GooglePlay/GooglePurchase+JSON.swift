import AssayBytes
import AssayModels

extension GooglePurchase {
    /// Reads the signed members.
    init(from members: inout JSONMembers) {
        self.init()
        orderId = members.lenientString("orderId")
        packageName = members.lenientString("packageName")
        productIds = (try? members.strings("productIds")) ?? []
        if let product = members.lenientString("productId"), !productIds.contains(product) {
            productIds.insert(product, at: 0)
        }
        purchaseTime = members.lenientDate("purchaseTime")
        purchaseState = members.lenientInt32("purchaseState")
        obfuscatedAccountId = members.lenientString("obfuscatedAccountId")
        obfuscatedProfileId = members.lenientString("obfuscatedProfileId")
        developerPayload = members.lenientString("developerPayload")
        purchaseToken = members.lenientString("purchaseToken") ?? members.lenientString("token")
        quantity = members.lenientInt32("quantity")
        autoRenewing = members.lenientBool("autoRenewing")
        acknowledged = members.lenientBool("acknowledged")
    }
}

extension EvidenceClaims {
    init(_ purchase: GooglePurchase, digest: String) {
        self.init(kind: .googlePurchase, environment: nil)
        carriesBundleId = true
        bundleId = purchase.packageName
        productId = purchase.productIds.first
        otherProductIds = Array(purchase.productIds.dropFirst())
        appAccountToken = purchase.obfuscatedAccountId
        transactionId = purchase.orderId
        purchaseDate = purchase.purchaseTime
        purchaseToken = purchase.purchaseToken
        setPurchase(purchase.purchaseToken, digest: digest)
    }

    /// Names the purchase, and with the digest that the store signed the statement about it.
    mutating func setPurchase(_ id: String?, digest: String) {
        purchase = id.map { PurchaseIdentity(purchaseToken: $0) }
        statement = id.flatMap { Statement($0 + "/" + digest) }
    }
}
