import AssayEntitlements
import AssayModels
import Testing

/// Section by section of the rules of one subscription.
@Suite("Subscription")
struct SubscriptionTests {
    private static let day = Evidence.day

    private func decide(
        _ items: [EvidenceItem], at now: Timestamp, _ policy: EntitlementPolicy = .init()
    ) throws -> Subscription {
        let answer = Entitlements(of: items, at: now, policy: policy)
        return try #require(answer.apps.first?.subscriptionGroups.first).deciding
    }

    @Test(
        "A period is in force from its purchase date to the millisecond before its end",
        arguments: [(-1, false), (0, true), (1, true)] as [(Int64, Bool)])
    func begin(offset: Int64, isEntitled: Bool) throws {
        let found = try decide([Evidence.period(0)], at: Timestamp(day: 0, plus: offset))
        #expect(found.isEntitled == isEntitled)
        #expect(found.status == (isEntitled ? .active : .unknown))
    }

    @Test(
        "The end of a period",
        arguments: [(-1, true), (0, false), (1, false)] as [(Int64, Bool)])
    func end(offset: Int64, isEntitled: Bool) throws {
        let found = try decide([Evidence.period(0)], at: Timestamp(day: 30, plus: offset))
        #expect(found.isEntitled == isEntitled)
        #expect(found.status == (isEntitled ? .active : .unknown))
        #expect(found.entitledUntil == (isEntitled ? Timestamp(day: 30) : nil))
    }

    @Test("A renewal that was charged early extends the end and does not begin early")
    func earlyRenewal() throws {
        let items = [
            Evidence.period(0), Evidence.period(1, signed: Evidence.start + 29 * Self.day),
        ]
        let found = try decide(items, at: Timestamp(day: 29, plus: 1))
        #expect(found.status == .active)
        #expect(found.decidedBy.transactionId == "100")
        #expect(found.entitledUntil == Timestamp(day: 60))
        let answer = Entitlements(of: items, at: Timestamp(day: 29, plus: 1))
        #expect(answer.nextChange == Timestamp(day: 30))
    }

    @Test("The end of a replaced period is no change while the later period is in force")
    func nextChange() {
        let later = Evidence.period(1, product: "pro.monthly") {
            $0.purchaseDate = Timestamp(day: 10)
            $0.expiresDate = Timestamp(day: 40)
        }
        let answer = Entitlements(of: [Evidence.period(0), later], at: Timestamp(day: 12))
        #expect(answer.nextChange == Timestamp(day: 40))
    }

    @Test("A gap between periods ends the entitlement")
    func gap() throws {
        let items = [Evidence.period(0), Evidence.period(2)]
        #expect(try decide(items, at: Timestamp(day: 10)).entitledUntil == Timestamp(day: 30))
        #expect(try !decide(items, at: Timestamp(day: 40)).isEntitled)
        #expect(try decide(items, at: Timestamp(day: 60)).isEntitled)
    }

    @Test("An upgraded transaction is skipped even when it ends later")
    func upgraded() throws {
        let old = Evidence.period(0) {
            $0.isUpgraded = true
            $0.expiresDate = Timestamp(day: 365)
        }
        let new = Evidence.period(1, product: "premium.yearly") {
            $0.purchaseDate = Timestamp(day: 5)
        }
        let found = try decide([old, new], at: Timestamp(day: 6))
        #expect(found.productId == "premium.yearly")
        let alone = Entitlements(of: [old], at: Timestamp(day: 6))
        #expect(alone.apps.first?.subscriptionGroups.first?.isEntitled == false)
        #expect(alone.warnings.map(\.code) == [.upgradedWithoutSuccessor])
    }

    @Test("An upgrade chain of three ends at the third product")
    func upgradeChain() throws {
        let items = (0..<3).map { step in
            Evidence.period(Int64(step), product: "level.\(step)") {
                $0.purchaseDate = Timestamp(day: Int64(step))
                $0.expiresDate = Timestamp(day: 30 + Int64(step))
                $0.isUpgraded = step < 2
            }
        }
        #expect(try decide(items, at: Timestamp(day: 3)).productId == "level.2")
    }

