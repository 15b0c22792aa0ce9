import AssayEntitlements
import AssayModels
import Testing

@Suite("Products")
struct ProductTests {
    private func app(
        _ items: [EvidenceItem], at now: Timestamp = Timestamp(day: 10),
        _ policy: EntitlementPolicy = .init()
    ) throws -> AppEntitlements {
        try #require(Entitlements(of: items, at: now, policy: policy).apps.first)
    }

    @Test("A non-consumable entitles until it is refunded, for the whole or in part")
    func nonConsumable() throws {
        let bought = Evidence.product("7", "world.2", .nonConsumable)
        let refunded = Evidence.product(
            "7", "world.2", .nonConsumable, signed: Evidence.start + 1
        ) {
            $0.revocationDate = Timestamp(day: 1)
            $0.revocationType = .refundProrated
            $0.revocationPercentage = 40_000
        }
        let owned = try app([bought]).nonConsumables
        #expect(owned.map(\.isEntitled) == [true])
        let lost = try app([refunded, bought]).nonConsumables
        #expect(lost.map(\.isEntitled) == [false])
        #expect(lost.first?.revocationPercentage == 40_000)
    }

    @Test("A refund that arrives before its purchase wins over the older snapshot")
    func refundFirst() throws {
        let refunded = Evidence.product("7", "world.2", .nonConsumable, signed: Evidence.start + 1)
        {
            $0.revocationDate = Timestamp(day: 1)
        }
        #expect(try !app([refunded]).nonConsumables[0].isEntitled)
    }

    @Test("A product that is owned and shared is entitled if either is")
    func ownedAndShared() throws {
        let shared = Evidence.product("8", "world.2", .nonConsumable) {
            $0.inAppOwnershipType = .familyShared
        }
        let refunded = Evidence.product("7", "world.2", .nonConsumable) {
            $0.revocationDate = Timestamp(day: 1)
        }
        let found = try app([shared, refunded]).nonConsumables
        #expect(found.count == 1)
        #expect(found[0].isEntitled && found[0].transactionId == "8")
    }

    @Test("A consumable is listed once, with its revoked share, and never entitles")
    func consumables() throws {
        let bought = Evidence.product("9", "gold.100", .consumable) { $0.quantity = 3 }
        let second = Evidence.product("10", "gold.100", .consumable)
        let refunded = Evidence.product("10", "gold.100", .consumable, signed: Evidence.start + 1) {
            $0.revocationDate = Timestamp(day: 1)
        }
        let found = try app([second, bought, refunded, bought]).consumables
        #expect(found.map(\.transactionId) == ["9", "10"])
        #expect(found.map(\.quantity) == [3, 1])
        #expect(found.map(\.revokedPercentage) == [0, 100_000])
        #expect(found[0].dedupKey == "Production/com.example.game/9")
    }

    @Test(
        "A non-renewing subscription ends by the policy's duration",
        arguments: [(-1, true), (0, false)] as [(Int64, Bool)])
    func nonRenewing(offset: Int64, isEntitled: Bool) throws {
        var policy = EntitlementPolicy()
        policy.durations = ["pass.summer": 90 * Evidence.day]
        let bought = Evidence.product("11", "pass.summer", .nonRenewingSubscription)
        let now = Timestamp(day: 90, plus: offset)
        let found = try app([bought], at: now, policy).nonRenewing[0]
        #expect(found.isEntitled == isEntitled)
        #expect(found.entitledUntil == (isEntitled ? Timestamp(day: 90) : nil))
        let open = try app([bought], at: now).nonRenewing[0]
        #expect(open.isEntitled && open.entitledUntil == nil)
    }

    @Test("An unknown product type grants nothing and is reported")
    func unknownType() throws {
        let bought = Evidence.product("12", "thing", ProductType(rawValue: "Bundle"))
        let answer = Entitlements(of: [bought], at: Timestamp(day: 1))
        #expect(answer.warnings.map(\.code) == [.unknownProductType])
        #expect(answer.apps[0].nonConsumables.isEmpty && answer.apps[0].consumables.isEmpty)
    }

