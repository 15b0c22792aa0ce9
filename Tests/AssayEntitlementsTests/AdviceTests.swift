import AssayBytes
import AssayEntitlements
import AssayModels
import Testing

/// What to do next, by kind, type of product and state. Each refund has a neighbour that is none.
@Suite("Advice: what follows from verified evidence") struct AdviceTests {
    /// 15 November 2023 and later, at 22:13:20 UTC.
    private static let (day2, day5, day30) = (
        "2023-11-16T22:13:20Z", "2023-11-19T22:13:20Z", "2023-12-14T22:13:20Z"
    )
    private static let nothing =
        "Nothing to do for it: newer evidence about the same is among the items, and decides."
    private static let ask =
        "Ask the App Store about transaction 100: assay api statuses --bundle-id com.example.game "
        + "100"

    struct Case: CustomTestStringConvertible, Sendable {
        let name: String
        let items: [EvidenceItem]
        let day: Int64
        let account: String?
        let texts: [String]
        var testDescription: String { name }

        /// - Parameter items: the last one is asked about.
        init(
            _ name: String, _ items: [EvidenceItem], at day: Int64 = 5, of account: String? = nil,
            _ texts: String...
        ) {
            (self.name, self.items, self.day, self.account) = (name, items, day, account)
            self.texts = texts
        }
    }

    static func texts(
        _ items: [EvidenceItem], at day: Int64 = 5, of account: String? = nil
    ) -> [String] {
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = account
        let owned = Entitlements(of: items, at: Timestamp(day: day), policy: policy)
        return Advice(about: items, owned: owned) { $0.rfc3339 }.texts(for: items.count - 1)
    }

    static func refunded(
        _ transaction: inout JWSTransactionDecodedPayload, _ reason: RevocationReason? = .issue,
        _ type: RevocationType? = nil
    ) {
        transaction.revocationDate = Timestamp(day: 2)
        transaction.revocationReason = reason
        transaction.revocationType = type
    }

    static func product(
        _ type: ProductType, signed: Int64 = 0,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        let signed = Evidence.start + signed * Evidence.day
        return Evidence.product("9", "gold", type, signed: signed, change)
    }

    // MARK: Subscriptions

    private static let subscriptions: [Case] = [
        Case("active", [Evidence.period(0)], "Give access to premium.monthly until \(day30)."),
        Case(
            "family shared", [Evidence.period(0) { $0.inAppOwnershipType = .familyShared }],
            "Give access to premium.monthly until \(day30). The family shares it: it is no sale."),
        Case(
            "ended, nothing says more", [Evidence.period(0)], at: 31,
            "Give no access to premium.monthly now: nothing states what happened after \(day30).",
            ask),
        Case(
            "in grace",
            [
                Evidence.renewal(signed: Evidence.start + 30 * Evidence.day) {
                    $0.isInBillingRetryPeriod = true
                    $0.renewalDate = Timestamp(day: 30)
                    $0.gracePeriodExpiresDate = Timestamp(day: 46)
                },
                Evidence.period(0),
            ], at: 31,
            "Keep the access to premium.monthly until 2023-12-30T22:13:20Z: a payment failed, and "
                + "its grace period is in force."),
        Case(
            "in billing retry",
            [
                Evidence.renewal(signed: Evidence.start + 30 * Evidence.day) {
                    $0.isInBillingRetryPeriod = true
                    $0.renewalDate = Timestamp(day: 30)
                },
                Evidence.period(0),
            ], at: 31,
            "Give no access to premium.monthly now: its period ended at \(day30), and Apple tries "
                + "to charge again.", ask),
        Case(
            "expired",
            [
                Evidence.renewal(signed: Evidence.start + 31 * Evidence.day) {
                    $0.autoRenewStatus = .off
                    $0.expirationIntent = .cancelled
                },
                Evidence.period(0),
            ], at: 32,
            "Give no access to premium.monthly: it ended at \(day30), because the customer "
                + "cancelled."),
        Case(
            "refunded",
            [
                Evidence.period(0, signed: Evidence.start + 2 * Evidence.day) {
                    refunded(&$0)
                }
            ],
            "Take premium.monthly back: Apple refunded transaction 100 because of an issue with "
                + "the app (revocationReason 1). Since \(day2) it entitles to nothing."),
        Case(
            "an earlier period refunded, the next one in force",
            [Evidence.period(1), Evidence.period(0) { refunded(&$0, .other) }], at: 35,
            "Take back what came with premium.monthly then: Apple refunded transaction 100 for "
                + "another reason than an issue with the app (revocationReason 0). Since \(day2) "
                + "it entitles to nothing.",
            "The access to premium.monthly stays until 2024-01-13T22:13:20Z."),
        Case(
            "an upgrade is no refund",
            [
                Evidence.item(
                    Evidence.transaction("101", signed: Evidence.start + Evidence.day) {
                        $0.originalTransactionId = "100"
                        $0.productId = "premium.yearly"
                        $0.subscriptionGroupIdentifier = "2100"
                        $0.type = .autoRenewableSubscription
                        $0.purchaseDate = Timestamp(day: 1)
                        $0.expiresDate = Timestamp(day: 366)
                    }),
                Evidence.period(0, signed: Evidence.start + Evidence.day) { $0.isUpgraded = true },
            ],
            "Take nothing back for transaction 100: an upgrade replaced it, which is no refund.",
            "The access to premium.yearly stays until 2024-11-14T22:13:20Z."),
        Case(
            "another account", [Evidence.period(0) { $0.appAccountToken = "a" }], of: "b",
            "Grant nothing to the customer that you ask about: premium.monthly names the account "
                + "a. Ask which account bought it."),
        Case(
            "the expected account", [Evidence.period(0) { $0.appAccountToken = "B" }], of: "b",
            "Give access to premium.monthly until \(day30)."),
        Case(
            "an unknown product type", [Evidence.product("9", "x", ProductType(rawValue: "Suite"))],
            "Grant nothing by it, and take nothing back: this version does not know the product "
                + "type Suite."),
        Case(
            "unknown values of other members",
            [
                Evidence.period(0) {
                    $0.inAppOwnershipType = InAppOwnershipType(rawValue: "LENT")
                    $0.offerType = OfferType(rawValue: 77)
                }
            ], "Give access to premium.monthly until \(day30)."),
    ]

