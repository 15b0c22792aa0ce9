import AssayEntitlements
import AssayModels
import Testing

/// What to do about each notification, by type, subtype and the transaction in it.
@Suite("Advice: notifications") struct AdviceOfNotificationsTests {
    private static let active = "Give access to premium.monthly until 2023-12-14T22:13:20Z."
    private static let stays = "The access to premium.monthly stays until 2023-12-14T22:13:20Z."
    private static let refund =
        "Take premium.monthly back: Apple refunded transaction 100 because of an issue with the "
        + "app (revocationReason 1). Since 2023-11-16T22:13:20Z it entitles to nothing."
    private static let nothing =
        "Nothing to do for it: newer evidence about the same is among the items, and decides."

    private static func notification(
        _ type: String, _ subtype: String? = nil, signed: Int64 = 2, isEmpty: Bool = false,
        _ payload: (inout ResponseBodyV2DecodedPayload) -> Void = { _ in },
        of change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        let period = Evidence.period(0, signed: Evidence.start + signed * Evidence.day, change)
        return Evidence.notification(isEmpty ? nil : period.transaction) {
            $0.notificationType = NotificationTypeV2(rawValue: type)
            $0.subtype = subtype.map { Subtype(rawValue: $0) }
            $0.signedDate = Timestamp(day: signed)
            payload(&$0)
        }
    }

    private static func isRefunded(_ transaction: inout JWSTransactionDecodedPayload) {
        transaction.revocationDate = Timestamp(day: 2)
        transaction.revocationReason = .issue
    }

    /// Every row of the rules, with a subscription in force, and the beginning of each text.
    private static let events: [(type: String, subtype: String?, texts: [String])] = [
        ("SUBSCRIBED", "INITIAL_BUY", [active, "It is the first subscription"]),
        ("SUBSCRIBED", "RESUBSCRIBE", [active, "The customer subscribed again."]),
        ("OFFER_REDEEMED", nil, [active, "The customer redeemed an offer."]),
        ("OFFER_REDEEMED", "UPGRADE", [active, "The offer is for an upgrade"]),
        ("OFFER_REDEEMED", "DOWNGRADE", ["Nothing to do now: the offer", stays]),
        ("DID_RENEW", nil, [active, "The subscription renewed."]),
        ("DID_RENEW", "BILLING_RECOVERY", [active, "A payment that had failed succeeded"]),
        ("DID_CHANGE_RENEWAL_PREF", "UPGRADE", [active, "The upgrade is in force now."]),
        ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", ["Nothing to do now: the downgrade", stays]),
        ("DID_CHANGE_RENEWAL_PREF", nil, ["Nothing to do: the customer undid", stays]),
        ("DID_CHANGE_RENEWAL_PREF", "INCREASE_QUANTITY", ["Nothing to do now: the number", stays]),
        ("DID_CHANGE_RENEWAL_PREF", "DECREASE_QUANTITY", ["Nothing to do now: the number", stays]),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", ["Nothing to do: automatic", stays]),
        ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", ["Nothing to do now: auto", stays]),
        ("DID_CHANGE_RENEWAL_STATUS", nil, ["Nothing to do: automatic", stays]),
        ("DID_FAIL_TO_RENEW", nil, [active, "Apple tries to charge again"]),
        ("DID_FAIL_TO_RENEW", "GRACE_PERIOD", [active, "Ask the customer to correct"]),
        ("GRACE_PERIOD_EXPIRED", nil, [active, "The grace period is over."]),
        ("EXPIRED", "VOLUNTARY", [active, "The customer had turned"]),
        ("EXPIRED", "BILLING_RETRY", [active, "Apple could not collect"]),
        ("EXPIRED", "PRICE_INCREASE", [active, "The customer did not agree"]),
        ("EXPIRED", "PRODUCT_NOT_FOR_SALE", [active, "The product was not for sale"]),
        ("EXPIRED", nil, [active, "Apple names no cause."]),
        ("PRICE_INCREASE", "PENDING", ["Nothing to do: Apple asked", stays]),
        ("PRICE_INCREASE", "ACCEPTED", ["Nothing to do: the next renewal", stays]),
        ("REFUND", nil, ["Grant nothing by it, and take nothing back yet: its transaction has no"]),
        ("REFUND", "SEATS", ["Grant nothing by it, and take nothing back yet: its transaction"]),
        ("REFUND_REVERSED", nil, ["Give premium.monthly back where you took it", stays]),
        ("REFUND_DECLINED", nil, ["Nothing to take back: Apple declined the refund.", stays]),
        ("CONSUMPTION_REQUEST", nil, ["Nothing to do: the 12 hours", "Grant nothing by it, and"]),
        ("REVOKE", nil, ["Grant nothing by it, and take nothing back yet: its transaction has no"]),
        ("RENEWAL_EXTENDED", nil, [active, "Apple extended the period."]),
        ("RENEWAL_EXTENSION", "SUMMARY", ["Nothing to do: the extension is complete, 0 subscr"]),
        ("RENEWAL_EXTENSION", "FAILURE", ["Nothing to take back: Apple could not extend a"]),
        ("ONE_TIME_CHARGE", nil, [active]),
        ("METADATA_UPDATE", nil, ["Nothing to do: texts of the subscription changed.", stays]),
        ("MIGRATION", nil, ["Store the new ids: the subscription moved", stays]),
        ("MIGRATE", nil, ["Store the new ids: the subscription moved", stays]),
        ("PRICE_CHANGE", nil, ["Nothing to do: the price of the subscription changed.", stays]),
        ("EXTERNAL_PURCHASE_TOKEN", "CREATED", ["Store the token. Report what was bought"]),
        ("EXTERNAL_PURCHASE_TOKEN", "ACTIVE_TOKEN_REMINDER", ["The token is still active. Rep"]),
        ("EXTERNAL_PURCHASE_TOKEN", "UNREPORTED", ["Apple has no report for the token. Report"]),
        ("RESCIND_CONSENT", nil, ["End the child's use of the app"]),
        ("UNCLAIM_SEATS", nil, ["End the access of the seats that it names. The buyer's"]),
        ("TEST", nil, ["Nothing to do: it is a test, and it arrived."]),
        // What this version does not know grants nothing and takes nothing back.
        ("GIFTED", nil, ["This version does not know the notification type GIFTED: grant nothing"]),
        ("SUBSCRIBED", "BY_POST", ["This version does not know the subtype BY_POST: grant noth"]),
        ("SUBSCRIBED", nil, ["This version does not know the subtype of none: grant nothing"]),
        ("", nil, ["This version does not know the notification type of none: grant nothing"]),
    ]