    @Test("The warning of an unknown product type says what the evidence states")
    func unknownTypeText() {
        let old = TransactionReceipt(
            members: [
                .init(name: "transaction-id", value: "12"),
                .init(name: "bid", value: "com.example.game"),
            ], environment: .production, signatureVersion: 3)
        func record(_ type: InAppProductType?) -> EvidenceItem {
            Evidence.receipt(
                created: Evidence.start,
                [{ ($0.transactionId, $0.productId, $0.productType) = ("12", "thing", type) }])
        }
        let cases: [(EvidenceItem, String)] = [
            (
                Evidence.product("12", "thing", ProductType(rawValue: "Bundle")),
                "has the unknown product type Bundle"
            ),
            (record(InAppProductType(rawValue: 4)), "has the unknown product type number 4"),
            (record(nil), "names no product type"),
            (Evidence.item(.transactionReceipt(old)), "names no product type"),
        ]
        for (item, text) in cases {
            let warnings = Entitlements(of: [item], at: Timestamp(day: 1)).warnings
                .filter { $0.code == .unknownProductType }
            #expect(warnings.map(\.message).first?.contains("12 " + text) == true, "\(text)")
        }
    }

    // MARK: Receipts

    @Test("A receipt's records count as of its creation, and join the group that a token names")
    func receipts() throws {
        let receipt = Evidence.receipt(
            created: Evidence.start + Evidence.day,
            [
                {
                    $0.transactionId = "100"
                    $0.originalTransactionId = "100"
                    $0.productId = "premium.monthly"
                    $0.productType = .autoRenewableSubscription
                    $0.expiresDate = Timestamp(day: 30)
                }
            ])
        let alone = try app([receipt]).subscriptionGroups
        #expect(alone.map(\.subscriptionGroupIdentifier) == [nil])
        #expect(alone[0].isEntitled)
        let joined = try app([Evidence.period(0), receipt]).subscriptionGroups
        #expect(joined.map(\.subscriptionGroupIdentifier) == ["2100"])
        #expect(joined[0].subscriptions.count == 1)
    }

    @Test("A cancellation in a receipt can be an upgrade: a later record that begins then decides")
    func receiptUpgrade() throws {
        func record(
            _ id: String, _ product: String, begin: Int64, end: Int64, cancelled: Bool
        ) -> (inout InAppPurchaseReceipt) -> Void {
            {
                $0.transactionId = id
                $0.originalTransactionId = "100"
                $0.productId = product
                $0.productType = .autoRenewableSubscription
                $0.purchaseDate = Timestamp(day: begin)
                $0.expiresDate = Timestamp(day: end)
                if cancelled { $0.cancellationDate = Timestamp(day: 5) }
            }
        }
        let cancelled = record("100", "premium.monthly", begin: 0, end: 30, cancelled: true)
        let other = record("101", "premium.yearly", begin: 5, end: 370, cancelled: false)
        let created = Evidence.start + 6 * Evidence.day
        let upgraded = try app([Evidence.receipt(created: created, [cancelled, other])])
        #expect(upgraded.subscriptionGroups[0].deciding.productId == "premium.yearly")
        #expect(upgraded.subscriptionGroups[0].isEntitled)
        let refunded = try app([Evidence.receipt(created: created, [cancelled])])
        #expect(refunded.subscriptionGroups[0].deciding.status == .revoked)
    }

