import AssayEntitlements
import AssayModels
import Testing

/// Purchases of other stores beside Apple's.
@Suite struct StoreEntitlementTests {
    private static let now = Timestamp(day: 10)

    static func google(
        _ token: String, _ product: String = "world.2", state: Int32 = 0, bought: Int64 = 1,
        _ change: (inout GooglePurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        var purchase = GooglePurchase()
        purchase.orderId = "GPA." + token
        purchase.packageName = "com.example.game"
        purchase.productIds = [product]
        purchase.purchaseTime = Timestamp(day: bought)
        purchase.purchaseState = state
        purchase.purchaseToken = token
        change(&purchase)
        return Evidence.item(
            .googlePurchase(VerifiedPayload(purchase, json: Array("\(purchase)".utf8))))
    }

    static func huawei(
        _ token: String, kind: Int32, state: Int32 = 0,
        _ change: (inout HuaweiPurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        var purchase = HuaweiPurchase()
        purchase.packageName = "com.example.game"
        purchase.productId = "gold"
        purchase.kind = kind
        purchase.purchaseTime = Timestamp(day: 1)
        purchase.purchaseState = state
        purchase.purchaseToken = token
        change(&purchase)
        return Evidence.item(
            .huaweiPurchase(VerifiedPayload(purchase, json: Array("\(purchase)".utf8))))
    }

    static func harmony(
        _ order: String, type: Int32, signed: Int64 = 1, token: String = "t",
        _ change: (inout HarmonyPurchase) -> Void = { _ in }
    ) -> EvidenceItem {
        var purchase = HarmonyPurchase()
        purchase.environment = "NORMAL"
        purchase.applicationId = "100"
        purchase.purchaseOrderId = order
        purchase.purchaseToken = token
        purchase.productId = "pass"
        purchase.productType = type
        purchase.purchaseTime = Timestamp(day: 1)
        purchase.signedTime = Timestamp(day: signed)
        change(&purchase)
        return Evidence.item(
            .harmonyPurchase(VerifiedPayload(purchase, json: Array("\(purchase)".utf8))))
    }

    @Test("each type of product of HarmonyOS, bought and refunded by a later statement")
    func harmonyTypes() throws {
        var policy = EntitlementPolicy()
        policy.durations["pass"] = 30 * Evidence.day
        for type: Int32 in 0...3 {
            let bought = Self.harmony("o", type: type)
            let refunded = Self.harmony("o", type: type, signed: 2) {
                $0.revocationTime = Timestamp(day: 2)
            }
            for items in [[bought], [bought, refunded], [refunded, bought]] {
                let isRefunded = items.count > 1
                let answer = Entitlements(of: items, at: Self.now, policy: policy)
                let app = try #require(answer.apps.first)
                #expect(app.store == .harmony && app.bundleId == "100")
                #expect(
                    app.consumables.map(\.revokedPercentage)
                        == (type == 0 ? [isRefunded ? 100_000 : 0] : []))
                #expect(app.nonConsumables.map(\.isEntitled) == (type == 1 ? [!isRefunded] : []))
                #expect(app.nonRenewing.map(\.isEntitled) == (type == 3 ? [!isRefunded] : []))
                #expect(
                    app.subscriptionGroups.map(\.deciding.status)
                        == (type == 2 ? [isRefunded ? .revoked : .unknown] : []))
                let ends = type == 3 && !isRefunded
                #expect(answer.nextChange == (ends ? Timestamp(day: 31) : nil))
            }
        }
        let over = Entitlements(
            of: [Self.harmony("o", type: 3)], at: Timestamp(day: 31), policy: policy)
        #expect(over.apps[0].nonRenewing.map(\.isEntitled) == [false])
    }

    @Test("the state of a subscription of HarmonyOS has its end, its group and its order")
    func harmonySubscription() throws {
        var state = HarmonySubscription()
        state.environment = "NORMAL"
        state.applicationId = "100"
        state.subGroupId = "group"
        state.purchaseToken = "t"
        state.expiresTime = Timestamp(day: 31)
        state.autoRenewStatusCode = 1
        state.signedTime = Timestamp(day: 2)
        var order = HarmonyPurchase()
        order.purchaseOrderId = "o"
        order.purchaseToken = "t"
        order.productId = "pass"
        order.productType = 2
        order.purchaseTime = Timestamp(day: 1)
        state.lastPurchaseOrder = order
        let item = Evidence.item(.harmonySubscription(VerifiedPayload(state, json: [1])))
        let alone = Self.harmony("o", type: 2)
        for items in [[item], [alone, item], [item, alone]] {
            let answer = Entitlements(of: items, at: Self.now)
            let group = try #require(answer.apps[0].subscriptionGroups.first)
            #expect(group.subscriptionGroupIdentifier == "group" && group.isEntitled)
            #expect(group.deciding.entitledUntil == Timestamp(day: 31))
            #expect(group.deciding.willRenew == true)
            #expect(answer.refresh.map(\.store) == [.harmony])
        }
        state.lastPurchaseOrder = nil
        let nameless = Evidence.item(.harmonySubscription(VerifiedPayload(state, json: [2])))
        #expect(Entitlements(of: [nameless], at: Self.now).apps.isEmpty)
    }

