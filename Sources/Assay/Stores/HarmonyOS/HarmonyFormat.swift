import AssayBytes
import AssayModels

extension StoreFormat {
    /// Huawei AppGallery on HarmonyOS: JWS with a chain to Huawei's root.
    static let harmony = StoreFormat(
        appWord: "application", appOption: "application-ids", apps: \.harmonyApplicationIds,
        keys: { _ in [] },
        missingKeyText: "no root of HarmonyOS is pinned: add roots in [app.harmony], or --root",
        scheme: { _ in nil }, schemeNames: "ES256",
        payloads: [
            StorePayload(
                .harmonyNotification, isLikely: { $0["notificationMetaData"] != nil },
                read: { HarmonyNotification(from: &$0) },
                claims: { notification, _ in EvidenceClaims(notification) },
                evidence: { .harmonyNotification($0) }),
            StorePayload(
                .harmonySubscription, isLikely: { $0["lastSubscriptionStatus"] != nil },
                read: { HarmonySubscription(from: &$0) },
                claims: { subscription, _ in EvidenceClaims(subscription) },
                evidence: { .harmonySubscription($0) }),
            StorePayload(
                .harmonyPurchase, isLikely: { $0["purchaseOrderId"] != nil },
                read: { HarmonyPurchase(from: &$0) },
                claims: { purchase, _ in EvidenceClaims(purchase) },
                state: { $0.state }, evidence: { .harmonyPurchase($0) }),
        ])
}