    @Test("Records of Xcode, all of transaction 0, are purchases by product and date")
    func xcodeRecords() throws {
        func record(
            _ product: String, _ type: InAppProductType, day: Int64, id: String = "0"
        ) -> (inout InAppPurchaseReceipt) -> Void {
            {
                $0.transactionId = id
                $0.originalTransactionId = id
                $0.productId = product
                $0.productType = type
                $0.purchaseDate = Timestamp(day: day)
                if type == .autoRenewableSubscription { $0.expiresDate = Timestamp(day: day + 30) }
            }
        }
        let records = [
            record("gold", .consumable, day: 1), record("gold", .consumable, day: 2),
            record("gold", .consumable, day: 2), record("world", .nonConsumable, day: 1),
            record("sea", .nonConsumable, day: 1),
            record("news", .autoRenewableSubscription, day: -29),
            record("news", .autoRenewableSubscription, day: 1),
            record("films", .autoRenewableSubscription, day: -1),
        ]
        let created = Evidence.start + 3 * Evidence.day
        let found = try app(
            [Evidence.receipt(created: created, records)], at: Timestamp(day: 3))
        #expect(found.consumables.count == 2)
        #expect(Set(found.consumables.map(\.dedupKey)).count == 2)
        #expect(found.nonConsumables.map(\.productId) == ["sea", "world"])
        #expect(found.nonConsumables.map(\.isEntitled) == [true, true])
        let subscriptions = found.subscriptionGroups.flatMap(\.subscriptions)
        #expect(Set(subscriptions.compactMap(\.productId)) == ["films", "news"])
        #expect(subscriptions.map(\.isEntitled) == [true, true])
        // One without a product names no purchase, which is said.
        let nameless = Evidence.receipt(
            created: created, [{ $0.transactionId = "0" }, record("gold", .consumable, day: 1)])
        let answer = Entitlements(of: [nameless], at: Timestamp(day: 3))
        #expect(answer.warnings.map(\.code).contains(.transactionWithoutId))
        #expect(answer.apps.flatMap(\.consumables).count == 1)
    }

    // MARK: Apart and together

