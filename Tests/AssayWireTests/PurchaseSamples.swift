import AssayModels

extension GooglePurchase: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        orderId = sample.text()
        packageName = sample.text()
        productIds = sample.texts()
        purchaseTime = sample.time()
        purchaseState = sample.number()
        purchaseToken = sample.text()
        quantity = sample.number()
        acknowledged = sample.flag()
        autoRenewing = sample.flag()
        obfuscatedAccountId = sample.text()
        obfuscatedProfileId = sample.text()
        developerPayload = sample.text()
    }
}

extension HuaweiPurchase: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        orderId = sample.text()
        packageName = sample.text()
        applicationId = sample.text()
        productId = sample.text()
        kind = sample.number()
        purchaseTime = sample.time()
        purchaseState = sample.number()
        purchaseToken = sample.text()
        purchaseType = sample.number()
        quantity = sample.number()
        subscriptionId = sample.text()
        subIsvalid = sample.flag()
        expirationDate = sample.time()
        cancelTime = sample.time()
        autoRenewing = sample.flag()
        developerPayload = sample.text()
    }
}