    // MARK: Products

    private static let products: [Case] = [
        Case("a consumable", [product(.consumable)], "Grant once by dedupKey: gold."),
        Case(
            "three at once", [product(.consumable) { $0.quantity = 3 }],
            "Grant once by dedupKey: 3 × gold."),
        Case(
            "a consumable refunded", [product(.consumable) { refunded(&$0, nil) }],
            "Take gold back: Apple refunded transaction 9. Since \(day2) it entitles to nothing."),
        Case(
            "a share of it refunded",
            [
                product(.consumable) {
                    refunded(&$0, .other, .refundProrated)
                    $0.revocationPercentage = 12_500
                }
            ],
            "Take 12.5 % of gold back: Apple refunded this share of transaction 9 for another "
                + "reason than an issue with the app (revocationReason 0) at \(day2)."),
        Case("a non-consumable", [product(.nonConsumable)], "Grant once by dedupKey: gold."),
        Case(
            "of the family", [product(.nonConsumable) { $0.inAppOwnershipType = .familyShared }],
            "Give access to gold while the family shares it: it is no sale."),
        Case(
            "no longer of the family",
            [
                product(.nonConsumable) {
                    $0.inAppOwnershipType = .familyShared
                    refunded(&$0, nil, .familyRevoke)
                }
            ],
            "Take gold back: the family no longer shares transaction 9. Since \(day2) it entitles "
                + "to nothing."),
        Case(
            "no longer of the family, and bought",
            [
                Evidence.product("10", "gold", .nonConsumable),
                product(.nonConsumable) { refunded(&$0, nil, .familyRevoke) },
            ],
            "Take back what came with gold then: the family no longer shares transaction 9. Since "
                + "\(day2) it entitles to nothing.",
            "The customer keeps gold by transaction 10."),
        Case(
            "a seat that ended",
            [product(.nonConsumable) { refunded(&$0, nil, .assignmentRevoke) }],
            "Take gold back: the seat of transaction 9 is no longer assigned. Since \(day2) it "
                + "entitles to nothing."),
        Case(
            "revoked by a type and a reason that are not known",
            [
                product(.nonConsumable) {
                    refunded(&$0, RevocationReason(rawValue: 7), RevocationType(rawValue: "LOST"))
                }
            ],
            "Take gold back: Apple revoked transaction 9 (revocationType LOST). Since \(day2) it "
                + "entitles to nothing."),
        Case(
            "a refund that was reversed, and the refund",
            [
                product(.nonConsumable, signed: 4),
                product(.nonConsumable, signed: 2) { refunded(&$0) },
            ], nothing),
        Case(
            "a refund that was reversed",
            [
                product(.nonConsumable, signed: 2) { refunded(&$0) },
                product(.nonConsumable, signed: 4),
            ], "Grant once by dedupKey: gold."),
        Case(
            "the purchase beside its refund",
            [product(.consumable, signed: 2) { refunded(&$0) }, product(.consumable)], nothing),
        Case(
            "a non-renewing subscription", [product(.nonRenewingSubscription)],
            "Grant once by dedupKey: gold. The evidence states no end: its duration is yours to "
                + "know."),
        Case(
            "refunded non-renewing", [product(.nonRenewingSubscription) { refunded(&$0) }],
            "Take gold back: Apple refunded transaction 9 because of an issue with the app "
                + "(revocationReason 1). Since \(day2) it entitles to nothing."),
        Case(
            "a transaction without an identifier",
            [product(.consumable) { $0.transactionId = nil }],
            "Grant nothing: it names no transaction."),
        Case(
            "an item of Advanced Commerce",
            [
                Evidence.period(0) {
                    var item = AdvancedCommerceTransactionItem()
                    item.sku = "tv"
                    item.revocationDate = Timestamp(day: 2)
                    var info = AdvancedCommerceTransactionInfo()
                    info.items = [item]
                    $0.advancedCommerceInfo = info
                }
            ], "Take tv back: Apple refunded this item at \(day2).",
            "Give access to premium.monthly until \(day30)."),
    ]

    @Test("kind, product and state", arguments: subscriptions + products)
    func table(_ tested: Case) {
        let texts = Self.texts(tested.items, at: tested.day, of: tested.account)
        #expect(texts == tested.texts)
    }

    @Test("an item that was refused has no advice here")
    func refused() {
        let item = EvidenceItem(Verification(verdict: .wrongBundle, detail: ""))
        #expect(Self.texts([item]).isEmpty)
    }
}
