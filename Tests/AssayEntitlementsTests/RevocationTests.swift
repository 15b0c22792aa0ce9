import AssayEntitlements
import AssayModels
import Testing

/// When, why and how a purchase was refunded or revoked, beside the answer that it does not
/// entitle.
@Suite("Revocations") struct RevocationTests {
    private struct Revocation: Equatable {
        var date: Timestamp?
        var reason: Int32?
        var type: String?
    }

    private static let day5 = Timestamp(day: 5)

    private static func refund(
        reason: Int32? = 1, type: String? = "REFUND_FULL"
    ) -> @Sendable (inout JWSTransactionDecodedPayload) -> Void {
        {
            $0.revocationDate = day5
            $0.revocationReason = reason.map(RevocationReason.init)
            $0.revocationType = type.map(RevocationType.init)
        }
    }

    private func app(_ items: [EvidenceItem]) throws -> AppEntitlements {
        try #require(Entitlements(of: items, at: Timestamp(day: 10)).apps.first)
    }

    private func subscription(_ items: [EvidenceItem]) throws -> (SubscriptionState, Revocation) {
        let group = try #require(try app(items).subscriptionGroups.first)
        #expect(group.subscriptions.contains(group.deciding))
        let one = group.deciding
        return (
            one.status,
            Revocation(
                date: one.revocationDate, reason: one.revocationReason?.rawValue,
                type: one.revocationType?.rawValue)
        )
    }

    @Test("a subscription: of the deciding transaction, only where the status is REVOKED")
    func subscriptions() throws {
        let full = Revocation(date: Self.day5, reason: 1, type: "REFUND_FULL")
        let newer = Evidence.start + 6 * Evidence.day
        let cases: [([EvidenceItem], SubscriptionState, Revocation)] = [
            ([Evidence.period(0)], .active, Revocation()),
            ([Evidence.period(0, Self.refund())], .revoked, full),
            // Values that Apple adds later are kept as they are; none is not made up.
            (
                [Evidence.period(0, Self.refund(reason: 7, type: "NEW"))], .revoked,
                Revocation(date: Self.day5, reason: 7, type: "NEW")
            ),
            (
                [Evidence.period(0, Self.refund(reason: nil, type: nil))], .revoked,
                Revocation(date: Self.day5)
            ),
            // Reversed, and a refund of an older period.
            (
                [Evidence.period(0, Self.refund()), Evidence.period(0, signed: newer)], .active,
                Revocation()
            ),
            ([Evidence.period(-1, Self.refund()), Evidence.period(0)], .active, Revocation()),
        ]
        for (index, (items, status, revocation)) in cases.enumerated() {
            let found = try subscription(items)
            #expect(found.0 == status && found.1 == revocation, "case \(index)")
        }
    }

    @Test("a receipt: the date, and the reason if it has one; the newest statement decides")
    func receipts() throws {
        func receipt(reason: Int64?, day: Int64 = 6) -> EvidenceItem {
            Evidence.receipt(
                created: Evidence.start + day * Evidence.day,
                [
                    {
                        ($0.transactionId, $0.originalTransactionId) = ("100", "100")
                        $0.productId = "premium.monthly"
                        $0.productType = .autoRenewableSubscription
                        $0.expiresDate = Timestamp(day: 30)
                        ($0.cancellationDate, $0.cancellationReason) = (Self.day5, reason)
                    }
                ])
        }
        for (reason, expected) in [(nil, nil), (0, 0), (1, 1), (.max, nil)] as [(Int64?, Int32?)] {
            let found = try subscription([receipt(reason: reason)])
            #expect(found == (.revoked, Revocation(date: Self.day5, reason: expected)))
        }
        // Of two with one date the order of the items decides nothing.
        let both = [receipt(reason: 0), receipt(reason: 1)]
        #expect(try subscription(both) == subscription(both.reversed()))
    }

    @Test("products and consumables")
    func products() throws {
        let full = Revocation(date: Self.day5, reason: 1, type: "REFUND_FULL")
        for (change, expected) in [(Self.refund(), full), ({ _ in }, Revocation())] {
            let found = try app([
                Evidence.product("1", "world", .nonConsumable, change),
                Evidence.product("2", "pass", .nonRenewingSubscription, change),
                Evidence.product("3", "gold", .consumable, change),
            ])
            for product in found.nonConsumables + found.nonRenewing {
                let revocation = Revocation(
                    date: product.revocationDate, reason: product.revocationReason?.rawValue,
                    type: product.revocationType?.rawValue)
                #expect(revocation == expected, "\(product.productId)")
            }
            let purchase = try #require(found.nonRenewing.first?.purchases.first)
            #expect(
                Revocation(
                    date: purchase.revocationDate, reason: purchase.revocationReason?.rawValue,
                    type: purchase.revocationType?.rawValue) == expected)
            let gold = try #require(found.consumables.first)
            #expect(
                Revocation(
                    date: gold.revocationDate, reason: gold.revocationReason?.rawValue,
                    type: gold.revocationType?.rawValue) == expected)
            #expect(found.nonConsumables.count == 1 && found.nonRenewing.count == 1)
        }
    }
}
