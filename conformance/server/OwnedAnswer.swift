import AssayModels
import AssayWire

/// An answer to a Resolve of two items in which each member that not every answer has is present.
enum OwnedAnswer {
    static var resolution: Resolution {
        var old = item("purchase", .transaction, "transaction/470001/1700000000000")
        old.isSuperseded = true
        old.item.identifiers.appTransactionId = "704289572311"
        var renewal = item("renewal", .notification, "notification/b0a1")
        renewal.item.identifiers.notificationType = .didChangeRenewalPref
        renewal.item.identifiers.subtype = Subtype(rawValue: "INCREASE_QUANTITY")
        return Resolution(items: [old, renewal], entitlements: entitlements)
    }

    private static func item(
        _ label: String, _ kind: EvidenceKind, _ statement: String
    ) -> ResolvedItem {
        var item = EvidenceItem(
            Verification(
                verdict: .valid, detail: "one sentence", kind: kind, environment: .production,
                dedupKey: "Production/com.example.game/470001",
                evidenceKey: "Production/com.example.game/" + statement),
            label: label)
        item.identifiers.originalTransactionId = "470001"
        item.identifiers.appAccountToken = "7e3fb204-2f45-4dfd-8b2b-1c3cf5ba2f41"
        return ResolvedItem(item)
    }

    private static var entitlements: Entitlements {
        let decided = DecidedBy(item: 1, transactionId: "470002")
        var subscription = Subscription(
            originalTransactionId: "470001", status: .active, isEntitled: true,
            productId: "premium", decidedBy: decided)
        // Above the integers that a binary64 number holds.
        subscription.seats = .max
        var product = ProductEntitlement(
            productId: "world", transactionId: "470003", decidedBy: decided)
        product.belongsToAnotherAccount = true
        var app = AppEntitlements(environment: .production, bundleId: "com.example.game")
        app.subscriptionGroups = [
            SubscriptionGroup(deciding: subscription, subscriptions: [subscription])
        ]
        app.nonConsumables = [product]
        var entitlements = Entitlements(at: Timestamp(milliseconds: 1_700_000_000_000))
        entitlements.apps = [app]
        entitlements.refresh = [
            EntitlementRefresh(
                transactionId: "470002", at: Timestamp(milliseconds: 1_700_000_000_001),
                reason: .periodEnds),
            EntitlementRefresh(
                transactionId: "470003", at: Timestamp(milliseconds: 1_700_000_000_002),
                reason: EntitlementRefresh.Reason(rawValue: "SOMETHING_NEW")),
        ]
        return entitlements
    }
}
