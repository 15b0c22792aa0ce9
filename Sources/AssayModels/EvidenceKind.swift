/// The kind of evidence, as the caller names it. The raw values are the wire values.
public enum EvidenceKind: Int32, Sendable, CaseIterable {
    /// JWSTransaction: a StoreKit 2 transaction.
    case transaction = 1
    /// JWSRenewalInfo: the renewal state of a subscription.
    case renewalInfo = 2
    /// AppTransaction: the purchase of the app itself.
    case appTransaction = 3
    /// An App Store Server Notification V2, as a JWS or as its POST body.
    case notification = 4
    /// A request of the retention messaging API.
    case realtimeRequest = 5
    /// A StoreKit 1 app receipt (PKCS#7).
    case appReceipt = 6
    /// A transaction receipt of iOS 3 to 6.
    case transactionReceipt = 7
    /// The JSON body of an answer of Apple's App Store Server API.
    case serverAnswer = 8
    /// A retired version 1 App Store Server Notification. Only the receipt in it is signed.
    case notificationV1 = 9
    /// A purchase of Google Play: its JSON and the signature.
    case googlePurchase = 10
    /// A purchase of Huawei AppGallery on Android (HMS): its JSON and the signature.
    case huaweiPurchase = 11
    /// A purchase of Huawei's IAP Kit on HarmonyOS, as a JWS.
    case harmonyPurchase = 12
    /// The state of a subscription of Huawei's IAP Kit on HarmonyOS, as a JWS.
    case harmonySubscription = 13
    /// A notification of Huawei's IAP Kit for HarmonyOS, as a JWS or as its POST body.
    case harmonyNotification = 14
    /// A notification of Google Play: the OIDC token and the body of a Pub/Sub push.
    case googleNotification = 15
    /// A notification of Huawei AppGallery on Android (HMS): its POST body.
    case huaweiNotification = 16
}