    @Test("every type and subtype while the subscription is in force")
    func types() {
        for (type, subtype, starts) in Self.events {
            let texts = AdviceTests.texts([Self.notification(type, subtype)])
            let isExpected =
                texts.count == starts.count && zip(texts, starts).allSatisfy { $0.hasPrefix($1) }
            #expect(isExpected, "\(type) \(subtype ?? ""): \(texts)")
            #expect(!texts.contains { $0.contains("Grant once") }, "\(type)")
        }
    }

    @Test("every type and subtype with a refunded transaction takes it back, or asks for nothing")
    func refundedTypes() {
        for (type, subtype, _) in Self.events {
            let item = Self.notification(type, subtype, of: Self.isRefunded)
            let texts = AdviceTests.texts([item])
            let isApart = [
                "RENEWAL_EXTENSION", "EXTERNAL_PURCHASE_TOKEN", "RESCIND_CONSENT", "UNCLAIM_SEATS",
                "TEST",
            ].contains(type)
            #expect(texts.contains(Self.refund) != isApart, "\(type) \(subtype ?? ""): \(texts)")
            let gives = texts.contains { $0.hasPrefix("Give") || $0.hasPrefix("Grant once") }
            #expect(!gives, "\(type) \(subtype ?? ""): \(texts)")
        }
    }

    @Test("a refund, its reversal, and a second refund: the newest statement counts")
    func reversals() {
        let refund = Self.notification("REFUND", signed: 2, of: Self.isRefunded)
        let reversal = Self.notification("REFUND_REVERSED", signed: 3)
        let second = Self.notification("REFUND", signed: 4, of: Self.isRefunded)
        let given =
            "Give premium.monthly back where you took it: Apple reversed the refund of transaction "
            + "100."
        for (items, texts) in [
            ([refund], [Self.refund]), ([refund, reversal], [given, Self.stays]),
            ([reversal, refund], [Self.nothing]), ([reversal, second], [Self.refund]),
            ([second, reversal], [Self.nothing]),
            // The transaction decides, and not the type.
            ([Self.notification("REFUND_REVERSED", of: Self.isRefunded)], [Self.refund]),
        ] as [([EvidenceItem], [String])] {
            #expect(AdviceTests.texts(items) == texts)
        }
    }

