import AssayEntitlements
import AssayModels
import Testing

/// The App Store can state a transaction again under another original.
@Suite struct RestatementTests {
    private static func statement(
        _ id: String, under original: String, lineItem: String?, signed day: Int64 = 0,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        Evidence.period(0, signed: Evidence.start + day * Evidence.day) {
            $0.transactionId = id
            $0.originalTransactionId = original
            $0.webOrderLineItemId = lineItem
            change(&$0)
        }
    }

    private static func refund(
        _ id: String, under original: String, lineItem: String?, signed day: Int64 = 5
    ) -> EvidenceItem {
        statement(id, under: original, lineItem: lineItem, signed: day) {
            $0.revocationDate = Timestamp(day: 5)
        }
    }

    private static func renewal(_ original: String, signed day: Int64 = 0) -> EvidenceItem {
        Evidence.renewal(signed: Evidence.start + day * Evidence.day, original: original) {
            $0.renewalDate = Timestamp(day: 30)
        }
    }

    private static func orders(of items: [EvidenceItem]) -> [[EvidenceItem]] {
        guard items.count > 1 else { return [items] }
        return items.indices.flatMap { index in
            var rest = items
            let first = rest.remove(at: index)
            return orders(of: rest).map { [first] + $0 }
        }
    }

    /// The subscriptions of the only app, by original: the same in all orders, and without what is
    /// superseded.
    private static func subscriptions(
        _ items: [EvidenceItem], _ label: String
    ) throws -> [String: SubscriptionState] {
        let now = Timestamp(day: 10)
        let answer = Entitlements(of: items, at: now)
        for order in orders(of: items) {
            let other = Entitlements(of: order, at: now)
            #expect(other.withoutPositions == answer.withoutPositions, "\(label)")
            let superseded = Set(other.superseded)
            let kept = order.indices.filter { !superseded.contains($0) }.map { order[$0] }
            let pruned = Entitlements(of: kept, at: now)
            #expect(pruned.withoutPositions == answer.withoutPositions, "\(label), pruned")
        }
        let found = try #require(answer.apps.first).subscriptionGroups.flatMap(\.subscriptions)
        return Dictionary(
            uniqueKeysWithValues: found.map { ($0.originalTransactionId, $0.status) })
    }

    @Test func oneTransactionUnderTwoOriginalsIsOnePurchase() throws {
        let bought = Self.statement("300", under: "300", lineItem: "9300")
        let other = Self.statement("301", under: "300", lineItem: "9301")
        let cases: [(String, [EvidenceItem], [String: SubscriptionState])] = [
            (
                "the line item stays",
                [bought, Self.refund("300", under: "100", lineItem: "9300")], ["100": .revoked]
            ),
            (
                "another line item",
                [bought, Self.refund("300", under: "100", lineItem: "77")], ["100": .revoked]
            ),
            (
                "none, as in Xcode",
                [
                    Self.statement("300", under: "300", lineItem: nil),
                    Self.refund("300", under: "100", lineItem: nil),
                ],
                ["100": .revoked]
            ),
            (
                "the newer statement decides, also where it was bought",
                [bought, Self.refund("300", under: "100", lineItem: "9300", signed: -1)],
                ["300": .active]
            ),
            (
                "a copy of another device leads to the other original",
                [
                    bought, Self.statement("302", under: "300", lineItem: "9300", signed: 1),
                    Self.refund("302", under: "100", lineItem: "9"),
                ],
                ["100": .revoked]
            ),
            (
                "three originals",
                [
                    bought, Self.statement("300", under: "200", lineItem: "9200", signed: 1),
                    Self.refund("300", under: "100", lineItem: "9100"),
                ],
                ["100": .revoked]
            ),
            (
                "renewal information of the original that is gone grants nothing",
                [
                    bought, Self.renewal("300"),
                    Self.refund("300", under: "100", lineItem: "9300"),
                ],
                ["100": .revoked]
            ),
            (
                "another transaction is another purchase",
                [bought, Self.refund("400", under: "100", lineItem: "77")],
                ["100": .revoked, "300": .active]
            ),
            (
                "other purchases of the first original stay",
                [bought, other, Self.refund("300", under: "100", lineItem: "9300")],
                ["100": .revoked, "300": .active]
            ),
        ]
        for (label, items, expected) in cases {
            #expect(try Self.subscriptions(items, label) == expected, "\(label)")
        }
    }

