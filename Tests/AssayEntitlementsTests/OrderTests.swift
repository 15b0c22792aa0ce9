import AssayEntitlements
import AssayModels
import Testing

/// The order, duplication and grouping of the evidence never change the answer.
@Suite("Order of evidence")
struct OrderTests {
    private static let life: [EvidenceItem] = [
        Evidence.period(0),
        Evidence.period(0, signed: Evidence.start + Evidence.day) {
            $0.revocationDate = Timestamp(day: 1)
        },
        Evidence.period(1),
        Evidence.renewal(signed: Evidence.start + 60 * Evidence.day) {
            $0.gracePeriodExpiresDate = Timestamp(day: 76)
        },
        Evidence.product("7", "world.2", .nonConsumable),
        Evidence.receipt(
            created: Evidence.start + 2 * Evidence.day,
            [
                {
                    $0.transactionId = "9"
                    $0.productId = "gold.100"
                    $0.productType = .consumable
                }
            ]),
    ]
    private static let moments = [-1, 0, 15, 29, 30, 45, 60, 61, 75, 76, 90].map {
        Timestamp(day: $0)
    }

    private static func permutations(_ items: [EvidenceItem]) -> [[EvidenceItem]] {
        guard items.count > 1 else { return [items] }
        return items.indices.flatMap { index in
            var rest = items
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    @Test("All orders of six items give one answer at every moment")
    func permutations() {
        let orders = Self.permutations(Self.life)
        #expect(orders.count == 720)
        for moment in Self.moments {
            let expected = Entitlements(of: Self.life, at: moment).withoutPositions
            #expect(!expected.apps.isEmpty)
            for order in orders {
                #expect(Entitlements(of: order, at: moment).withoutPositions == expected)
            }
        }
    }

    @Test("Duplicates change nothing")
    func duplicates() {
        for moment in Self.moments {
            let once = Entitlements(of: Self.life, at: moment)
            var twice = Entitlements(of: Self.life + Self.life, at: moment)
            let copies = Self.life.indices.map { $0 + Self.life.count }
            #expect(Set(twice.superseded).isSuperset(of: copies))
            twice.superseded = once.superseded
            #expect(twice == once)
        }
    }

    @Test("An older snapshot of the same transaction changes nothing")
    func olderSnapshots() {
        let older = Evidence.period(1, signed: Evidence.start - Evidence.day) {
            $0.revocationDate = Timestamp(day: -1)
            $0.productId = "something.else"
        }
        for moment in Self.moments {
            let before = Entitlements(of: Self.life, at: moment)
            var after = Entitlements(of: Self.life + [older], at: moment)
            #expect(after.superseded == before.superseded + [Self.life.count])
            after.superseded = before.superseded
            #expect(after == before)
        }
    }

    @Test("Tokens inside notifications give the answer of the tokens alone")
    func notifications() {
        let wrapped = Self.life.map { item -> EvidenceItem in
            if let transaction = item.transaction { return Evidence.notification(transaction) }
            if let renewal = item.renewalInfo { return Evidence.notification(nil, renewal) }
            return item
        }
        for moment in Self.moments {
            let alone = Entitlements(of: Self.life, at: moment)
            #expect(Entitlements(of: wrapped, at: moment) == alone)
        }
    }

    @Test("Records split over two receipts of one date give the answer of one receipt")
    func splitReceipts() {
        let records: [(inout InAppPurchaseReceipt) -> Void] = (0..<6).map { number in
            {
                $0.transactionId = "\(100 + number)"
                $0.originalTransactionId = "100"
                $0.productType = .autoRenewableSubscription
                $0.purchaseDate = Timestamp(day: Int64(number) * 30)
                $0.expiresDate = Timestamp(day: Int64(number) * 30 + 30)
            }
        }
        let created = Evidence.start + 200 * Evidence.day
        let whole = [Evidence.receipt(created: created, records)]
        let split = [
            Evidence.receipt(created: created, Array(records[..<2])),
            Evidence.receipt(created: created, Array(records[2...])),
        ]
        for moment in Self.moments {
            let expected = Entitlements(of: whole, at: moment).withoutPositions
            #expect(Entitlements(of: split, at: moment).withoutPositions == expected)
        }
    }

    @Test("Two records of one date and transaction that differ: the order does not decide")
    func contradictingRecords() {
        func receipt(_ product: String) -> EvidenceItem {
            Evidence.receipt(
                created: Evidence.start,
                [
                    {
                        $0.transactionId = "7"
                        $0.productId = product
                        $0.productType = .nonConsumable
                    }
                ])
        }
        let one = Entitlements(of: [receipt("a"), receipt("b")], at: Timestamp(day: 1))
        let other = Entitlements(of: [receipt("b"), receipt("a")], at: Timestamp(day: 1))
        #expect(one.withoutPositions == other.withoutPositions)
        #expect(one.apps[0].nonConsumables.map(\.productId) == ["b"])
    }

    @Test("Identifiers are ordered as numbers of any length")
    func numbers() {
        let ids = ["100", "9", "00000009", "99999999999999999999999999", "20"]
        let items = ids.map { Evidence.product($0, "gold", .consumable) }
        let found = Entitlements(of: items, at: Timestamp(day: 1)).apps[0].consumables
        #expect(
            found.map(\.transactionId)
                == ["00000009", "9", "20", "100", "99999999999999999999999999"])
    }
}