    @Test("A downgrade changes what it renews as, not the product in force")
    func downgrade() throws {
        let renewal = Evidence.renewal(signed: Evidence.start + Self.day) {
            $0.autoRenewProductId = "basic.monthly"
        }
        let found = try decide([Evidence.period(0), renewal], at: Timestamp(day: 2))
        #expect(found.productId == "premium.monthly")
        #expect(found.renewsAs == "basic.monthly")
        #expect(found.willRenew == true)
    }

    @Test("Turning renewal off keeps the paid period")
    func renewalOff() throws {
        let renewal = Evidence.renewal(signed: Evidence.start + Self.day) {
            $0.autoRenewStatus = .off
        }
        let found = try decide([Evidence.period(0), renewal], at: Timestamp(day: 2))
        #expect(found.status == .active)
        #expect(found.willRenew == false)
    }

    // MARK: After the end

    @Test(
        "Grace entitles until its end, though the payment is in retry",
        arguments: [(-1, true), (0, false), (1, false)] as [(Int64, Bool)])
    func grace(offset: Int64, isEntitled: Bool) throws {
        let renewal = Evidence.renewal(signed: Evidence.start + 30 * Self.day) {
            $0.gracePeriodExpiresDate = Timestamp(day: 46)
            $0.isInBillingRetryPeriod = true
        }
        let found = try decide(
            [Evidence.period(0), renewal], at: Timestamp(day: 46, plus: offset))
        #expect(found.isEntitled == isEntitled)
        #expect(found.status == (isEntitled ? .gracePeriod : .billingRetry))
        #expect(found.entitledUntil == (isEntitled ? Timestamp(day: 46) : nil))
    }

    @Test(
        "Billing retry entitles within the policy's leniency alone",
        arguments: [(0, 0, false), (3, -1, true), (3, 0, false)] as [(Int64, Int64, Bool)])
    func retry(days: Int64, offset: Int64, isEntitled: Bool) throws {
        var policy = EntitlementPolicy()
        policy.billingRetryLeniencyMilliseconds = days * Self.day
        let renewal = Evidence.renewal(signed: Evidence.start + 30 * Self.day) {
            $0.isInBillingRetryPeriod = true
        }
        let found = try decide(
            [Evidence.period(0), renewal], at: Timestamp(day: 30 + days, plus: offset), policy)
        #expect(found.status == .billingRetry)
        #expect(found.isEntitled == isEntitled)
    }

    @Test("Renewal information without grace or retry means expired, with its reason")
    func expired() throws {
        let renewal = Evidence.renewal(signed: Evidence.start + 30 * Self.day) {
            $0.expirationIntent = .cancelled
            $0.autoRenewStatus = .off
        }
        let found = try decide([Evidence.period(0), renewal], at: Timestamp(day: 31))
        #expect(found.status == .expired)
        #expect(found.expirationIntent == .cancelled)
        #expect(try decide([Evidence.period(0)], at: Timestamp(day: 31)).status == .unknown)
    }

    @Test("Retry and grace that were signed before the latest purchase are ignored")
    func staleRenewal() throws {
        let renewal = Evidence.renewal(signed: Evidence.start + 29 * Self.day) {
            $0.gracePeriodExpiresDate = Timestamp(day: 90)
            $0.isInBillingRetryPeriod = true
        }
        let items = [Evidence.period(0), Evidence.period(1), renewal]
        #expect(try decide(items, at: Timestamp(day: 61)).status == .unknown)
    }

    // MARK: Revocation