    @Test func aReceiptStatesTheSamePurchase() throws {
        let receipt = Evidence.receipt(
            created: Evidence.start,
            [
                {
                    $0.transactionId = "300"
                    $0.originalTransactionId = "300"
                    $0.webOrderLineItemId = 9300
                    $0.productId = "premium.monthly"
                    $0.productType = .autoRenewableSubscription
                    $0.expiresDate = Timestamp(day: 30)
                }
            ])
        let refund = Self.refund("300", under: "100", lineItem: "9300")
        #expect(try Self.subscriptions([receipt, refund], "receipt") == ["100": .revoked])
    }

    /// Xcode writes 0 for the transaction of every record.
    @Test func recordsWithoutATransactionStayApart() throws {
        let receipt = Evidence.receipt(
            created: Evidence.start,
            ["a", "b"].map { product in
                {
                    $0.transactionId = "0"
                    $0.originalTransactionId = "0"
                    $0.productId = product
                    $0.productType = .autoRenewableSubscription
                    $0.expiresDate = Timestamp(day: 30)
                }
            })
        let found = try Self.subscriptions([receipt], "Xcode")
        #expect(found == ["0/a": .active, "0/b": .active])
    }

    @Test func aLineItemUnderTwoOriginalsIsAWarning() {
        let bought = Self.statement("300", under: "300", lineItem: "9300")
        let cases: [(EvidenceItem, Bool)] = [
            (Self.statement("301", under: "100", lineItem: "9300"), true),
            (Self.statement("301", under: "100", lineItem: "9301"), false),
            (Self.statement("301", under: "300", lineItem: "9300"), false),
            (Self.statement("300", under: "100", lineItem: "9300", signed: 1), false),
            (
                Self.statement("301", under: "100", lineItem: "9300") {
                    $0.previousOriginalTransactionId = "300"
                }, false
            ),
            (Self.statement("301", under: "100", lineItem: nil), false),
        ]
        for (index, (other, isWarned)) in cases.enumerated() {
            for items in [[bought, other], [other, bought]] {
                let warnings = Entitlements(of: items, at: Timestamp(day: 10)).warnings
                let found = warnings.filter { $0.code == .lineItemUnderTwoOriginals }
                #expect(found.count == (isWarned ? 1 : 0), "case \(index)")
                guard isWarned else { continue }
                #expect(found.first?.message.contains("9300") == true)
                #expect(found.first?.message.contains("100 and 300") == true)
            }
        }
    }

    /// A lineage in two groups is two subscriptions, and renewal information decides both.
    @Test func refreshNamesATransactionOnce() {
        let items = [
            Evidence.period(0), Evidence.period(1) { $0.subscriptionGroupIdentifier = "2200" },
            Evidence.renewal(signed: Evidence.start + 31 * Evidence.day) {
                $0.renewalDate = Timestamp(day: 90)
            },
        ]
        let answer = Entitlements(of: items, at: Timestamp(day: 40))
        let decided = answer.apps.flatMap(\.subscriptionGroups).map(\.deciding.decidedBy)
        #expect(decided.map(\.transactionId) == ["100", "100"])
        #expect(answer.refresh.map(\.transactionId) == ["100"])
    }

    /// Long chains of statements, each of which joins two purchases.
    @Test func chainsOfRestatementsAreOnePurchase() {
        let count = 2_000
        var items: [EvidenceItem] = []
        for index in 0..<count {
            let (one, next) = ("\(10_000 + index)", "\(10_001 + index)")
            items.append(Self.statement(one, under: one, lineItem: "\(index + 1)"))
            items.append(Self.statement(next, under: one, lineItem: "\(index + 1)", signed: 1))
        }
        let answer = Entitlements(of: items, at: Timestamp(day: 10))
        #expect(answer.apps.first?.subscriptionGroups.flatMap(\.subscriptions).count == 1)
        #expect(answer.refresh.count == 1)
    }
}