    @Test("Equal identifiers in two environments and two apps never mix")
    func environments() {
        let refunded = Evidence.product("7", "world.2", .nonConsumable) {
            $0.environment = .sandbox
            $0.revocationDate = Timestamp(day: 1)
        }
        let other = Evidence.product("7", "world.2", .nonConsumable) {
            $0.bundleId = "com.example.other"
        }
        let answer = Entitlements(
            of: [refunded, Evidence.product("7", "world.2", .nonConsumable), other],
            at: Timestamp(day: 1))
        #expect(
            answer.apps.map(\.environment?.rawValue) == ["Production", "Production", "Sandbox"])
        #expect(answer.apps.map { $0.nonConsumables[0].isEntitled } == [true, true, false])
    }

    @Test("A refused item contributes nothing and refuses nothing")
    func refusedItem() throws {
        let refused = EvidenceItem(Verification(verdict: .invalidSignature, detail: "no"))
        let found = try app([refused, Evidence.product("7", "world.2", .nonConsumable)])
        #expect(found.nonConsumables[0].decidedBy.item == 1)
    }

    @Test(
        "Two account tokens are a conflict; what names another than the expected does not entitle")
    func customers() throws {
        func token(_ id: String, _ token: String) -> EvidenceItem {
            Evidence.product(id, "p\(id)", .nonConsumable) { $0.appAccountToken = token }
        }
        #expect(try !app([token("1", "AB"), token("2", "ab")]).customers.isConflicting)
        #expect(try app([token("1", "AB"), token("2", "CD")]).customers.isConflicting)
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = "CD"
        let nobodys = Evidence.product("2", "p2", .nonConsumable)
        for (expected, isEntitled) in [("CD", false), ("Ab", true)] {
            policy.expectedAppAccountToken = expected
            let found = try app([token("1", "AB"), nobodys], at: Timestamp(day: 1), policy)
            #expect(!found.customers.isConflicting)
            #expect(found.nonConsumables.map(\.isEntitled) == [isEntitled, true])
            #expect(found.nonConsumables.map(\.belongsToAnotherAccount) == [!isEntitled, false])
        }
    }

    @Test("Each customer is named once, in order, however often the entries name it")
    func repeatedCustomers() throws {
        let customers = [("CD", "9"), ("ab", "10"), ("cd", "9"), ("AB", "10"), ("AB", "x")]
        let items = customers.enumerated().map { index, customer in
            Evidence.product("\(index)", "p\(index)", .nonConsumable) {
                ($0.appAccountToken, $0.appTransactionId) = customer
            }
        }
        let found = try app(items).customers
        #expect(found.appAccountTokens == ["ab", "cd"])
        #expect(found.appTransactionIds == ["9", "10", "x"])
    }

    @Test("Two app transaction ids of one app are of two Apple accounts")
    func appleAccounts() {
        func product(_ id: String, _ account: String?, _ bundle: String) -> EvidenceItem {
            Evidence.product(id, "p\(id)", .nonConsumable) {
                ($0.appTransactionId, $0.bundleId) = (account, bundle)
            }
        }
        let table: [(items: [EvidenceItem], isMixed: Bool)] = [
            ([product("1", "7", "a"), product("2", "7", "a")], false),
            ([product("1", "7", "a"), product("2", nil, "a")], false),
            ([product("1", "7", "a"), product("2", "8", "b")], false),
            ([product("1", "7", "a"), product("2", "8", "a")], true),
        ]
        for (items, isMixed) in table {
            let answer = Entitlements(of: items, at: Timestamp(day: 1))
            #expect(answer.warnings.map(\.code) == (isMixed ? [.customersMixed] : []))
            #expect(answer.apps.contains { $0.customers.isConflicting } == isMixed)
            #expect(answer.apps.allSatisfy { $0.nonConsumables.allSatisfy(\.isEntitled) })
        }
    }

    @Test("Two transactions of one purchase are one purchase; the newest of them counts")
    func severalTransactions() throws {
        let day = Evidence.day
        func copy(_ id: String, signed: Int64, isRefunded: Bool = false) -> EvidenceItem {
            Evidence.product(id, "world.2", .nonConsumable, signed: Evidence.start + signed) {
                $0.originalTransactionId = "1"
                if isRefunded { $0.revocationDate = Timestamp(day: 1) }
            }
        }
        let (bought, restored) = (copy("1", signed: 0), copy("9", signed: day))
        let refund = copy("1", signed: 2 * day, isRefunded: true)
        for items in [[bought, restored, refund], [refund, restored, bought]] {
            let product = try #require(try app(items, at: Timestamp(day: 3)).nonConsumables.first)
            #expect(!product.isEntitled && product.transactionId == "1")
        }
        let product = try #require(try app([bought, restored]).nonConsumables.first)
        #expect(product.isEntitled && product.transactionId == "9")
        // Of two that Apple signed at one moment, the greater transaction id.
        let twins = [copy("10", signed: 0), copy("9", signed: 0)]
        for items in [twins, twins.reversed()] {
            let product = try #require(try app(items).nonConsumables.first)
            #expect(product.transactionId == "10")
        }
        func period(_ id: String, _ item: String, signed: Int64, isRefunded: Bool) -> EvidenceItem {
            Evidence.period(0, signed: Evidence.start + signed) {
                ($0.transactionId, $0.webOrderLineItemId) = (id, item)
                if isRefunded { $0.revocationDate = Timestamp(day: 1) }
            }
        }
        for (item, superseded) in [("900", [1]), ("901", [])] {
            let items = [
                period("101", "900", signed: day, isRefunded: true),
                period("102", item, signed: 0, isRefunded: false),
            ]
            let answer = Entitlements(of: items, at: Timestamp(day: 2))
            #expect(answer.superseded == superseded, "\(item)")
        }
    }

    @Test("Renewal information without its transaction is reported")
    func renewalAlone() {
        let renewal = Evidence.renewal(signed: Evidence.start, original: "555")
        let answer = Entitlements(of: [renewal, Evidence.period(0)], at: Timestamp(day: 1))
        #expect(answer.warnings.map(\.code) == [.renewalInfoWithoutTransaction])
        #expect(answer.warnings[0].item == 0)
    }

    @Test(
        "Evidence older than the policy's maximum age makes the answer stale",
        arguments: [(0, false), (1, true)] as [(Int64, Bool)])
    func stale(offset: Int64, isStale: Bool) {
        var policy = EntitlementPolicy()
        policy.maxAgeMilliseconds = 7 * Evidence.day
        let answer = Entitlements(
            of: [Evidence.period(0)], at: Timestamp(day: 7, plus: offset), policy: policy)
        #expect(answer.isStale == isStale)
    }
}
