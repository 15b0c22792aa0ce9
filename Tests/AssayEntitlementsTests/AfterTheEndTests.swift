import AssayEntitlements
import AssayModels
import Testing

/// The state after the end of the deciding period, and when to ask the App Store.
@Suite("After the end")
struct AfterTheEndTests {
    private static let day = Evidence.day
    private static let end = Evidence.start + 30 * day

    private static func renewal(
        _ signed: Int64, _ change: (inout JWSRenewalInfoDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        Evidence.renewal(signed: signed, change)
    }

    private static func status(_ status: SubscriptionStatus, _ signed: Int64) -> EvidenceItem {
        Evidence.notification(status, signed: signed, Evidence.period(0))
    }

    private func answer(
        _ items: [EvidenceItem], at now: Timestamp, _ policy: EntitlementPolicy = .init()
    ) throws -> (answer: Entitlements, subscription: Subscription) {
        let answer = Entitlements(of: items, at: now, policy: policy)
        return (answer, try #require(answer.apps.first?.subscriptionGroups.first).deciding)
    }

    @Test("EXPIRED only where evidence says so")
    func expired() throws {
        let cases: [(EvidenceItem?, SubscriptionState)] = [
            (nil, .unknown),
            // Signed before the end, and says that it renews.
            (Self.renewal(Self.end - 1), .unknown), (Self.renewal(Self.end), .expired),
            (Self.renewal(Evidence.start) { $0.autoRenewStatus = .off }, .expired),
            (Self.renewal(Evidence.start - 1) { $0.autoRenewStatus = .off }, .unknown),
            (Self.renewal(Evidence.start) { $0.expirationIntent = .cancelled }, .expired),
            (Self.status(.expired, Self.end), .expired),
            (Self.status(.expired, Self.end - 1), .unknown),
            (Self.status(.active, Self.end - 1), .unknown),
            (Self.status(.billingRetry, Self.end), .billingRetry),
        ]
        for (index, (item, status)) in cases.enumerated() {
            let items = [Evidence.period(0)] + (item.map { [$0] } ?? [])
            let found = try answer(items, at: Timestamp(day: 31)).subscription
            #expect(found.status == status && !found.isEntitled, "case \(index)")
        }
    }

    @Test(
        "A retry ends after 60 days",
        arguments: [(-1, .billingRetry), (0, .billingRetry), (1, .expired)]
            as [(Int64, SubscriptionState)])
    func longRetry(offset: Int64, status: SubscriptionState) throws {
        let renewal = Self.renewal(Self.end) { $0.isInBillingRetryPeriod = true }
        let now = Timestamp(day: 90, plus: offset)
        #expect(try answer([Evidence.period(0), renewal], at: now).subscription.status == status)
    }

    @Test(
        "A signed grace period without a date lasts three days",
        arguments: [(-1, .gracePeriod), (0, .billingRetry)] as [(Int64, SubscriptionState)])
    func grace(offset: Int64, status: SubscriptionState) throws {
        let items = [Self.status(.gracePeriod, Self.end)]
        let found = try answer(items, at: Timestamp(day: 33, plus: offset))
        #expect(found.subscription.status == status)
        #expect(found.subscription.isEntitled == (status == .gracePeriod))
        let codes = found.answer.warnings.map(\.code)
        #expect(codes.contains(.graceWithoutDate) == (status == .gracePeriod))
        // A date decides where there is one.
        let dated = Self.renewal(Self.end) { $0.gracePeriodExpiresDate = Timestamp(day: 46) }
        let until = try answer(items + [dated], at: Timestamp(day: 40)).subscription.entitledUntil
        #expect(until == Timestamp(day: 46))
    }

    @Test("A late renewal: access within the policy's leniency, the status stays UNKNOWN")
    func leniency() throws {
        var policy = EntitlementPolicy()
        policy.renewalLeniencyMilliseconds = 3_600_000
        let off = Self.renewal(Evidence.start) { $0.autoRenewStatus = .off }
        let cases: [([EvidenceItem], Int64, Bool)] = [
            ([], -1, true), ([], 0, false), ([off], -1, false),
            ([Self.renewal(Evidence.start)], -1, true),
        ]
        for (items, offset, isEntitled) in cases {
            let now = Timestamp(day: 30, plus: 3_600_000 + offset)
            let found = try answer([Evidence.period(0)] + items, at: now, policy).subscription
            #expect(found.isEntitled == isEntitled)
            #expect(found.status == (items.isEmpty || isEntitled ? .unknown : .expired))
        }
    }

    @Test("A signed status that says something else than the evidence is reported")
    func disagreement() throws {
        let cases: [([EvidenceItem], Bool)] = [
            ([Self.status(.active, Evidence.start)], false),
            ([Self.status(.expired, Evidence.start)], true),
            // Newer evidence explains it.
            ([Self.status(.expired, Evidence.start), Self.renewal(Evidence.start + 1)], false),
            // The evidence does not say what happened.
            ([Self.status(.expired, Self.end)], false),
            ([Self.status(SubscriptionStatus(rawValue: 9), Evidence.start)], false),
        ]
        for (index, (items, disagrees)) in cases.enumerated() {
            let codes = try answer(items, at: Timestamp(day: 2)).answer.warnings.map(\.code)
            #expect(codes.contains(.statusDisagrees) == disagrees, "case \(index)")
        }
    }

    @Test("A grace period lasts until Apple signs another status of the subscription")
    func graceBeforeStatus() throws {
        let renewal = Evidence.renewal(signed: Evidence.start + 31 * Evidence.day) {
            $0.renewalDate = Timestamp(day: 30)
            $0.gracePeriodExpiresDate = Timestamp(day: 40)
        }
        for (status, until) in [(1, 35), (2, 35), (3, 35), (4, 40), (5, 35), (9, 40)] {
            let signed = Evidence.notification(
                SubscriptionStatus(rawValue: Int32(status)),
                signed: Evidence.start + 35 * Evidence.day, Evidence.period(0))
            let items = [Evidence.period(0), renewal, signed]
            for day in [32, 34] {
                let found = try Evidence.decide(items, at: Timestamp(day: Int64(day)))
                #expect(found.status == .gracePeriod, "\(status)")
                #expect(found.entitledUntil == Timestamp(day: Int64(until)), "\(status)")
            }
            let later = try Evidence.decide(items, at: Timestamp(day: 35))
            #expect(later.isEntitled == (until == 40), "\(status)")
        }
    }

    @Test("When to ask the App Store")
    func refresh() throws {
        typealias Expected = (Int64, EntitlementRefresh.Reason)
        let retry = Self.renewal(Self.end) { $0.isInBillingRetryPeriod = true }
        let off = Self.renewal(Evidence.start) { $0.autoRenewStatus = .off }
        let refunded = Evidence.period(0, signed: Evidence.start + 1) {
            $0.revocationDate = Timestamp(day: 0)
        }
        let cases: [([EvidenceItem], Int64, Expected?)] = [
            ([], 1, (30, .periodEnds)), ([off], 1, nil), ([], 31, (30, .statusUnknown)),
            ([off], 31, nil), ([retry], 31, (31, .billingRetry)), ([refunded], 1, nil),
            ([Evidence.period(1)], 1, (60, .periodEnds)),
        ]
        for (items, day, expected) in cases {
            let found = try answer([Evidence.period(0)] + items, at: Timestamp(day: day)).answer
            #expect(found.refresh.map(\.at) == (expected.map { [Timestamp(day: $0.0)] } ?? []))
            #expect(found.refresh.map(\.reason) == (expected.map { [$0.1] } ?? []))
        }
    }

    @Test("What was signed later counts, unless the caller asks what was known then")
    func knownAt() throws {
        let refund = Evidence.period(0, signed: Evidence.start + 20 * Self.day) {
            $0.revocationDate = Timestamp(day: 20)
        }
        var policy = EntitlementPolicy()
        let now = Timestamp(day: 10)
        let items = [Evidence.period(0), refund]
        // What was refunded later was owned until then.
        for (offset, until) in [(-1, 30), (0, 20)] as [(Int64, Int64)] {
            policy.knownAt = Timestamp(day: 20, plus: offset)
            for policy in [policy] + (offset == 0 ? [EntitlementPolicy()] : []) {
                let found = try answer(items, at: now, policy)
                #expect(found.subscription.status == .active)
                #expect(found.subscription.entitledUntil == Timestamp(day: until))
                #expect(found.subscription.revocationDate == nil)
                #expect(found.answer.nextChange == Timestamp(day: until))
            }
        }
        #expect(try answer(items, at: Timestamp(day: 20)).subscription.status == .revoked)
    }

    @Test("Whose it is: the newest statement that names an account, else the newest of the lineage")
    func account() throws {
        let named = Evidence.period(0) { $0.appAccountToken = "AB" }
        let changed = Evidence.period(0, signed: Evidence.start + 1) { $0.appAccountToken = "CD" }
        let unnamed = Evidence.period(0, signed: Evidence.start + 2)
        let next = Self.renewal(Evidence.start) { $0.appAccountToken = "EF" }
        let cases: [([EvidenceItem], Int64, String?)] = [
            ([named], 1, "ab"), ([named, changed], 1, "cd"), ([named, changed, unnamed], 1, "cd"),
            ([named, Evidence.period(1)], 31, "ab"), ([unnamed], 1, nil),
        ]
        for (items, day, token) in cases {
            let now = Timestamp(day: day)
            let found = try answer(items + [next], at: now)
            #expect(found.subscription.appAccountToken == token)
            // It speaks of the first period.
            #expect(found.subscription.renewsForAppAccountToken == (day == 31 ? nil : "ef"))
            #expect(found.answer.apps[0].customers.appAccountTokens == (token.map { [$0] } ?? []))
            // The statement that names the account is kept, though a newer one has replaced it.
            #expect(found.answer.superseded == (token == "cd" ? [0] : []))
            var policy = EntitlementPolicy()
            policy.expectedAppAccountToken = "AB"
            let asked = try answer(items, at: now, policy).subscription
            #expect(asked.belongsToAnotherAccount == (token == "cd"))
            #expect(asked.isEntitled == (token != "cd") && asked.status == .active)
        }
    }

    @Test("Periods of a stacked product add up; each purchase is listed")
    func stacks() throws {
        func pass(_ id: String, _ day: Int64, refunded: Bool = false) -> EvidenceItem {
            Evidence.product(id, "pass", .nonRenewingSubscription, signed: Evidence.start) {
                $0.purchaseDate = Timestamp(day: day)
                if refunded { $0.revocationDate = Timestamp(day: day) }
            }
        }
        var policy = EntitlementPolicy()
        policy.durations = ["pass": 30 * Self.day]
        let cases: [([EvidenceItem], Bool, [Int64], Int64)] = [
            ([pass("1", 0), pass("2", 10)], false, [30, 40], 40),
            ([pass("1", 0), pass("2", 10)], true, [30, 60], 60),
            (
                [pass("1", 0), pass("2", 10, refunded: true), pass("3", 11)], true, [30, 60, 60], 60
            ),
            ([pass("1", 0), pass("2", 40)], true, [30, 70], 30),
        ]
        for (items, stacks, ends, until) in cases {
            policy.stackedProducts = stacks ? ["pass"] : []
            let found = Entitlements(of: items, at: Timestamp(day: 12), policy: policy)
            let product = try #require(found.apps.first?.nonRenewing.first)
            #expect(product.purchases.map(\.periodEnd) == ends.map { Timestamp(day: $0) })
            #expect(product.entitledUntil == Timestamp(day: until))
        }
    }
}
