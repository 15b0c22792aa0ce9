import AssayEntitlements
import AssayModels
import Testing

/// A value that nobody knows in each enumeration of Apple's payloads: it refuses nothing and grants
/// nothing. Those of other stores are in StoreLawTests.
@Suite struct UnknownValueTests {
    private typealias Transaction = JWSTransactionDecodedPayload
    private typealias Renewal = JWSRenewalInfoDecodedPayload

    private struct Row<Payload> {
        let member: String
        let change: (inout Payload) -> Void
    }

    private static func row<Payload, Value: RawRepresentable>(
        _ member: String, _ path: WritableKeyPath<Payload, Value?>, _ raw: Value.RawValue
    ) -> Row<Payload> {
        Row(member: member) { $0[keyPath: path] = Value(rawValue: raw) }
    }

    private static var transactions: [Row<Transaction>] {
        [
            row("type", \.type, "Season"),
            row("inAppOwnershipType", \.inAppOwnershipType, "ASSIGNED_BY_ORGANIZATION"),
            row("revocationReason", \.revocationReason, 99),
            row("offerType", \.offerType, 99), row("environment", \.environment, "Moon"),
            row("transactionReason", \.transactionReason, "ASSIGNMENT"),
            row("offerDiscountType", \.offerDiscountType, "HALF_PRICE"),
            row("revocationType", \.revocationType, "REFUND_TOMORROW"),
            row("billingPlanType", \.billingPlanType, "DAILY"),
            row("additionalTransactionReason", \.additionalTransactionReason, "SEAT_GIFT"),
        ]
    }

    private static var renewals: [Row<Renewal>] {
        [
            row("expirationIntent", \.expirationIntent, 99),
            row("autoRenewStatus", \.autoRenewStatus, 9),
            row("priceIncreaseStatus", \.priceIncreaseStatus, 9), row("offerType", \.offerType, 99),
            row("environment", \.environment, "Moon"),
            row("offerDiscountType", \.offerDiscountType, "HALF_PRICE"),
            row("renewalBillingPlanType", \.renewalBillingPlanType, "DAILY"),
        ]
    }

    /// The members of a payload that are enumerations.
    private func enumerations(of payload: Any) -> Set<String> {
        var found: Set<String> = []
        for case (let name?, let value) in Mirror(reflecting: payload).children {
            guard let type = type(of: value) as? any AnyOptional.Type, type.isEnumeration else {
                continue
            }
            found.insert(name)
        }
        return found
    }

    @Test("Each enumeration has a row")
    func complete() {
        #expect(enumerations(of: Transaction()) == Set(Self.transactions.map(\.member)))
        #expect(enumerations(of: Renewal()) == Set(Self.renewals.map(\.member)))
    }

    private func isEntitled(_ items: [EvidenceItem], day: Int64) -> Bool {
        Entitlements(of: items, at: Timestamp(day: day)).apps.contains { app in
            app.subscriptionGroups.contains(where: \.isEntitled)
                || app.nonConsumables.contains(where: \.isEntitled)
                || app.nonRenewing.contains(where: \.isEntitled)
        }
    }

    @Test("In a transaction it leaves a paid period, ends it in time, and gives back no refund")
    func transaction() {
        for row in Self.transactions {
            #expect(isEntitled([Evidence.period(0, row.change)], day: 10), "\(row.member)")
            #expect(!isEntitled([Evidence.period(0, row.change)], day: 31), "\(row.member)")
            let refunded = Evidence.period(0) {
                $0.revocationDate = Timestamp(day: 5)
                row.change(&$0)
            }
            #expect(!isEntitled([refunded], day: 10), "\(row.member)")
            let owned = Evidence.product("12", "world.2", .nonConsumable, row.change)
            #expect(isEntitled([owned], day: 1) == (row.member != "type"), "\(row.member)")
        }
    }

    @Test("In renewal information it leaves a paid period, and grants none after its end")
    func renewal() {
        for row in Self.renewals {
            for signed in [Int64(1), 31] {
                let renewal = Evidence.renewal(
                    signed: Evidence.start + signed * Evidence.day, row.change)
                let items = [Evidence.period(0), renewal]
                #expect(isEntitled(items, day: 10), "\(row.member)")
                #expect(!isEntitled(items, day: 31), "\(row.member)")
            }
        }
    }

    @Test("A status that nobody knows leaves a paid period, and grants none after its end")
    func status() {
        for signed in [Int64(1), 31] {
            let unknown = Evidence.notification(
                SubscriptionStatus(rawValue: 9), signed: Evidence.start + signed * Evidence.day,
                Evidence.period(0))
            #expect(isEntitled([unknown], day: 10))
            #expect(!isEntitled([unknown], day: 31))
        }
    }

    @Test("A product type with an end is warned of by the purchase that decides, once")
    func warning() {
        let known = Evidence.period(0)
        let unknown = Evidence.period(1) { $0.type = ProductType(rawValue: "Season") }
        func codes(_ items: [EvidenceItem], day: Int64) -> [String] {
            Entitlements(of: items, at: Timestamp(day: day)).warnings
                .filter { $0.code == .unknownProductType }
                .map { "\($0.item ?? -1) \($0.message)" }
        }
        let text = "1 transaction 101 has the unknown product type Season: its end"
        for (day, expected) in [(Int64(10), 0), (40, 1)] {
            let found = codes([known, unknown], day: day)
            #expect(found.count == expected && found.allSatisfy { $0.hasPrefix(text) })
        }
        for type in ["Auto-Renewable Subscription Suite", "Auto-Renewable Subscription Bundle"] {
            let part = Evidence.period(0) { $0.type = ProductType(rawValue: type) }
            #expect(isEntitled([part], day: 10) && codes([part], day: 10).isEmpty)
        }
        // A later receipt can't say the type: that of the signed transaction stays.
        let receipt = Evidence.receipt(
            created: Evidence.start + 35 * Evidence.day,
            [
                {
                    $0.transactionId = "101"
                    $0.originalTransactionId = "100"
                    $0.productId = "premium.monthly"
                    $0.expiresDate = Timestamp(day: 60)
                }
            ])
        #expect(codes([known, unknown, receipt], day: 40).count == 1)
        let record = Evidence.receipt(
            created: Evidence.start,
            [
                {
                    $0.transactionId = "7"
                    $0.productId = "premium.monthly"
                    $0.productType = InAppProductType(rawValue: 9)
                    $0.expiresDate = Timestamp(day: 30)
                }
            ])
        #expect(codes([record], day: 1).map { $0.contains("type number 9: its end") } == [true])
        // A record that names no type is of a subscription by its end, as receipts are.
        let old = Evidence.receipt(
            created: Evidence.start,
            [
                {
                    $0.transactionId = "7"
                    $0.expiresDate = Timestamp(day: 30)
                }
            ])
        #expect(codes([old], day: 1).isEmpty)
    }
}

private protocol AnyOptional {
    static var isEnumeration: Bool { get }
}

extension Optional: AnyOptional {
    static var isEnumeration: Bool { Wrapped.self is any RawRepresentable.Type }
}
