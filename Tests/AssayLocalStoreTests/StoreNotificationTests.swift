import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: what it sends")
struct StoreNotificationTests {
    // MARK: Built-in scenarios

    /// An event of a built-in scenario of which no notification comes, and the reason.
    struct Exception {
        let event: String
        let reason: String

        init(_ event: String, _ reason: String) {
            self.event = event
            self.reason = reason
        }
    }

    static let exceptions = [
        Exception("refund-of-a-twin: bought 101", "a copy on another device: nothing was bought"),
        Exception(
            "refund-of-a-twin: refunded 101", "the refund names the purchase by its first id"),
        Exception("two-apps: bought 8", "another app has a URL of its own"),
        Exception("refund-before-purchase: bought 100", "lost: the refund arrives first"),
        Exception("renewal-info-alone: bought 100", "lost: only renewal information is known"),
        Exception("stale-renewal-info: bought 101", "lost: it would bring new renewal information"),
        Exception("receipt-upgrade: bought 100", "lost: the receipt alone decides"),
        Exception("receipt-upgrade: bought 101", "lost: the receipt alone decides"),
        Exception(
            "receipt-upgrade: refunded 100", "lost: in a receipt it can be an upgrade"),
        Exception("upgrade-without-successor: bought 100", "lost: the successor is unknown"),
    ]

    /// A state of a transaction that a notification carries.
    private struct Statement: Hashable {
        let transactionId: String
        let signedDate: Int64
        let revocationDate: Int64?
    }

    /// Plays every scenario, and compares what happens to its transactions with the notifications
    /// of its whole life: a delayed one has the date of the event.
    @Test("every purchase, renewal, refund and revocation of every scenario is notified")
    func events() throws {
        var silent: Set<String> = []
        var count = 0
        for scenario in try Scenario.builtIn {
            var test = try TestStore(scenario.name)
            var events: [(name: String, statement: Statement)] = []
            var known: [String: StoredTransaction] = [:]
            while true {
                for now in test.store.customers[0].life.transactions {
                    let time = test.store.now.milliseconds
                    let statement = Statement(
                        transactionId: now.transactionId, signedDate: time,
                        revocationDate: now.revocationDate)
                    let before = known.updateValue(now, forKey: now.name)
                    if before == nil { events.append(("bought \(now.name)", statement)) }
                    guard before?.revocationDate != now.revocationDate else { continue }
                    let what = now.revocationDate == nil ? "reinstated" : "refunded"
                    events.append(("\(what) \(now.name)", statement))
                }
                guard let next = test.store.customers[0].life.nextEvent?.at else { break }
                test.store.move(to: next)
                test.deliver()
            }
            let stated = Set(try test.posted.compactMap { try Self.statement($0) })
            for event in events where !stated.contains(event.statement) {
                silent.insert("\(scenario.name): \(event.name)")
            }
            count += events.count
        }
        #expect(silent == Set(Self.exceptions.map(\.event)))
        #expect(Self.exceptions.allSatisfy { !$0.reason.isEmpty })
        #expect(count > 130)
    }

    private static func statement(_ body: [UInt8]) throws -> Statement? {
        let data = try notification(body)["data"]
        guard let token = data?["signedTransactionInfo"]?.string else { return nil }
        let members = try payload(token)
        return Statement(
            transactionId: members["transactionId"]?.string ?? "",
            signedDate: members["signedDate"]?.int64 ?? 0,
            revocationDate: members["revocationDate"]?.int64)
    }

    // MARK: Each event

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        /// Members of the steps, at the days 0, 30, 40 and so on.
        let steps: [String]
        /// What the last step sends, with commas between.
        let sent: String

