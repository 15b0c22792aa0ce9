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
        graceExpirationTime = sample.time()
        trialFlag = sample.number()
        unreadableState = sample.flag()
    }
}

extension HuaweiNotification: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        notificationType = sample.number()
        environment = sample.text()
        applicationId = sample.text()
        productId = sample.text()
        subscriptionId = sample.text()
        purchaseToken = sample.text()
        orderId = sample.text()
        cancellationDate = sample.time()
        refundPayOrderId = sample.text()
        autoRenewStatus = sample.number()
        expirationIntent = sample.number()
        latestReceiptInfo = sample.object()
    }
}

extension HarmonyPurchase: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        environment = sample.text()
        applicationId = sample.text()
        packageName = sample.text()
        purchaseOrderId = sample.text()
        purchaseToken = sample.text()
        productId = sample.text()
        productType = sample.number()
        purchaseTime = sample.time()
        quantity = sample.number()
        finishStatus = sample.number()
        revocationTime = sample.time()
        revocationReasonCode = sample.number()
        developerPayload = sample.text()
        signedTime = sample.time()
        unreadableState = sample.flag()
    }
}

extension HarmonySubscription: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        environment = sample.text()
        applicationId = sample.text()
        packageName = sample.text()
        subGroupId = sample.text()
        subscriptionId = sample.text()
        purchaseToken = sample.text()
        status = sample.number()
        expiresTime = sample.time()
        lastPurchaseOrder = sample.object()
        autoRenewStatusCode = sample.number()
        signedTime = sample.time()
    }
}

extension HarmonyNotification: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        notificationType = sample.text()
        notificationSubtype = sample.text()
        notificationRequestId = sample.text()
        environment = sample.text()
        applicationId = sample.text()
        packageName = sample.text()
        productId = sample.text()
        purchaseToken = sample.text()
        purchaseOrderId = sample.text()
        signedTime = sample.time()
    }
}

extension GoogleNotification: Sampled {
    init(_ sample: inout Sample) {
        self.init()
        messageId = sample.text()
        subscription = sample.text()
        packageName = sample.text()
        eventTimeMillis = sample.time()
        about = sample.named()
        notificationType = sample.number()
        purchaseToken = sample.text()
        subscriptionId = sample.text()
        sku = sample.text()
        orderId = sample.text()
        productType = sample.number()
        refundType = sample.number()
        pendingRefundToken = sample.text()
        refundReason = sample.number()
        obfuscatedAccountId = sample.text()
        obfuscatedProfileId = sample.text()
        respondBy = sample.time()
    }
}
