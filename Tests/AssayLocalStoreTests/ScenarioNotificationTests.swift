import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

/// What Apple documents for the events of a life, compared with what the store sends.
@Suite("local store: what Apple documents")
struct ScenarioNotificationTests {
    // MARK: Every scenario

    /// The notifications of each built-in scenario, with the time at which each is signed: from
    /// the events that its steps describe and Apple's documentation of notificationType and
    /// subtype, in the order in which they arrive.
    private static let lives = """
        another-account: 0d ONE_TIME_CHARGE, 1d SUBSCRIBED INITIAL_BUY
        app-transaction: 1d ONE_TIME_CHARGE
        beyond-year-9999: 0d SUBSCRIBED INITIAL_BUY
        billing-recovery: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW, \
        40d DID_RENEW BILLING_RECOVERY
        billing-retry: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW
        billing-retry-leniency: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW
        bundle-joined: 0d SUBSCRIBED INITIAL_BUY, 10d SUBSCRIBED INITIAL_BUY, 10d REFUND
        bundle-left: 0d SUBSCRIBED INITIAL_BUY, 0d SUBSCRIBED INITIAL_BUY, 30d DID_RENEW
        consumable: 0d ONE_TIME_CHARGE, 1d ONE_TIME_CHARGE, 2d REFUND, 3d REFUND
        consumption-request: 0d SUBSCRIBED INITIAL_BUY, 5d CONSUMPTION_REQUEST
        customers-life: 0d SUBSCRIBED INITIAL_BUY, 7d DID_RENEW, \
        37d DID_FAIL_TO_RENEW GRACE_PERIOD, 40d DID_RENEW BILLING_RECOVERY, 45d REFUND
        downgrade: 0d SUBSCRIBED INITIAL_BUY, 10d DID_CHANGE_RENEWAL_PREF DOWNGRADE, 30d DID_RENEW
        downgrade-undone: 0d SUBSCRIBED INITIAL_BUY, 10d DID_CHANGE_RENEWAL_PREF DOWNGRADE, \
        12d DID_CHANGE_RENEWAL_PREF
        empty-history: 1d ONE_TIME_CHARGE
        expired-billing-retry: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW, \
        90d EXPIRED BILLING_RETRY
        expired-not-for-sale: 0d SUBSCRIBED INITIAL_BUY, 30d EXPIRED PRODUCT_NOT_FOR_SALE
        expired-other: 0d SUBSCRIBED INITIAL_BUY, 30d EXPIRED
        expired-price-increase: 0d SUBSCRIBED INITIAL_BUY, 30d EXPIRED PRICE_INCREASE
        expired-unknown: 0d SUBSCRIBED INITIAL_BUY
        expired-voluntary: 0d SUBSCRIBED INITIAL_BUY, \
        20d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, 30d EXPIRED VOLUNTARY
        external-purchase-token: 0d SUBSCRIBED INITIAL_BUY, 1d EXTERNAL_PURCHASE_TOKEN CREATED, \
        20d EXTERNAL_PURCHASE_TOKEN ACTIVE_TOKEN_REMINDER, 25d EXTERNAL_PURCHASE_TOKEN UNREPORTED
        family-and-own: 0d SUBSCRIBED INITIAL_BUY, \
        20d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, 30d EXPIRED VOLUNTARY, \
        40d SUBSCRIBED RESUBSCRIBE
        family-non-consumable: 0d ONE_TIME_CHARGE, 1d ONE_TIME_CHARGE, 2d REFUND, 3d REVOKE
        family-revoke: 0d SUBSCRIBED INITIAL_BUY, 10d REVOKE
        family-sharing-refused: 0d SUBSCRIBED INITIAL_BUY, 0d ONE_TIME_CHARGE
        grace-period: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW GRACE_PERIOD, \
        46d GRACE_PERIOD_EXPIRED
        grace-period-expired: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW GRACE_PERIOD, \
        36d GRACE_PERIOD_EXPIRED
        grace-period-recovery: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW GRACE_PERIOD, \
        35d DID_RENEW BILLING_RECOVERY
        grace-without-date: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW GRACE_PERIOD, \
        36d GRACE_PERIOD_EXPIRED
        history-pages: 0d SUBSCRIBED INITIAL_BUY, 60d DID_RENEW, 60d DID_RENEW, 70d REFUND
        item-refund: 0d SUBSCRIBED INITIAL_BUY, 10d REFUND
        late-renewal: 0d SUBSCRIBED INITIAL_BUY, 30d3m DID_RENEW
        late-renewal-after-refund: 0d SUBSCRIBED INITIAL_BUY, 32d REFUND, 30d DID_RENEW
        metadata-update: 0d SUBSCRIBED INITIAL_BUY, 10d METADATA_UPDATE
        migrate: 0d SUBSCRIBED INITIAL_BUY, 10d MIGRATE
        migration: 0d SUBSCRIBED INITIAL_BUY, 10d MIGRATION
        monthly-commitment: 0d SUBSCRIBED INITIAL_BUY, 30d DID_RENEW
        no-status: 0d SUBSCRIBED INITIAL_BUY, 30d DID_RENEW
        non-consumable: 0d ONE_TIME_CHARGE, 401d REFUND
        non-consumable-prorated-refund: 0d ONE_TIME_CHARGE, 1d REFUND
        non-renewing: 0d ONE_TIME_CHARGE
        non-renewing-no-duration: 0d ONE_TIME_CHARGE, 10d REFUND
        non-renewing-stacked: 0d ONE_TIME_CHARGE, 60d ONE_TIME_CHARGE, 160d REFUND
        non-renewing-twice: 0d ONE_TIME_CHARGE, 60d ONE_TIME_CHARGE
        notification-history: 30d SUBSCRIBED INITIAL_BUY, 30d DID_RENEW
        offer-redeemed: 0d SUBSCRIBED INITIAL_BUY, 10d OFFER_REDEEMED, 30d DID_RENEW
        offer-redeemed-downgrade: 0d SUBSCRIBED INITIAL_BUY, 10d OFFER_REDEEMED DOWNGRADE, \
        30d DID_RENEW
        offer-redeemed-upgrade: 0d SUBSCRIBED INITIAL_BUY, 10d OFFER_REDEEMED UPGRADE
        price-change: 0d SUBSCRIBED INITIAL_BUY, 10d PRICE_CHANGE
        price-increase-accepted: 0d SUBSCRIBED INITIAL_BUY, 10d PRICE_INCREASE ACCEPTED
        price-increase-pending: 0d SUBSCRIBED INITIAL_BUY, 10d PRICE_INCREASE PENDING
        receipt: 1d SUBSCRIBED INITIAL_BUY, 1d ONE_TIME_CHARGE
        receipt-upgrade: 20d REFUND
        refund: 0d SUBSCRIBED INITIAL_BUY, 5d REFUND
        refund-before-purchase: 5d REFUND
        refund-declined: 0d SUBSCRIBED INITIAL_BUY, 5d CONSUMPTION_REQUEST, 7d REFUND_DECLINED
        refund-of-a-twin: 0d SUBSCRIBED INITIAL_BUY, 2d REFUND
        refund-of-an-older-period: 0d SUBSCRIBED INITIAL_BUY, 30d DID_RENEW, 35d REFUND
        refund-reversed: 0d SUBSCRIBED INITIAL_BUY, 5d REFUND, 8d REFUND_REVERSED, 12d REFUND
        renewal: 0d SUBSCRIBED INITIAL_BUY, 29d12h DID_RENEW
        renewal-extended: 0d SUBSCRIBED INITIAL_BUY, 20d RENEWAL_EXTENDED
        renewal-extension-failure: 0d SUBSCRIBED INITIAL_BUY, 20d RENEWAL_EXTENSION FAILURE
        renewal-extension-summary: 0d SUBSCRIBED INITIAL_BUY, 20d RENEWAL_EXTENSION SUMMARY, \
        21d RENEWAL_EXTENDED
        renewal-info-alone:
        renewal-off: 0d SUBSCRIBED INITIAL_BUY, \
        10d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, 30d EXPIRED VOLUNTARY
        renewal-on: 0d SUBSCRIBED INITIAL_BUY, \
        10d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, \
        11d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED, 12d DID_CHANGE_RENEWAL_STATUS
        renewal-replaced-ahead: 0d SUBSCRIBED INITIAL_BUY, 29d DID_RENEW, \
        29d12h DID_CHANGE_RENEWAL_PREF UPGRADE
        rescind-consent: 0d ONE_TIME_CHARGE, 10d RESCIND_CONSENT
        resubscribe: 0d SUBSCRIBED INITIAL_BUY, \
        20d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, 30d EXPIRED VOLUNTARY, \
        50d SUBSCRIBED RESUBSCRIBE
        retried-notification: 0d SUBSCRIBED INITIAL_BUY, \
        10d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, \
        10d2h DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED, \
        10d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED
        seats: 0d SUBSCRIBED INITIAL_BUY, 10d DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY, \
        12d REFUND SEATS, 13d UNCLAIM_SEATS, 20d DID_CHANGE_RENEWAL_PREF DECREASE_QUANTITY
        stale-answer: 0d SUBSCRIBED INITIAL_BUY
        stale-renewal-info: 0d SUBSCRIBED INITIAL_BUY, 30d DID_FAIL_TO_RENEW GRACE_PERIOD
        statuses: 0d SUBSCRIBED INITIAL_BUY, 0d SUBSCRIBED INITIAL_BUY, \
        30d DID_FAIL_TO_RENEW GRACE_PERIOD, 30d EXPIRED VOLUNTARY, 46d GRACE_PERIOD_EXPIRED
        subscribe: 0d SUBSCRIBED INITIAL_BUY
        subscribe-in-the-future: 0d SUBSCRIBED INITIAL_BUY
        test-notification: 0d TEST, 1d SUBSCRIBED INITIAL_BUY, 2d TEST
        tie: 0d ONE_TIME_CHARGE, 0d REFUND
        transaction-info: 0d ONE_TIME_CHARGE
        trial-to-paid: 0d SUBSCRIBED INITIAL_BUY, 7d DID_RENEW
        two-apps: 0d ONE_TIME_CHARGE
        two-customers: 0d ONE_TIME_CHARGE, 1d SUBSCRIBED INITIAL_BUY
        two-environments: 0d ONE_TIME_CHARGE, 0d ONE_TIME_CHARGE, 1d REFUND
        two-groups: 0d SUBSCRIBED INITIAL_BUY, 0d SUBSCRIBED INITIAL_BUY, 10d REFUND
        unknown-product-type: 0d ONE_TIME_CHARGE
        unknown-values: 0d SOMETHING_NEW LATER
        unsigned-status: 0d SUBSCRIBED INITIAL_BUY
        upgrade: 0d SUBSCRIBED INITIAL_BUY, 10d DID_CHANGE_RENEWAL_PREF UPGRADE, 40d DID_RENEW
        upgrade-by-notifications: 0d SUBSCRIBED INITIAL_BUY, \
        20d DID_CHANGE_RENEWAL_PREF UPGRADE, 50d1h EXPIRED VOLUNTARY
        upgrade-chain: 0d SUBSCRIBED INITIAL_BUY, 5d DID_CHANGE_RENEWAL_PREF UPGRADE, \
        9d DID_CHANGE_RENEWAL_PREF UPGRADE
        upgrade-of-a-year: 0d SUBSCRIBED INITIAL_BUY, 5d DID_CHANGE_RENEWAL_PREF UPGRADE
        upgrade-without-successor:
        win-back-offer: 0d SUBSCRIBED RESUBSCRIBE
        """