        init(_ description: String, _ steps: String..., sends sent: String) {
            testDescription = description
            self.steps = steps
            self.sent = sent
        }
    }

    private static func transactions(_ members: String) -> String {
        "\"transactions\":{\(members)}"
    }
    private static func renewal(_ members: String) -> String {
        "\"renewals\":{\"100\":{\(members)}}"
    }

    private static let bought = transactions(#""100":{"productId":"premium.monthly"}"#)
    private static let renewed = transactions(#""101":{"originalTransactionId":"100"}"#)
    private static let world = transactions(#""7":{"productId":"world.2"}"#)
    private static let retry = renewal(#""isInBillingRetryPeriod":true,"expirationIntent":2"#)
    private static let grace = renewal(
        #""isInBillingRetryPeriod":true,"gracePeriodExpiresDate":"46d","expirationIntent":2"#)
    private static let off = renewal(#""autoRenewStatus":0"#)

    private static func refund(_ name: String, _ more: String = "") -> String {
        transactions("\"\(name)\":{\"revocationDate\":\"30d\"\(more)}")
    }

    private static func ended(_ intent: Int) -> String {
        renewal("\"autoRenewStatus\":0,\"expirationIntent\":\(intent)")
    }

    private static func items(_ refunds: String) -> String {
        transactions(
            #""100":{"productId":"premium.monthly","advancedCommerceInfo":{"items":[{"SKU":"a""#
                + ",\"refunds\":[\(refunds)]}]}}")
    }

    static let cases = [
        Case("nothing happens", bought, "\"evidence\":[]", sends: ""),
        // Purchases.
        Case("first purchase", bought, sends: "SUBSCRIBED INITIAL_BUY"),
        Case(
            "shared subscription",
            transactions(
                #""900":{"productId":"premium.monthly","inAppOwnershipType":"FAMILY_SHARED"}"#),
            sends: "SUBSCRIBED INITIAL_BUY"),
        Case(
            "win-back offer", transactions(#""100":{"productId":"premium.monthly","offerType":4}"#),
            sends: "SUBSCRIBED RESUBSCRIBE"),
        Case(
            "another subscription of the group", bought,
            transactions(#""200":{"productId":"pro.monthly"}"#), sends: "SUBSCRIBED RESUBSCRIBE"),
        Case(
            "a subscription of another group", bought,
            transactions(#""200":{"productId":"news.monthly"}"#), sends: "SUBSCRIBED INITIAL_BUY"),
        Case(
            "the same group in the Sandbox", bought,
            transactions(#""200":{"productId":"pro.monthly","environment":"Sandbox"}"#),
            sends: "SUBSCRIBED INITIAL_BUY"),
        Case(
            "back after a cancellation", bought, ended(1), renewed,
            sends: "SUBSCRIBED RESUBSCRIBE"),
        Case("non-consumable", world, sends: "ONE_TIME_CHARGE"),
        Case(
            "consumable", transactions(#""9":{"productId":"gold.100"}"#), sends: "ONE_TIME_CHARGE"),
        Case(
            "non-renewing", transactions(#""11":{"productId":"pass.summer"}"#),
            sends: "ONE_TIME_CHARGE"),
        Case(
            "non-renewing with an end",
            transactions(#""11":{"productId":"pass.summer","expiresDate":"9d"}"#),
            sends: "ONE_TIME_CHARGE"),
        Case(
            "two at once",
            transactions(#""7":{"productId":"world.2"},"9":{"productId":"gold.100"}"#),
            sends: "ONE_TIME_CHARGE, ONE_TIME_CHARGE"),
        // Renewals.
        Case("renewal", bought, renewed, sends: "DID_RENEW"),
        Case(
            "renewal after a failed payment", bought, retry, renewed,
            sends: "DID_RENEW BILLING_RECOVERY"),
        Case(
            "renewal as another product", bought,
            transactions(#""101":{"originalTransactionId":"100","productId":"basic.monthly"}"#),
            sends: "DID_RENEW"),
        Case(
            "upgrade",
            bought,
            transactions(
                #""100":{"isUpgraded":true},"#
                    + #""101":{"originalTransactionId":"100","productId":"pro.monthly"}"#),
            sends: "DID_CHANGE_RENEWAL_PREF UPGRADE"),
        Case(
            "another product before the end", bought,
            transactions(
                #""101":{"originalTransactionId":"100","productId":"pro.monthly","#
                    + #""purchaseDate":"30d-1ms"}"#),
            sends: "DID_CHANGE_RENEWAL_PREF UPGRADE"),
        Case(
            "added seats", bought,
            transactions(
                #""101":{"originalTransactionId":"100","#
                    + #""additionalTransactionReason":"SEAT_ADDITION"}"#),
            sends: "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY"),
        Case(
            "migration", bought,
            transactions(
                #""200":{"productId":"premium.monthly","previousOriginalTransactionId":"100"}"#),
            sends: "MIGRATION"),
        Case(
            "extension", bought, transactions(#""100":{"expiresDate":"31d"}"#),
            sends: "RENEWAL_EXTENDED"),
        Case("an earlier end", bought, transactions(#""100":{"expiresDate":"29d"}"#), sends: ""),
        // Refunds and revocations.
        Case("refund", world, refund("7"), sends: "REFUND"),
        Case(
            "second refund", world, refund("7"), transactions(#""7":{"revocationDate":"31d"}"#),
            sends: "REFUND"),
        Case("the same refund", world, refund("7"), refund("7"), sends: ""),
        Case(
            "reversal", world, refund("7"), transactions(#""7":{"revocationDate":null}"#),
            sends: "REFUND_REVERSED"),
        Case(
            "bought and refunded",
            transactions(#""7":{"productId":"world.2","revocationDate":"0d"}"#),
            sends: "ONE_TIME_CHARGE, REFUND"),
        Case(
            "a family member stops sharing", world,
            refund("7", #","revocationType":"FAMILY_REVOKE""#), sends: "REVOKE"),
        Case(
            "an assignment ends", world, refund("7", #","revocationType":"ASSIGNMENT_REVOKE""#),
            sends: "REVOKE"),
        Case(
            "a shared purchase is revoked",
            transactions(#""7":{"productId":"world.2","inAppOwnershipType":"FAMILY_SHARED"}"#),
            refund("7"), sends: "REVOKE"),
        Case(
            "some seats are refunded", bought,
            transactions(#""100":{"revokedSeatQuantity":2}"#), sends: "REFUND SEATS"),
        Case("an item is refunded", items(""), items(#"{"refundAmount":1}"#), sends: "REFUND"),
        Case(
            "an item as before", items(#"{"refundAmount":1}"#), items(#"{"refundAmount":1}"#),
            sends: ""),
        // Changes of renewal.
        Case("failed payment", bought, retry, sends: "DID_FAIL_TO_RENEW"),
        Case("failed payment with grace", bought, grace, sends: "DID_FAIL_TO_RENEW GRACE_PERIOD"),
        Case("retry goes on", bought, retry, retry, sends: ""),
        Case(
            "grace ends", bought, grace, renewal(#""gracePeriodExpiresDate":null"#),
            sends: "GRACE_PERIOD_EXPIRED"),
        Case("cancelled and ended", bought, ended(1), sends: "EXPIRED VOLUNTARY"),
        Case(
            "retry ends", bought, retry,
            renewal(#""isInBillingRetryPeriod":false,"autoRenewStatus":0"#),
            sends: "EXPIRED BILLING_RETRY"),
        Case("no consent to a price", bought, ended(3), sends: "EXPIRED PRICE_INCREASE"),
        Case("not for sale", bought, ended(4), sends: "EXPIRED PRODUCT_NOT_FOR_SALE"),
        Case("another reason", bought, ended(5), sends: "EXPIRED"),
        Case(
            "cancelled before the end", bought, transactions(#""100":{"expiresDate":"41d"}"#),
            ended(1),
            sends: "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED"),
        Case(
            "renewal off at the end of the period", bought, off,
            sends: "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED, EXPIRED VOLUNTARY"),
        Case("renewal off as before", bought, off, off, sends: ""),
        Case(
            "renewal on", bought, off, renewal(#""autoRenewStatus":1"#),
            sends: "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_ENABLED"),
        Case(
            "downgrade", bought, renewal(#""autoRenewProductId":"basic.monthly""#),
            sends: "DID_CHANGE_RENEWAL_PREF DOWNGRADE"),
        Case(
            "downgrade undone", bought, renewal(#""autoRenewProductId":"basic.monthly""#),
            renewal(#""autoRenewProductId":"premium.monthly""#), sends: "DID_CHANGE_RENEWAL_PREF"),
        Case("another price", bought, renewal(#""renewalPrice":1"#), sends: ""),
        Case("renewal and its information", bought, renewed + "," + off, sends: "DID_RENEW"),
        // What the evidence says is sent once.
        Case(
            "written in the evidence", bought,
            renewed + #","evidence":[{"notification":"SOMETHING_NEW","of":"101"}]"#,
            sends: "SOMETHING_NEW"),
        Case(
            "the evidence is about another purchase", bought,
            renewed + #","evidence":[{"notification":"SOMETHING_NEW","of":"100"}]"#,
            sends: "DID_RENEW, SOMETHING_NEW"),
        Case(
            "held back", bought,
            renewed
                + #","evidence":[{"notification":"DID_RENEW","of":"101","name":"a","hold":true}]"#,
            sends: ""),
        Case("lost", bought, renewed + #","notify":false"#, sends: ""),
        Case("not lost", bought, renewed + #","notify":true"#, sends: "DID_RENEW"),
        Case(
            "another app",
            transactions(#""7":{"productId":"world.2","bundleId":"com.example.other"}"#),
            sends: ""),
        Case(
            "a copy on another device",
            transactions(#""100":{"productId":"premium.monthly","webOrderLineItemId":"5"}"#),
            transactions(#""101":{"originalTransactionId":"100","webOrderLineItemId":"5"}"#),
            sends: ""),
        Case(
            "a renewal with a line item of its own",
            transactions(#""100":{"productId":"premium.monthly","webOrderLineItemId":"5"}"#),
            transactions(#""101":{"originalTransactionId":"100","webOrderLineItemId":"6"}"#),
            sends: "DID_RENEW"),
        Case(
            "line items of Xcode",
            transactions(#""100":{"productId":"premium.monthly","webOrderLineItemId":"0"}"#),
            transactions(#""101":{"originalTransactionId":"100","webOrderLineItemId":"0"}"#),
            sends: "DID_RENEW"),
        Case(
            "a restored non-consumable", world,
            transactions(#""8":{"originalTransactionId":"7"}"#), sends: ""),
    ]

    @Test("each event has its notification", arguments: cases)
    func words(test: Case) throws {
        let steps = test.steps.enumerated().map { index, members in
            let day = index == 0 ? 0 : 20 + 10 * index
            return "{\"at\":\"\(day)d\",\"title\":\"a\",\"expect\":{},\(members)}"
        }
        let file = "{\"name\":\"a\",\"summary\":\"b\",\"steps\":[\(steps.joined(separator: ","))]}"
        var store = try TestStore()
        try store.store.add(Scenario(json: Array(file.utf8)), .production)
        var before = 0
        store.deliver()
        let life = store.store.customers[0].life
        for step in life.scenario.steps.dropFirst(life.stepsTaken) {
            before = store.posted.count
            store.store.move(to: life.start.advanced(by: step.at))
            store.deliver()
        }
        let words = try store.posted[(test.steps.count > 1 ? before : 0)...].map { body in
            let members = try notification(body)
            return [members["notificationType"]?.string, members["subtype"]?.string]
                .compactMap(\.self).joined(separator: " ")
        }
        #expect(words.joined(separator: ", ") == test.sent)
    }

    // MARK: Changes by the API

    @Test("an extension of all subscriptions is notified for each, and as a whole")
    func massExtension() throws {
        var store = try TestStore("subscribe", "subscribe")
        let before = store.posted.count
        let answer = store.send(
            .post, "/inApps/v1/subscriptions/extend/mass",
            """
            {"extendByDays":7,"extendReasonCode":1,"requestIdentifier":"a",
             "productId":"premium.monthly"}
            """)
        #expect(answer.status == 200)
        let sent = try store.posted[before...].map(notification)
        #expect(
            sent.map { $0["notificationType"]?.string } == [
                "RENEWAL_EXTENDED", "RENEWAL_EXTENDED", "RENEWAL_EXTENSION",
            ])
        #expect(sent.last?["summary"]?["succeededCount"]?.int64 == 2)
    }

    @Test("a cancellation by the Advanced Commerce API is notified")
    func cancellation() throws {
        var store = try TestStore("subscribe")
        let id = "470001000000100"
        _ = store.send(.post, "/advancedCommerce/v1/subscription/cancel/\(id)")
        let sent = try notification(try #require(store.posted.last))
        #expect(sent["subtype"]?.string == "AUTO_RENEW_DISABLED")
        let renewal = try payload(sent["data"]?["signedRenewalInfo"]?.string ?? "")
        #expect(renewal["autoRenewStatus"]?.int64 == 0)
    }
}
