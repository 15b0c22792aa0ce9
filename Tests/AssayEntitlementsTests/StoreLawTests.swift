import AssayEntitlements
import AssayModels
import Testing

/// The first law at other stores: what this version can't read refuses nothing and grants nothing.
/// And what Huawei's members decide.
@Suite struct StoreLawTests {
    typealias Stores = StoreEntitlementTests
    private static let now = Timestamp(day: 10)

    private static func subscription(
        _ order: String, from: Int64 = 1, until: Int64 = 31, state: Int32 = 0,
        _ change: (inout HuaweiPurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        Stores.huawei("t", kind: 2, state: state) {
            $0.orderId = order
            $0.subscriptionId = "s"
            $0.subIsvalid = true
            $0.autoRenewing = true
            $0.purchaseTime = Timestamp(day: from)
            $0.expirationDate = Timestamp(day: until)
            change(&$0)
        }
    }

    private static func decide(
        _ items: [EvidenceItem], day: Int64 = 10
    ) throws -> (Subscription, Entitlements) {
        let answer = Entitlements(of: items, at: Timestamp(day: day))
        return (try #require(answer.apps[0].subscriptionGroups.first).deciding, answer)
    }

    @Test("subIsvalid, the grace period and the trial flag decide as Huawei defines them")
    func members() throws {
        typealias Case = (
            day: Int64, change: (inout HuaweiPurchase) -> Void, status: SubscriptionState,
            until: Int64?
        )
        let grace: (inout HuaweiPurchase) -> Void = { $0.graceExpirationTime = Timestamp(day: 40) }
        let cases: [Case] = [
            (10, { _ in }, .active, 31), (10, { $0.subIsvalid = nil }, .active, 31),
            (10, { $0.subIsvalid = false }, .expired, nil), (30, grace, .active, 31),
            (31, grace, .gracePeriod, 40), (39, grace, .gracePeriod, 40),
            (40, grace, .unknown, nil),
            (
                35,
                {
                    $0.graceExpirationTime = Timestamp(day: 40)
                    $0.subIsvalid = false
                }, .expired, nil
            ),
            (10, { $0.unreadableState = true }, .unknown, nil),
            (10, { $0.purchaseType = 9 }, .unknown, nil),
            (10, { $0.cancelTime = Timestamp(day: 9) }, .revoked, nil),
        ]
        for (day, change, status, until) in cases {
            let (found, answer) = try Self.decide([Self.subscription("a", change)], day: day)
            #expect(found.status == status, "day \(day): \(found.status)")
            #expect(found.isEntitled == (until != nil))
            #expect(found.entitledUntil == until.map { Timestamp(day: $0) })
            if let until { #expect(answer.nextChange == Timestamp(day: until)) }
        }
        for (flag, isTrial) in [(nil, false), (0, false), (1, true), (2, false)] as [(Int32?, Bool)]
        {
            let (found, _) = try Self.decide([Self.subscription("a") { $0.trialFlag = flag }])
            #expect(found.isTrial == isTrial && found.isEntitled)
        }
    }

    @Test("the state of an order decides about that order alone")
    func orders() throws {
        let paid = Self.subscription("a")
        let cases: [(String, EvidenceItem, Bool)] = [
            ("pending", Self.subscription("b", from: 9, until: 61, state: 3), true),
            ("refunded", Self.subscription("b", from: 9, until: 61, state: 2), true),
            ("canceled", Self.subscription("b", from: 9, until: 61, state: 1), true),
            ("unknown", Self.subscription("b", from: 9, until: 61, state: 9), true),
            ("paid", Self.subscription("b", from: 9, until: 61), true),
            (
                "paid, and no longer in force",
                Self.subscription("b", from: 9, until: 61) { $0.subIsvalid = false }, false
            ),
        ]
        for (name, other, entitles) in cases {
            for items in [[paid, other], [other, paid]] {
                let (found, _) = try Self.decide(items)
                #expect(found.isEntitled == entitles, "\(name)")
                let until: Int64? = entitles ? (name == "paid" ? 61 : 31) : nil
                #expect(found.entitledUntil == until.map { Timestamp(day: $0) }, "\(name)")
            }
        }
        // Alone none entitles, but the paid one.
        for (name, other, _) in cases {
            let (found, _) = try Self.decide([other])
            #expect(found.isEntitled == (name == "paid"), "\(name)")
        }
        // The same order, refunded: that is a later state of it.
        let (refunded, _) = try Self.decide([paid, Self.subscription("a", state: 2)])
        #expect(refunded.status == .revoked)
    }

    @Test("nothing is owned before it was bought; a refund counts from its date on")
    func past() throws {
        let cases: [(Int64, SubscriptionState, until: Int64?, next: Int64?)] = [
            (0, .unknown, nil, 1), (1, .active, 20, 20), (19, .active, 20, 20),
            (20, .revoked, nil, nil),
        ]
        let refunded = Self.subscription("a", state: 2) { $0.cancelTime = Timestamp(day: 20) }
        for (day, status, until, next) in cases {
            let (found, answer) = try Self.decide([refunded], day: day)
            #expect(found.status == status && found.isEntitled == (until != nil), "day \(day)")
            #expect(found.entitledUntil == until.map { Timestamp(day: $0) }, "day \(day)")
            #expect(answer.nextChange == next.map { Timestamp(day: $0) }, "day \(day)")
            #expect(found.purchaseDate == Timestamp(day: 1))
        }
        let periods = [Self.subscription("a"), Self.subscription("b", from: 31, until: 61)]
        for (day, until) in [(10, 61), (31, 61)] as [(Int64, Int64)] {
            let (found, _) = try Self.decide(periods, day: day)
            #expect(found.entitledUntil == Timestamp(day: until), "day \(day)")
        }
        let product = Stores.huawei("p", kind: 1, state: 2) { $0.cancelTime = Timestamp(day: 20) }
        for (day, entitles) in [(0, false), (1, true), (19, true), (20, false)] as [(Int64, Bool)] {
            let app = Entitlements(of: [product], at: Timestamp(day: day)).apps[0]
            #expect(app.nonConsumables.map(\.isEntitled) == [entitles], "day \(day)")
            let until = entitles ? Timestamp(day: 20) : nil
            #expect(app.nonConsumables[0].entitledUntil == until)
        }
    }

    /// Each enumeration of each store, with a value that nobody knows.
    private static let unknown: Int32 = 4711
    private static let unknownValues: [(String, EvidenceItem)] = {
        var all: [(String, EvidenceItem)] = [
            ("Google's state", Stores.google("a", state: unknown)),
            (
                "the state of Google's subscription",
                Stores.google("a", state: unknown) { $0.autoRenewing = true }
            ),
            ("HMS kind", Stores.huawei("a", kind: unknown) { $0.expirationDate = .init(day: 31) }),
            ("no HMS kind", Stores.huawei("a", kind: 1) { $0.kind = nil }),
            ("HarmonyOS type", Stores.harmony("a", type: unknown)),
            ("no HarmonyOS type", Stores.harmony("a", type: 1) { $0.productType = nil }),
        ]
        for kind: Int32 in 0...2 {
            let changes: [(String, (inout HuaweiPurchase) -> Void)] = [
                ("state", { $0.purchaseState = unknown }), ("no state", { $0.purchaseState = nil }),
                ("type of purchase", { $0.purchaseType = unknown }),
                ("unreadable state", { $0.unreadableState = true }),
            ]
            for (name, change) in changes {
                let item = Stores.huawei("a", kind: kind) {
                    $0.expirationDate = Timestamp(day: 31)
                    change(&$0)
                }
                all.append(("HMS \(name) of kind \(kind)", item))
            }
        }
        for type: Int32 in 0...3 {
            let item = Stores.harmony("a", type: type) { $0.unreadableState = true }
            all.append(("HarmonyOS unreadable state of type \(type)", item))
        }
        var state = HarmonySubscription()
        state.applicationId = "100"
        state.expiresTime = Timestamp(day: 31)
        state.status = unknown
        var order = HarmonyPurchase()
        order.purchaseOrderId = "o"
        order.productId = "pass"
        order.purchaseTime = Timestamp(day: 1)
        state.lastPurchaseOrder = order
        all.append(
            (
                "HarmonyOS status",
                Evidence.item(.harmonySubscription(VerifiedPayload(state, json: [1])))
            ))
        return all
    }()

    @Test("a value that nobody knows grants nothing, and is warned of, in every store")
    func unknownValues() {
        for (name, item) in Self.unknownValues {
            let answer = Entitlements(of: [item], at: Self.now)
            let app = answer.apps[0]
            #expect(app.nonConsumables.allSatisfy { !$0.isEntitled }, "\(name)")
            #expect(app.nonRenewing.allSatisfy { !$0.isEntitled }, "\(name)")
            #expect(app.subscriptionGroups.allSatisfy { !$0.isEntitled }, "\(name)")
            #expect(app.consumables.isEmpty, "\(name)")
            let codes: [EntitlementWarning.Code] = [.unknownProductType, .unknownState]
            #expect(answer.warnings.contains { codes.contains($0.code) }, "\(name)")
            #expect(answer.warnings.allSatisfy { $0.item == 0 }, "\(name)")
        }
        // An unknown type is listed, and another purchase of the product entitles as ever.
        let items = [Stores.huawei("a", kind: Self.unknown), Stores.huawei("b", kind: 1)]
        for items in [items, items.reversed()] {
            let products = Entitlements(of: items, at: Self.now).apps[0].nonConsumables
            #expect(products.map(\.isEntitled) == [true])
        }
    }

    @Test("a notification of Huawei contributes the order inside; without one it grants nothing")
    func notification() throws {
        guard case .huaweiPurchase(let order) = Self.subscription("a").verification.evidence else {
            Issue.record("no purchase")
            return
        }
        var notification = HuaweiNotification()
        notification.notificationType = Self.unknown
        let without = Evidence.item(.huaweiNotification(VerifiedPayload(notification, json: [1])))
        #expect(Entitlements(of: [without], at: Self.now).apps.isEmpty)
        notification.latestReceiptInfo = order.payload
        let item = Evidence.item(.huaweiNotification(VerifiedPayload(notification, json: [2])))
        let (found, answer) = try Self.decide([item, Self.subscription("a")])
        #expect(found.isEntitled && answer.apps[0].subscriptionGroups.count == 1)
    }
}
