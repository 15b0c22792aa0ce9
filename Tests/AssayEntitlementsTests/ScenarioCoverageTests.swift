import Assay
import AssayEntitlements
import AssayMint
import AssayModels
import Foundation
import Testing

/// The scenarios cover every notification and state, and every known mistake.
@Suite("Scenario coverage")
struct ScenarioCoverageTests {
    /// Every notification of Apple's that says something about a purchase, and those that do not.
    private static let all = """
        SUBSCRIBED INITIAL_BUY, SUBSCRIBED RESUBSCRIBE,
        OFFER_REDEEMED, OFFER_REDEEMED UPGRADE, OFFER_REDEEMED DOWNGRADE,
        DID_RENEW, DID_RENEW BILLING_RECOVERY,
        DID_CHANGE_RENEWAL_PREF UPGRADE, DID_CHANGE_RENEWAL_PREF DOWNGRADE, DID_CHANGE_RENEWAL_PREF,
        DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED, DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED,
        DID_CHANGE_RENEWAL_STATUS,
        DID_FAIL_TO_RENEW, DID_FAIL_TO_RENEW GRACE_PERIOD, GRACE_PERIOD_EXPIRED,
        EXPIRED VOLUNTARY, EXPIRED BILLING_RETRY, EXPIRED PRICE_INCREASE,
        EXPIRED PRODUCT_NOT_FOR_SALE, EXPIRED,
        PRICE_INCREASE PENDING, PRICE_INCREASE ACCEPTED,
        REFUND, REFUND_REVERSED, REFUND_DECLINED, CONSUMPTION_REQUEST, REVOKE,
        RENEWAL_EXTENDED, RENEWAL_EXTENSION SUMMARY, RENEWAL_EXTENSION FAILURE,
        ONE_TIME_CHARGE, METADATA_UPDATE, MIGRATION, MIGRATE, PRICE_CHANGE,
        EXTERNAL_PURCHASE_TOKEN CREATED, EXTERNAL_PURCHASE_TOKEN ACTIVE_TOKEN_REMINDER,
        EXTERNAL_PURCHASE_TOKEN UNREPORTED, RESCIND_CONSENT, TEST,
        REFUND SEATS, DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY,
        DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY, UNCLAIM_SEATS
        """.split(whereSeparator: { $0 == "," || $0 == "\n" })
        .map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }

    @Test("Every type and subtype of notification is in a scenario")
    func notifications() throws {
        let found = Set(try Scenario.builtIn.flatMap(\.steps).flatMap(\.notifications))
        #expect(Self.all.count == 45)
        #expect(Self.all.filter { !found.contains($0) } == [])
    }

    @Test("Every state of a subscription is expected by a scenario")
    func states() throws {
        let found = Set(try Scenario.builtIn.flatMap(\.steps).flatMap(\.statuses))
        #expect(found == Set(SubscriptionState.allCases.map(\.rawValue)))
    }

    @Test("Every kind of evidence is in a scenario")
    func kinds() throws {
        let files = try MintedScenarios.all.get().flatMap(\.steps).flatMap(\.files)
        let kinds = Set(files.map(\.file.kind))
        #expect(
            kinds == [
                "transaction", "renewal-info", "app-transaction", "notification", "app-receipt",
                "notification-v1", "server-answer",
            ])
    }

    /// A mistake that other servers make, the scenario whose answers it changes, and the mutant of
    /// Tests/Mutants/entitlements.txt that makes it here.
    struct Mistake: CustomTestStringConvertible {
        let testDescription: String
        let scenario: String
        let mutant: String

        init(_ description: String, _ scenario: String, _ mutant: String) {
            testDescription = description
            self.scenario = scenario
            self.mutant = mutant
        }
    }

    private static let known = [
        Mistake("newest arrival wins", "retried-notification", "newest-arrival"),
        Mistake("a family's revocation is not recognised", "family-revoke", "family-revocation"),
        Mistake("a refund is never cleared", "refund-reversed", "sticky-refund"),
        Mistake("a downgrade applies at once", "downgrade", "downgrade-at-once"),
        Mistake("grace is ignored", "grace-period", "grace-ignored"),
        Mistake("refunded products are still listed", "non-consumable", "refunded-product"),
        Mistake("upgraded transactions count", "upgrade-of-a-year", "upgraded-counts"),
        Mistake("renewal information is ignored", "expired-voluntary", "renewal-info-ignored"),
        Mistake("billing retry counts as active", "billing-retry", "retry-entitles"),
        Mistake("grace and retry are one state", "grace-period", "grace-is-retry"),
        Mistake("the last element is taken as the latest", "history-pages", "last-is-latest"),
        Mistake("a shared purchase counts as a sale", "family-and-own", "shared-is-sale"),
        Mistake("dates beyond the year 9999 are errors", "beyond-year-9999", "far-date"),
        Mistake("an absent status means expired", "no-status", "status-required"),
        Mistake("a late renewal undoes a refund", "late-renewal-after-refund", "newest-arrival"),
    ]

    /// Each mutant is one line; with it the scenario's answers differ, and this test fails.
    @Test("No known mistake is made", arguments: known)
    func mistakes(mistake: Mistake) throws {
        try MintedScenarios.named(mistake.scenario).check()
        let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Mutants/entitlements.txt")
        let mutants = try String(contentsOf: list, encoding: .utf8)
        #expect(mutants.contains("\n[\(mistake.mutant)]\n"))
    }
}