    @Test("a subscription that HarmonyOS calls revoked or expired is not in force")
    func harmonyStatus() throws {
        for (status, expected) in [
            (1, .active), (2, .expired), (3, .active), (5, .revoked),
        ] as [(Int32, SubscriptionState)] {
            var state = HarmonySubscription()
            state.applicationId = "100"
            state.purchaseToken = "t"
            state.status = status
            state.expiresTime = Timestamp(day: 31)
            var order = HarmonyPurchase()
            order.purchaseOrderId = "o"
            order.productId = "pass"
            order.purchaseTime = Timestamp(day: 1)
            order.signedTime = Timestamp(day: 1)
            state.lastPurchaseOrder = order
            let item = Evidence.item(.harmonySubscription(VerifiedPayload(state, json: [1])))
            let answer = Entitlements(of: [item], at: Self.now)
            let group = try #require(answer.apps.first?.subscriptionGroups.first)
            #expect(group.deciding.status == expected, "\(status)")
            #expect(group.isEntitled == (expected == .active))
        }
    }

    @Test("a customer of three stores has an entry for each, whatever the order")
    func threeStores() throws {
        let items = [
            Evidence.product("7", "world.2", .nonConsumable), Self.google("a"),
            Self.huawei("h", kind: 1),
        ]
        let orders = [items, items.reversed(), [items[1], items[2], items[0]]]
        for items in orders {
            let answer = Entitlements(of: items, at: Self.now)
            // Google's evidence names no environment: it is the last.
            #expect(answer.apps.map(\.store) == [.apple, .huawei, .google])
            #expect(answer.apps.allSatisfy { $0.bundleId == "com.example.game" })
            #expect(answer.apps.allSatisfy { $0.nonConsumables.map(\.isEntitled) == [true] })
            #expect(answer.apps[2].nonConsumables[0].transactionId == "a")
            #expect(answer.refresh.isEmpty && answer.superseded.isEmpty)
        }
    }

    @Test("a purchase that is not paid gives no entitlement and nothing to deliver")
    func states() {
        for (state, entitles) in [(0, true), (4, false), (1, false), (2, false), (3, false)] {
            let app = Entitlements(of: [Self.google("a", state: Int32(state))], at: Self.now).apps[
                0]
            #expect(app.nonConsumables.map(\.isEntitled) == [entitles], "\(state)")
        }
        // Of consumables: paid, pending, canceled.
        for (state, revoked) in [(Int32(0), Int32(0)), (3, nil), (1, 100_000), (2, 100_000)]
            as [(Int32, Int32?)]
        {
            let item = Self.huawei("h", kind: 0, state: state)
            let app = Entitlements(of: [item], at: Self.now).apps[0]
            #expect(app.consumables.map(\.revokedPercentage) == [revoked].compactMap(\.self))
            #expect(app.consumables.allSatisfy { $0.dedupKey == "huawei/com.example.game/h" })
            #expect(app.nonConsumables.isEmpty)
        }
    }

    @Test("the later statement about a purchase wins, and the others are superseded")
    func statements() {
        let pending = Self.google("a", state: 4)
        let paid = Self.google("a")
        let acknowledged = Self.google("a") { $0.acknowledged = true }
        let refunded = Self.google("a", state: 2)
        let cases: [([EvidenceItem], winner: Int)] = [
            ([pending, paid], 1), ([paid, pending], 0), ([acknowledged, paid, pending], 0),
            ([paid, refunded, acknowledged], 1), ([paid, paid], 0),
        ]
        for (items, winner) in cases {
            let answer = Entitlements(of: items, at: Self.now)
            let product = answer.apps[0].nonConsumables[0]
            #expect(product.decidedBy.item == winner)
            // The newest date of the evidence is that of the first item.
            let superseded = items.indices.filter { $0 != winner && $0 != 0 }
            #expect(answer.superseded == superseded)
        }
    }

    @Test("Google alone knows a subscription: not entitled, UNKNOWN, and to be asked at once")
    func googleSubscription() throws {
        let item = Self.google("s", "premium") { $0.autoRenewing = true }
        let answer = Entitlements(of: [item], at: Self.now)
        let group = try #require(answer.apps[0].subscriptionGroups.first)
        #expect(group.deciding.status == .unknown && !group.isEntitled)
        #expect(group.deciding.willRenew == true)
        let expected = EntitlementRefresh(
            transactionId: "s", at: Self.now, reason: .statusUnknown, store: .google)
        #expect(answer.refresh == [expected])
        #expect(answer.apps[0].nonConsumables.isEmpty)
    }

