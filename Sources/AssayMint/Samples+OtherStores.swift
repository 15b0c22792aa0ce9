import AssayBytes
public import AssayModels

extension Samples {
    /// Returns the text of a purchase that Google Play signs (INAPP_PURCHASE_DATA). The
    /// state is 0 for purchased, 4 for pending.
    public static func googlePurchase(
        index: Int, bundleId: String, productId: String, environment: StoreEnvironment,
        signedDate: Timestamp, state: Int64 = 0
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            if environment == .production {
                payload.member("orderId", "GPA.3300-0000-0000-" + String(index, width: 5))
            }
            payload.member("packageName", bundleId)
            payload.member("productId", productId)
            payload.member("purchaseTime", signedDate.milliseconds)
            payload.member("purchaseState", state)
            payload.member("purchaseToken", purchaseToken("AO-J1O", index))
            payload.member("quantity", 1 as Int64)
            payload.member("acknowledged", false)
            payload.member("obfuscatedAccountId", uuid(1, index))
        }
        return writer.text
    }

    /// Returns the text of a purchase that Huawei AppGallery signs (InAppPurchaseData). The
    /// state is 0 for purchased, 3 for pending.
    public static func huaweiPurchase(
        index: Int, bundleId: String, productId: String, environment: StoreEnvironment,
        signedDate: Timestamp, state: Int64 = 0
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("autoRenewing", false)
            payload.member("orderId", "20260101000000" + String(index, width: 8))
            payload.member("packageName", bundleId)
            payload.member("applicationId", 100_000_001 as Int64)
            payload.member("kind", 0 as Int64)
            payload.member("productId", productId)
            payload.member("productName", "Sample")
            payload.member("purchaseTime", signedDate.milliseconds)
            payload.member("purchaseState", state)
            payload.member("developerPayload", "")
            payload.member("purchaseToken", purchaseToken("0000018a", index))
            if environment == .sandbox { payload.member("purchaseType", 0 as Int64) }
            payload.member("currency", "EUR")
            payload.member("price", 99 as Int64)
            payload.member("country", "DE")
            payload.member("payOrderId", "sample" + String(index, width: 8))
            payload.member("payType", "4")
            payload.member("confirmed", 0 as Int64)
            payload.member("accountFlag", 1 as Int64)
        }
        return writer.text
    }

    /// Returns the text of a notification that Huawei AppGallery signs
    /// (`statusUpdateNotification`): the first purchase of a subscription.
    ///
    /// - Parameters:
    ///   - order: the text of the subscription's order, as it was signed.
    ///   - signature: that of the order, in base64.
    ///   - productId: the product of the order.
    ///   - environment: the notification's own; the order has one of its own.
    public static func huaweiNotification(
        order: [UInt8], signature: [UInt8], productId: String, environment: StoreEnvironment
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("environment", environment == .sandbox ? "Sandbox" : "PROD")
            payload.member("notificationType", 0 as Int64)
            payload.member("subscriptionId", "sample.subscription")
            payload.member("productId", productId)
            payload.member("latestReceiptInfo", String(decoding: order, as: UTF8.self))
            payload.member(
                "latestReceiptInfoSignature", String(decoding: signature, as: UTF8.self))
            payload.member("autoRenewStatus", 1 as Int64)
        }
        return writer.text
    }

    /// Returns the payload of a purchase that Huawei's IAP Kit signs on HarmonyOS. The type
    /// is 0 for a consumable, 1 for a non-consumable, 2 and 3 for subscriptions.
    public static func harmonyPurchase(
        index: Int, applicationId: String, productId: String, environment: StoreEnvironment,
        signedDate: Timestamp, type: Int64 = 1
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.harmonyOrder(index, applicationId, productId, environment, signedDate, type)
        }
        return writer.text
    }

    /// Returns the state of a subscription that Huawei's IAP Kit signs on HarmonyOS.
    public static func harmonySubscription(
        index: Int, applicationId: String, productId: String, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        let signed = signedDate.milliseconds
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("environment", environment.harmonyName)
            payload.member("applicationId", applicationId)
            payload.member("subGroupId", "sample.group")
            payload.object("lastSubscriptionStatus") { status in
                status.member("subscriptionId", "sample.subscription." + String(index))
                status.member("purchaseToken", purchaseToken("harmony", index))
                status.member("status", "1")
                status.member("expiresTime", signed + month)
                status.object("lastPurchaseOrder") {
                    $0.harmonyOrder(index, applicationId, productId, environment, signedDate, 2)
                }
                status.object("renewalInfo") { renewal in
                    renewal.member("productId", productId)
                    renewal.member("autoRenewStatusCode", "1")
                }
            }
        }
        return writer.text
    }

    /// Returns a notification that Huawei's IAP Kit signs for HarmonyOS.
    public static func harmonyNotification(
        index: Int, applicationId: String, productId: String, environment: StoreEnvironment,
        signedDate: Timestamp
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("notificationType", "DID_NEW_TRANSACTION")
            payload.member("notificationRequestId", uuid(7, index))
            payload.object("notificationMetaData") { data in
                data.member("environment", environment.harmonyName)
                data.member("applicationId", applicationId)
                data.member("currentProductId", productId)
                data.member("purchaseToken", purchaseToken("harmony", index))
                data.member("purchaseOrderId", "20260101" + String(index, width: 12))
            }
            payload.member("notificationVersion", "v3")
            payload.member("signedTime", signedDate.milliseconds)
        }
        return writer.text
    }

    static func purchaseToken(_ mark: String, _ index: Int) -> String {
        "sample" + String(index, width: 10) + "." + mark
            + (uuid(5, index) + uuid(6, index)).filter { $0 != "-" }
    }
}

extension JSONWriter {
    fileprivate mutating func harmonyOrder(
        _ index: Int, _ applicationId: String, _ productId: String,
        _ environment: StoreEnvironment, _ signedDate: Timestamp, _ type: Int64
    ) {
        member("environment", environment.harmonyName)
        member("purchaseOrderId", "20260101" + String(index, width: 12))
        member("purchaseToken", Samples.purchaseToken("harmony", index))
        member("applicationId", applicationId)
        member("productId", productId)
        member("productType", String(type))
        member("purchaseTime", signedDate.milliseconds)
        member("finishStatus", "2")
        member("price", 100 as Int64)
        member("currency", "CNY")
        member("signedTime", signedDate.milliseconds)
    }
}

extension StoreEnvironment {
    fileprivate var harmonyName: String { self == .sandbox ? "SANDBOX" : "NORMAL" }
}