    @Test("a statement that is not superseded as a whole, with a newer one about its purchase")
    func outdated() {
        func keyed(_ item: EvidenceItem) -> EvidenceItem {
            var verification = item.verification
            verification.dedupKey = "k"
            return EvidenceItem(verification)
        }
        // The notification's signed status keeps it among the items that decide.
        let bought = Self.notification("SUBSCRIBED", "INITIAL_BUY", signed: 1) {
            $0.signedDate = Timestamp(day: 4)
            var data = NotificationData()
            data.environment = .production
            data.bundleId = "com.example.game"
            data.status = .active
            $0.data = data
        }
        let refunded = Evidence.period(
            0, signed: Evidence.start + 3 * Evidence.day, Self.isRefunded)
        #expect(AdviceTests.texts([keyed(refunded), keyed(bought)]) == [Self.nothing])
        #expect(AdviceTests.texts([keyed(bought), keyed(refunded)]) == [Self.refund])
    }

    @Test("REFUND of seats, and of an item of Advanced Commerce")
    func parts() {
        func hasSeats(_ transaction: inout JWSTransactionDecodedPayload) {
            var info = TransactionMultiSeatInfo()
            info.revokedSeatQuantity = 2
            transaction.multiSeatInfo = info
            transaction.quantity = 10
        }
        let seats = Self.notification("REFUND", "SEATS", of: hasSeats)
        #expect(
            AdviceTests.texts([seats]) == [
                "Take 2 of 10 seats of premium.monthly back: Apple refunded them.", Self.stays,
            ])
        func hasItem(_ transaction: inout JWSTransactionDecodedPayload) {
            var item = AdvancedCommerceTransactionItem()
            item.revocationDate = Timestamp(day: 2)
            var info = AdvancedCommerceTransactionInfo()
            info.items = [item]
            transaction.advancedCommerceInfo = info
        }
        let item = Self.notification("REFUND", of: hasItem)
        #expect(
            AdviceTests.texts([item]) == [
                "Take an item back: Apple refunded this item at 2023-11-16T22:13:20Z.", Self.stays,
            ])
    }

    @Test("CONSUMPTION_REQUEST: to be answered within 12 hours, by the transaction's id")
    func consumption() {
        let undecided =
            "Grant nothing by it, and take nothing back: Apple has not decided about the refund."
        func request(signed: Int64) -> EvidenceItem {
            Self.notification("CONSUMPTION_REQUEST", signed: signed) {
                var data = NotificationData()
                data.bundleId = "com.example.game"
                data.consumptionRequestReason = .unintendedPurchase
                $0.data = data
            }
        }
        let answer =
            "Answer within 12 hours, by 2023-11-20T10:13:20Z, if the customer consented: assay api "
            + "consumption --bundle-id com.example.game --customer-consented --delivery STATE 100"
        let reason = "The customer's reason: UNINTENDED_PURCHASE."
        #expect(AdviceTests.texts([request(signed: 5)]) == [answer, undecided, reason])
        // Newer evidence about the purchase does not answer the request.
        let newer = Evidence.period(0, signed: Evidence.start + 6 * Evidence.day)
        #expect(AdviceTests.texts([newer, request(signed: 5)]) == [answer, undecided, reason])
        #expect(
            AdviceTests.texts([request(signed: 4)]) == [
                "Nothing to do: the 12 hours to answer ended at 2023-11-19T10:13:20Z.", undecided,
                reason,
            ])
    }

    @Test("notifications without a transaction, and an unknown type with a refund")
    func others() {
        #expect(
            AdviceTests.texts([Self.notification("DID_RENEW", isEmpty: true)]) == [
                "It carries no transaction: ask the App Store what the customer owns.",
                "The subscription renewed.",
            ])
        #expect(
            AdviceTests.texts([Self.notification("REFUND", isEmpty: true)]) == [
                "Take back what was refunded: ask the App Store which purchase, the notification "
                    + "carries no transaction."
            ])
        let summary = Self.notification("RENEWAL_EXTENSION", "SUMMARY", isEmpty: true) {
            var summary = Summary()
            summary.requestIdentifier = "r"
            summary.succeededCount = 7
            summary.failedCount = 1
            $0.summary = summary
        }
        #expect(
            AdviceTests.texts([summary]) == [
                "Nothing to do: the extension of request r is complete, 7 subscriptions extended "
                    + "and 1 not."
            ])
        let seats = Self.notification("UNCLAIM_SEATS", isEmpty: true) {
            var info = UnclaimInfo()
            info.unclaimSeatIds = ["a", "b", "c", "d"]
            $0.unclaimInfo = info
        }
        #expect(
            AdviceTests.texts([seats]) == [
                "End the access of the seats a, b, c and 1 more. The buyer's subscription does not "
                    + "change."
            ])
    }
}