    @Test("a subscription of Huawei has an end, and can be revoked")
    func huaweiSubscription() throws {
        func decide(_ day: Int64, _ change: (inout HuaweiPurchase) -> Void) -> Entitlements {
            let item = Self.huawei("s", kind: 2) {
                $0.expirationDate = Timestamp(day: 31)
                $0.autoRenewing = true
                change(&$0)
            }
            return Entitlements(of: [item], at: Timestamp(day: day))
        }
        let cases: [(Int64, (inout HuaweiPurchase) -> Void, SubscriptionState, refresh: Int)] = [
            (30, { _ in }, .active, 1), (31, { _ in }, .unknown, 1),
            (30, { $0.autoRenewing = false }, .active, 0),
            (31, { $0.autoRenewing = false }, .expired, 0),
            (30, { $0.cancelTime = Timestamp(day: 2) }, .revoked, 0),
            (30, { $0.purchaseState = 3 }, .unknown, 1),
            (30, { $0.purchaseState = 2 }, .revoked, 0),
            (30, { $0.expirationDate = nil }, .unknown, 1),
        ]
        for (day, change, status, refresh) in cases {
            let answer = decide(day, change)
            let subscription = try #require(answer.apps[0].subscriptionGroups.first).deciding
            #expect(subscription.status == status, "day \(day)")
            #expect(subscription.isEntitled == (status == .active))
            #expect(answer.refresh.count == refresh)
            #expect((answer.nextChange == Timestamp(day: 31)) == (status == .active))
        }
    }

    @Test("periods of one subscription are one, by the end of the last")
    func periods() {
        let first = Self.huawei("p1", kind: 2) {
            $0.subscriptionId = "sub"
            $0.expirationDate = Timestamp(day: 5)
        }
        let second = Self.huawei("p2", kind: 2) {
            $0.subscriptionId = "sub"
            $0.expirationDate = Timestamp(day: 35)
        }
        for items in [[first, second], [second, first]] {
            let groups = Entitlements(of: items, at: Self.now).apps[0].subscriptionGroups
            #expect(groups.map(\.deciding.entitledUntil) == [Timestamp(day: 35)])
        }
    }

    @Test("what names another account does not entitle; the case of an account counts")
    func accounts() {
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = "customer-A"
        for (account, entitles) in [
            ("customer-A", true), ("customer-a", false), ("customer-B", false), (nil, true),
        ] as [(String?, Bool)] {
            let item = Self.google("a") { $0.obfuscatedAccountId = account }
            let app = Entitlements(of: [item], at: Self.now, policy: policy).apps[0]
            #expect(app.nonConsumables[0].isEntitled == entitles, "\(account ?? "none")")
            #expect(app.nonConsumables[0].belongsToAnotherAccount == !entitles)
        }
        let items = ["A", "B"].map { name in
            Self.google("token " + name) { $0.obfuscatedAccountId = name }
        }
        let customers = Entitlements(of: items, at: Self.now).apps[0].customers
        #expect(customers.appAccountTokens == ["A", "B"] && customers.isConflicting)
    }

    @Test("a purchase of several is a consumable; one of several products is each of them")
    func quantities() {
        let several = Self.google("a") { $0.quantity = 3 }
        let app = Entitlements(of: [several], at: Self.now).apps[0]
        #expect(app.consumables.map(\.quantity) == [3] && app.nonConsumables.isEmpty)
        let bundle = Self.google("a") { $0.productIds = ["x", "y"] }
        let products = Entitlements(of: [bundle], at: Self.now).apps[0].nonConsumables
        #expect(products.map(\.productId) == ["x", "y"])
        #expect(products.map(\.isEntitled) == [true, true])
    }

    @Test("a customer has one entry at Google, Huawei's sandbox is apart, later ones are not known")
    func environments() {
        let google = [Self.google("a"), Self.google("b") { $0.orderId = nil }]
        #expect(Entitlements(of: google, at: Self.now).apps.map(\.environment) == [nil])
        let items =
            google + [
                Self.huawei("a", kind: 1), Self.huawei("b", kind: 1) { $0.purchaseType = 0 },
            ]
        let answer = Entitlements(of: items, at: Self.now)
        #expect(answer.apps.map(\.environment) == [.production, .sandbox, nil])
        var policy = EntitlementPolicy()
        policy.knownAt = Timestamp(day: 0)
        #expect(Entitlements(of: items, at: Self.now, policy: policy).apps.isEmpty)
    }
}