    @Test("A refund removes the period, a newer reversal restores it, a second removes it again")
    func refundAndReversal() throws {
        let bought = Evidence.period(0)
        let refunded = Evidence.period(0, signed: Evidence.start + Self.day) {
            $0.revocationDate = Timestamp(day: 1)
        }
        let reversed = Evidence.period(0, signed: Evidence.start + 2 * Self.day)
        let again = Evidence.period(0, signed: Evidence.start + 3 * Self.day) {
            $0.revocationDate = Timestamp(day: 3)
        }
        let now = Timestamp(day: 4)
        #expect(try decide([refunded, bought], at: now).status == .revoked)
        #expect(try decide([reversed, refunded, bought], at: now).status == .active)
        #expect(try decide([again, reversed, refunded, bought], at: now).status == .revoked)
    }

    @Test("A renewal that arrives late does not undo the refund of its period")
    func lateRenewal() throws {
        let refunded = Evidence.period(1, signed: Evidence.start + 32 * Self.day) {
            $0.revocationDate = Timestamp(day: 32)
        }
        let items = [Evidence.period(0), refunded, Evidence.period(1)]
        #expect(try decide(items, at: Timestamp(day: 33)).status == .revoked)
    }

    @Test("Of two snapshots with one signed date the one that grants less wins")
    func ties() throws {
        let bought = Evidence.period(0)
        let refunded = Evidence.period(0) { $0.revocationDate = Timestamp(day: 0) }
        let upgraded = Evidence.period(0) { $0.isUpgraded = true }
        #expect(try decide([refunded, bought], at: Timestamp(day: 1)).status == .revoked)
        #expect(try decide([bought, refunded, upgraded], at: Timestamp(day: 1)).status == .revoked)
        #expect(try !decide([upgraded, bought], at: Timestamp(day: 1)).isEntitled)
    }

    @Test("A refund of the next period keeps the one in force")
    func refundOfComingPeriod() throws {
        let coming = Evidence.period(1, signed: Evidence.start + 29 * Self.day) {
            $0.revocationDate = Timestamp(day: 29)
        }
        let found = try decide([Evidence.period(0), coming], at: Timestamp(day: 29, plus: 5))
        #expect(found.status == .active)
        #expect(found.entitledUntil == Timestamp(day: 30))
    }

    // MARK: Ownership and offers

    @Test("An expired own subscription beside an active shared one: the group is entitled")
    func familyAndOwn() throws {
        let shared = Evidence.period(0) {
            $0.originalTransactionId = "900"
            $0.transactionId = "900"
            $0.inAppOwnershipType = .familyShared
            $0.purchaseDate = Timestamp(day: 40)
            $0.expiresDate = Timestamp(day: 70)
        }
        let items = [Evidence.period(0), shared]
        let found = try decide(items, at: Timestamp(day: 50))
        #expect(found.isEntitled)
        #expect(found.ownership == .familyShared)
        var strict = EntitlementPolicy()
        strict.acceptsFamilySharing = false
        #expect(try !decide(items, at: Timestamp(day: 50), strict).isEntitled)
    }

    @Test("An introductory free trial is a trial; an offer never changes the entitlement")
    func trial() throws {
        let found = try decide(
            [
                Evidence.period(0) {
                    $0.offerType = .introductory
                    $0.offerDiscountType = .freeTrial
                }
            ], at: Timestamp(day: 1))
        #expect(found.isTrial && found.isEntitled)
        let paid = try decide(
            [
                Evidence.period(0) {
                    $0.offerType = .promotional
                    $0.offerDiscountType = .freeTrial
                }
            ], at: Timestamp(day: 1))
        #expect(!paid.isTrial && paid.isEntitled)
    }

    @Test("Unknown values neither refuse nor grant more")
    func unknownValues() throws {
        let found = try decide(
            [
                Evidence.period(0) {
                    $0.inAppOwnershipType = InAppOwnershipType(rawValue: "ORGANIZATION_ASSIGNED")
                    $0.offerType = OfferType(rawValue: 99)
                    $0.type = ProductType(rawValue: "Subscription Suite")
                }
            ], at: Timestamp(day: 1))
        #expect(found.isEntitled)
        #expect(found.ownership?.rawValue == "ORGANIZATION_ASSIGNED")
    }
}