    /// A notification that was sent: its members, and its words with the time of its signature.
    private struct Sent {
        let words: String
        let time: String
        let members: JSONValue

        init(_ body: [UInt8]) throws {
            members = try notification(body)
            words = [members["notificationType"]?.string, members["subtype"]?.string]
                .compactMap(\.self).joined(separator: " ")
            let signed = members["signedDate"]?.int64 ?? 0
            var left = (signed - TestStore.start.milliseconds) / 60_000
            var parts: [String] = []
            for (unit, minutes) in [("d", Int64(1440)), ("h", 60), ("m", 1)] {
                if left / minutes > 0 { parts.append("\(left / minutes)\(unit)") }
                left %= minutes
            }
            time = parts.isEmpty ? "0d" : parts.joined()
        }
    }

    /// Everything that the store sends about the lives of its customers, to their ends.
    private static func sent(by store: inout TestStore) throws -> [Sent] {
        while let next = store.store.customers.compactMap(\.life.nextEvent?.at).min() {
            store.store.move(to: next)
            store.deliver()
        }
        return try store.posted.map(Sent.init)
    }

    private static func text(_ sent: [Sent]) -> String {
        sent.map { "\($0.time) \($0.words)" }.joined(separator: ", ")
    }

    @Test("every scenario sends what Apple documents for its events, and nothing else")
    func scenarios() throws {
        var expected: [String: String] = [:]
        for line in (Self.lives + "\n" + Self.livesOfVersion1).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            expected[String(parts[0])] = String(parts[1].drop { $0 == " " })
        }
        let all = try Scenario.builtIn
        #expect(Set(all.map(\.name)) == Set(expected.keys))
        for scenario in all {
            var store = try TestStore(scenario.name)
            let sent = try Self.sent(by: &store)
            #expect(Self.text(sent) == expected[scenario.name], "\(scenario.name)")
        }
    }

    // MARK: Types, subtypes and statuses

    /// Apple's types with their subtypes (none is empty), and the values of `data.status` that
    /// a notification of this kind can state.
    private static let documented: [(type: String, subtypes: String, statuses: Set<Int64>)] = [
        ("SUBSCRIBED", "INITIAL_BUY RESUBSCRIBE", [1]),
        ("OFFER_REDEEMED", "- UPGRADE DOWNGRADE", [1]),
        ("DID_RENEW", "- BILLING_RECOVERY", [1]),
        (
            "DID_CHANGE_RENEWAL_PREF", "- UPGRADE DOWNGRADE INCREASE_QUANTITY DECREASE_QUANTITY",
            [1]
        ),
        ("DID_CHANGE_RENEWAL_STATUS", "- AUTO_RENEW_ENABLED AUTO_RENEW_DISABLED", [1]),
        ("DID_FAIL_TO_RENEW", "-", [3]), ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", [4]),
        ("GRACE_PERIOD_EXPIRED", "-", [3]),
        ("EXPIRED", "- VOLUNTARY BILLING_RETRY PRICE_INCREASE PRODUCT_NOT_FOR_SALE", [2]),
        ("PRICE_INCREASE", "PENDING ACCEPTED", [1]),
        // Of an earlier period, of an item or of seats: the subscription goes on.
        ("REFUND", "- SEATS", [1, 5]), ("REFUND_REVERSED", "-", [1]),
        ("REFUND_DECLINED", "-", [1]), ("CONSUMPTION_REQUEST", "-", [1]), ("REVOKE", "-", [5]),
        ("RENEWAL_EXTENDED", "-", [1]), ("RENEWAL_EXTENSION", "SUMMARY FAILURE", [1]),
        ("METADATA_UPDATE", "-", [1]), ("PRICE_CHANGE", "-", [1]),
        ("MIGRATION", "-", [1]), ("MIGRATE", "-", [1]),
        ("ONE_TIME_CHARGE", "-", []), ("TEST", "-", []), ("RESCIND_CONSENT", "-", []),
        ("UNCLAIM_SEATS", "-", []),
        ("EXTERNAL_PURCHASE_TOKEN", "CREATED ACTIVE_TOKEN_REMINDER UNREPORTED", []),
    ]

    @Test("every type has a subtype and a status that Apple documents with it; each is sent")
    func types() throws {
        var statuses: [String: Set<Int64>] = [:]
        for (type, subtypes, values) in Self.documented {
            for subtype in subtypes.split(separator: " ") {
                statuses[subtype == "-" ? type : "\(type) \(subtype)"] = values
            }
        }
        var seen: Set<String> = []
        for scenario in try Scenario.builtIn where scenario.name != "unknown-values" {
            var store = try TestStore(scenario.name)
            for sent in try Self.sent(by: &store) {
                seen.insert(sent.words)
                let allowed = try #require(statuses[sent.words], "\(scenario.name): \(sent.words)")
                guard let status = sent.members["data"]?["status"]?.int64 else { continue }
                #expect(allowed.contains(status), "\(scenario.name): \(sent.words) \(status)")
            }
        }
        #expect(seen == Set(statuses.keys))
    }

    // MARK: What time alone brings

    private static let bought = #"0d: "transactions":{"100":{"productId":"premium.monthly"}}"#
    private static func renewal(_ members: String) -> String {
        "\"renewals\":{\"100\":{\(members)}}"
    }
    private static let grace =
        "30d: "
        + renewal(#""isInBillingRetryPeriod":true,"gracePeriodExpiresDate":"46d""#)
    private static let retry = "30d: " + renewal(#""isInBillingRetryPeriod":true"#)
    private static let paid = renewal(
        #""isInBillingRetryPeriod":false,"gracePeriodExpiresDate":null"#)
    private static let off = renewal(#""autoRenewStatus":0"#)
    private static let on = renewal(#""autoRenewStatus":1"#)
    private static let renewed = #""transactions":{"101":{"originalTransactionId":"100"}}"#
    private static let refunded = #""transactions":{"100":{"revocationDate":"20d"}}"#

    private static func notified(_ words: String) -> String {
        "\"evidence\":[{\"notification\":\"\(words)\",\"of\":\"100\"}]"
    }

    private static let disabled = "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED"

    /// Steps after the purchase, and what comes after its notification.
    private static let times: [(steps: [String], sent: String)] = [
        ([], ""),
        // Grace.
        (
            [grace], "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d GRACE_PERIOD_EXPIRED"
        ),
        ([retry], "30d DID_FAIL_TO_RENEW"),
        (
            [grace, "40d: \(paid),\(renewed)"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 40d DID_RENEW BILLING_RECOVERY"
        ),
        // The information of the earlier period is left as it was.
        (
            [grace, "40d: \(renewed)"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 40d DID_RENEW BILLING_RECOVERY"
        ),
        ([grace, "40d: \(refunded)"], "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 40d REFUND"),
        (
            [grace, "46d: \(renewal(#""gracePeriodExpiresDate":null"#))"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d GRACE_PERIOD_EXPIRED"
        ),
        (
            [grace, "46d: \(notified("GRACE_PERIOD_EXPIRED"))"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d GRACE_PERIOD_EXPIRED"
        ),
        (
            [grace, "46d: \(notified("REFUND_DECLINED"))"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d GRACE_PERIOD_EXPIRED, 46d REFUND_DECLINED"
        ),
        ([grace, "46d: \"notify\":false"], "30d DID_FAIL_TO_RENEW GRACE_PERIOD"),
        (
            [grace, "45d: \"notify\":false"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d GRACE_PERIOD_EXPIRED"
        ),
        (
            [grace, "46d: \(paid),\(renewed)"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 46d DID_RENEW BILLING_RECOVERY"
        ),
        (
            [grace, "40d: \(renewal(#""gracePeriodExpiresDate":"58d""#))"],
            "30d DID_FAIL_TO_RENEW GRACE_PERIOD, 58d GRACE_PERIOD_EXPIRED"
        ),
        // Renewal that is off.
        (["10d: \(off)"], "10d \(disabled), 30d EXPIRED VOLUNTARY"),
        (
            ["10d: \(off)", "11d: \(on)"],
            "10d \(disabled), 11d DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED"
        ),
        (
            ["10d: \(renewal(#""autoRenewStatus":0,"expirationIntent":3"#))"],
            "10d \(disabled), 30d EXPIRED PRICE_INCREASE"
        ),
        (["30d: \(off)"], "30d \(disabled), 30d EXPIRED VOLUNTARY"),
        (["31d: \(off)"], "31d \(disabled)"),
        (["10d: \(off)", "20d: \(refunded)"], "10d \(disabled), 20d REFUND"),
        (
            ["10d: \(off)", "20d: \"transactions\":{\"100\":{\"expiresDate\":\"44d\"}}"],
            "10d \(disabled), 20d RENEWAL_EXTENDED, 44d EXPIRED VOLUNTARY"
        ),
        (
            ["10d: \(off)", "30d: \(notified("EXPIRED VOLUNTARY"))"],
            "10d \(disabled), 30d EXPIRED VOLUNTARY"
        ),
        (
            ["10d: \(off)", "40d: \(renewal(#""expirationIntent":1"#))"],
            "10d \(disabled), 30d EXPIRED VOLUNTARY"
        ),
        (
            ["10d: \(off)", "50d: \(on.dropLast(2)),\"expirationIntent\":null}},\(renewed)"],
            "10d \(disabled), 30d EXPIRED VOLUNTARY, 50d SUBSCRIBED RESUBSCRIBE"
        ),
    ]

    @Test("the end of a grace period, and of a period whose renewal is off, comes by itself")
    func time() throws {
        for (steps, expected) in Self.times {
            let list = ([Self.bought] + steps).map { step in
                let parts = step.split(separator: ":", maxSplits: 1)
                return "{\"at\":\"\(parts[0])\",\"title\":\"a\",\"expect\":{},\(parts[1])}"
            }
            let file =
                "{\"name\":\"a\",\"summary\":\"b\",\"steps\":[\(list.joined(separator: ","))]}"
            var store = try TestStore()
            try store.store.add(Scenario(json: Array(file.utf8)), .production)
            store.deliver()
            let sent = try Self.sent(by: &store)
            #expect(Self.text(Array(sent.dropFirst())) == expected, "\(steps)")
        }
    }

    @Test("what the calls of the API change has its end as well, and none in the past")
    func calls() throws {
        var store = try TestStore("subscribe", "subscribe")
        try store.advance("10d")
        let cancel = "/advancedCommerce/v1/subscription/cancel/"
        _ = store.send(.post, cancel + "470001000000100")
        try store.advance("30d")
        // The other one has ended, and nothing says why.
        _ = store.send(.post, cancel + "470002000000100")
        let sent = try Self.sent(by: &store)
        #expect(
            Self.text(sent).hasSuffix(
                "10d \(Self.disabled), 30d EXPIRED VOLUNTARY, 40d \(Self.disabled)"),
            "\(Self.text(sent))")
        let data = try #require(sent.dropLast().last?.members["data"])
        #expect(data["status"]?.int64 == 2)
        let renewal = try payload(data["signedRenewalInfo"]?.string ?? "")
        #expect(renewal["expirationIntent"]?.int64 == 1)
    }

    @Test("the end of a grace period is an event to which a test can move")
    func event() throws {
        var store = try TestStore("grace-without-date")
        try store.advance("34d")
        let next = try store.send(.post, "/advance", "{\"to\":\"next\"}").json
        let steps = next["steps"]?.elements?.compactMap { $0["title"]?.string }
        #expect(steps == ["the grace period ends"])
        let sent = next["sent"]?.elements?.compactMap { $0["notification"]?.string }
        #expect(sent == ["GRACE_PERIOD_EXPIRED"])
        #expect(next["next"] == nil)
    }
}
