import AssayEntitlements
import AssayModels
import Testing

/// Links between subscriptions: moves from one original to another, and bundles.
@Suite struct LinkTests {
    private static func subscription(
        _ original: String, product: String, group: String?, days: Int64 = 30,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        Evidence.period(0, product: product) {
            $0.transactionId = original + "1"
            $0.originalTransactionId = original
            $0.subscriptionGroupIdentifier = group
            $0.expiresDate = Timestamp(day: days)
            change(&$0)
        }
    }

    /// The groups for all orders of the items, which have to agree.
    private static func groups(
        _ items: [EvidenceItem], at now: Timestamp
    ) throws -> [SubscriptionGroup] {
        let answer = Entitlements(of: items, at: now)
        for order in [Array(items.reversed()), Array(items[1...]) + [items[0]], items + items] {
            #expect(Entitlements(of: order, at: now).withoutPositions == answer.withoutPositions)
        }
        return try #require(answer.apps.first).subscriptionGroups
    }

    @Test func aMovedSubscriptionJoinsTheGroupOfItsSuccessor() throws {
        let old = Evidence.receipt(
            created: Evidence.start,
            [
                {
                    $0.transactionId = "1001"
                    $0.originalTransactionId = "100"
                    $0.productId = "premium.monthly"
                    $0.productType = .autoRenewableSubscription
                    $0.expiresDate = Timestamp(day: 10)
                }
            ])
        func new(_ previous: String?) -> EvidenceItem {
            Self.subscription("200", product: "premium", group: "2100") {
                $0.previousOriginalTransactionId = previous
            }
        }
        let linked = try Self.groups([old, new("100")], at: Timestamp(day: 15))
        #expect(linked.map(\.subscriptionGroupIdentifier) == ["2100"])
        #expect(linked.first?.subscriptions.map(\.originalTransactionId) == ["200"])
        #expect(linked.first?.deciding.originalTransactionId == "200")
        for previous in [nil, "101"] {
            let apart = try Self.groups([old, new(previous)], at: Timestamp(day: 15))
            #expect(apart.map(\.subscriptionGroupIdentifier) == [nil, "2100"])
        }
    }

    @Test func aLinkedSuccessorIsNotMissing() {
        let old = Self.subscription("100", product: "a", group: "1") { $0.isUpgraded = true }
        let cases: [(String, [EntitlementWarning.Code])] = [
            ("100", [.lineageInTwoGroups]), ("101", [.upgradedWithoutSuccessor]),
        ]
        for (previous, codes) in cases {
            let new = Self.subscription("200", product: "b", group: "2") {
                $0.previousOriginalTransactionId = previous
            }
            let answer = Entitlements(of: [old, new], at: Timestamp(day: 1))
            #expect(answer.warnings.map(\.code) == codes)
        }
    }

    /// A component that was revoked because it moved into a bundle is no loss.
    @Test func aBundleCoversItsRevokedComponent() throws {
        func component(_ bundle: String?) -> EvidenceItem {
            Self.subscription("300", product: "music", group: "30") {
                $0.bundleOriginalTransactionID = bundle
                $0.revocationDate = Timestamp(day: 5)
            }
        }
        func bundle(
            _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
        ) -> EvidenceItem {
            Self.subscription("500", product: "everything", group: "50", days: 60, change)
        }
        let cases: [([EvidenceItem], Timestamp, SubscriptionState)] = [
            ([component("500"), bundle()], Timestamp(day: 20), .active),
            ([component("500"), bundle()], Timestamp(day: 60, plus: -1), .active),
            ([component("500"), bundle()], Timestamp(day: 60), .revoked),
            ([component("500")], Timestamp(day: 20), .revoked),
            ([component("501"), bundle()], Timestamp(day: 20), .revoked),
            ([component(nil), bundle()], Timestamp(day: 20), .revoked),
            (
                [component("500"), bundle { $0.revocationDate = Timestamp(day: 6) }],
                Timestamp(day: 20), .revoked
            ),
        ]
        for (index, (items, now, status)) in cases.enumerated() {
            let groups = try Self.groups(items, at: now)
            let codes = Entitlements(of: items, at: now).warnings.map(\.code)
            #expect(codes.contains(.bundleMissing) == [3, 4].contains(index), "case \(index)")
            let music = try #require(
                groups.first { $0.subscriptionGroupIdentifier == "30" }?.deciding)
            #expect(music.status == status, "case \(index)")
            let revoked = status == .revoked ? Timestamp(day: 5) : nil
            #expect(music.revocationDate == revoked, "case \(index)")
            #expect(music.isEntitled == (status == .active), "case \(index)")
            #expect(music.productId == "music")
            guard status == .active else { continue }
            #expect(music.entitledUntil == Timestamp(day: 60))
            #expect(music.decidedBy.transactionId == "5001", "the bundle decides")
        }
    }

    /// The component's new transactions name the old original and the bundle.
    @Test func aBundleCoversTheOriginalThatItsComponentReplaced() throws {
        let old = Self.subscription("100", product: "music", group: "30") {
            $0.revocationDate = Timestamp(day: 5)
        }
        let new = Self.subscription("300", product: "music", group: "30", days: 8) {
            $0.previousOriginalTransactionId = "100"
            $0.bundleOriginalTransactionID = "500"
            $0.bundleSubscriptionGroupID = "50"
        }
        let bundle = Self.subscription("500", product: "everything", group: nil, days: 60)
        let groups = try Self.groups([old, new, bundle], at: Timestamp(day: 20))
        #expect(groups.map(\.subscriptionGroupIdentifier) == ["30", "50"])
        #expect(groups.map(\.isEntitled) == [true, true])
        #expect(groups.first?.subscriptions.map(\.status) == [.active])
    }

    @Test func renewalInformationNamesTheBundleToo() throws {
        let component = Self.subscription("300", product: "music", group: "30") {
            $0.revocationDate = Timestamp(day: 5)
        }
        let bundle = Self.subscription("500", product: "everything", group: "50", days: 60)
        for (named, isEntitled) in [("500", true), ("501", false)] {
            let renewal = Evidence.renewal(signed: Evidence.start, original: "300") {
                $0.bundleOriginalTransactionID = named
            }
            let groups = try Self.groups([component, renewal, bundle], at: Timestamp(day: 20))
            #expect(groups.first?.isEntitled == isEntitled)
        }
    }
}
