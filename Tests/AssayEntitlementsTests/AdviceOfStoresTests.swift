import AssayEntitlements
import AssayModels
import Testing

/// What to do about evidence of Google's and Huawei's stores, by its state.
@Suite("Advice: other stores") struct AdviceOfStoresTests {
    private static let askGoogle = "Ask Google's API, with its purchase token."
    private static let askHuawei = "Ask Huawei's API, with its purchase token."
    private static let since = "Ask Huawei's API whether it was refunded since."

    private static func google(
        _ state: Int32 = 0, _ change: (inout GooglePurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        StoreEntitlementTests.google("t", state: state, change)
    }

    private static func huawei(
        _ kind: Int32, state: Int32 = 0, _ change: (inout HuaweiPurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        var item = StoreEntitlementTests.huawei("t", kind: kind, state: state, change)
        guard case .huaweiPurchase(let purchase) = item.verification.evidence else { return item }
        item.verification.state = purchase.payload.state
        return item
    }

    private static func harmony(
        _ type: Int32, _ change: (inout HarmonyPurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        var item = StoreEntitlementTests.harmony("o", type: type, change)
        guard case .harmonyPurchase(let purchase) = item.verification.evidence else { return item }
        item.verification.state = purchase.payload.state
        return item
    }

    @Test("Google Play: paid, pending, canceled, refunded, unknown, a subscription")
    func google() {
        let grant = "Grant once by dedupKey: world.2."
        let acknowledge =
            "Acknowledge or consume it within three days; Google refunds it otherwise. Ask "
            + "Google's API whether it was refunded since."
        let cases: [(String, EvidenceItem, [String])] = [
            ("paid", Self.google(), [grant, acknowledge]),
            (
                "acknowledged", Self.google { $0.acknowledged = true },
                [
                    grant,
                    "It is acknowledged already. Ask Google's API whether it was refunded since.",
                ]
            ),
            (
                "several at once", Self.google { $0.quantity = 3 },
                ["Grant once by dedupKey: 3 × world.2.", acknowledge]
            ),
            (
                "pending", Self.google(4),
                ["Grant nothing yet: it is not paid (PENDING). Wait for the purchase as paid."]
            ),
            (
                "canceled", Self.google(1),
                ["Grant nothing, or take it back: it was canceled (CANCELED)."]
            ),
            ("refunded", Self.google(2), ["Take it back: Google refunded it (REFUNDED)."]),
            (
                "unknown", Self.google(77),
                [
                    "Grant nothing, and take nothing back: its state is not known (UNKNOWN). Ask "
                        + "Google's API."
                ]
            ),
            (
                "a subscription", Self.google { $0.autoRenewing = true },
                [
                    "Give no access to world.2 now: its evidence states no end.", Self.askGoogle,
                ]
            ),
        ]
        for (name, item, texts) in cases {
            #expect(AdviceTests.texts([item]) == texts, "\(name)")
        }
        let other = AdviceTests.texts([Self.google { $0.obfuscatedAccountId = "a" }], of: "b")
        #expect(
            other == [
                "Grant nothing to the customer that you ask about: world.2 names the account a. "
                    + "Ask which account bought it."
            ])
    }

    @Test("Huawei on Android: a consumable, a subscription, and the states that are not paid")
    func huawei() {
        let end = "2023-11-24T22:13:20Z"
        let cases: [(String, EvidenceItem, [String])] = [
            (
                "a consumable", Self.huawei(0),
                [
                    "Grant once by dedupKey: gold.",
                    "Confirm the delivery, and ask Huawei's API whether it was refunded since.",
                ]
            ),
            (
                "a subscription",
                Self.huawei(2) {
                    $0.expirationDate = Timestamp(day: 10)
                    $0.subIsvalid = true
                }, ["Give access to gold until \(end)."]
            ),
            (
                "ended, and nothing states more",
                Self.huawei(2) { $0.expirationDate = Timestamp(day: 3) },
                [
                    "Give no access to gold now: nothing states what happened after "
                        + "2023-11-17T22:13:20Z.", Self.askHuawei,
                ]
            ),
            (
                "canceled at a date",
                Self.huawei(2) {
                    $0.expirationDate = Timestamp(day: 10)
                    $0.cancelTime = Timestamp(day: 2)
                },
                [
                    "Take gold back: Huawei refunded transaction t. Since 2023-11-16T22:13:20Z it "
                        + "entitles to nothing."
                ]
            ),
            (
                "pending", Self.huawei(0, state: 3),
                ["Grant nothing yet: it is not paid (PENDING). Wait for the purchase as paid."]
            ),
            (
                "refunded", Self.huawei(0, state: 2),
                ["Take it back: Huawei refunded it (REFUNDED)."]
            ),
        ]
        for (name, item, texts) in cases {
            #expect(AdviceTests.texts([item]) == texts, "\(name)")
        }
    }

    @Test("HarmonyOS: orders by their state, and a subscription without an order")
    func harmony() {
        var subscription = HarmonySubscription()
        subscription.environment = "NORMAL"
        let empty = Evidence.item(.harmonySubscription(VerifiedPayload(subscription, json: [])))
        let cases: [(String, EvidenceItem, [String])] = [
            (
                "delivered", Self.harmony(0) { $0.finishStatus = 1 },
                ["Grant once by dedupKey: pass.", Self.since]
            ),
            (
                "not delivered", Self.harmony(1) { $0.finishStatus = 2 },
                ["Grant once by dedupKey: pass.", "Confirm the delivery. " + Self.since]
            ),
            (
                "refunded",
                Self.harmony(1) {
                    $0.revocationTime = Timestamp(day: 2)
                    $0.revocationReasonCode = 4
                },
                [
                    "Take pass back: Huawei refunded transaction o (revocationReasonCode 4). Since "
                        + "2023-11-16T22:13:20Z it entitles to nothing."
                ]
            ),
            (
                "refunded without a date", Self.harmony(1) { $0.revocationReasonCode = 4 },
                ["Take pass back: transaction o was refunded or revoked."]
            ),
            ("no order", empty, ["Grant nothing by it: it names no order."]),
        ]
        for (name, item, texts) in cases {
            #expect(AdviceTests.texts([item]) == texts, "\(name)")
        }
    }

    @Test("notifications of both stores are hints: nothing is granted by them")
    func notifications() {
        func google(_ about: GoogleNotificationSubject?) -> EvidenceItem {
            var notification = GoogleNotification()
            notification.about = about
            notification.orderId = "GPA.1"
            return Evidence.item(.googleNotification(VerifiedPayload(notification, json: [])))
        }
        var order = HarmonyNotification()
        order.purchaseOrderId = "o"
        let caution =
            "Grant nothing and take nothing back by the notification alone: its token signs the "
            + "sender, and not the message."
        let unknown = GoogleNotificationSubject(rawValue: "giftNotification")
        let cases: [(EvidenceItem, String)] = [
            (google(.subscription), "Ask Google's API with its purchaseToken. " + caution),
            (google(.oneTimeProduct), "Ask Google's API with its purchaseToken. " + caution),
            (google(unknown), "Ask Google's API with its purchaseToken. " + caution),
            (
                google(.voidedPurchase),
                "Ask Google's API with its purchaseToken whether the order GPA.1 was refunded, and "
                    + "take it back then. " + caution
            ),
            (google(.test), "Nothing to do: it is a test, and it arrived."),
            (
                Evidence.item(.harmonyNotification(VerifiedPayload(order, json: []))),
                "Ask Huawei's API about the order o, with its purchaseToken. Grant nothing and "
                    + "take nothing back by the notification alone: it says that something "
                    + "changed, and not to what."
            ),
        ]
        for (item, text) in cases { #expect(AdviceTests.texts([item]) == [text]) }
    }
}
