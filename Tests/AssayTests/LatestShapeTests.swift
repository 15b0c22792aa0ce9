import AssayBytes
import AssayModels
import TestSupport
import Testing

@testable import Assay

/// The shape of filled answers, compared with what Apple's endpoint answered: a list of Apple's is
/// read into transactions and renewal information, and written again.
@Suite("Shapes of verifyReceipt") struct LatestShapeTests {
    private typealias Transaction = JWSTransactionDecodedPayload
    private typealias Renewal = JWSRenewalInfoDecodedPayload

    private static func elements(_ json: JSONValue?) -> [JSONValue] {
        json?.elements.map { Array($0) } ?? []
    }

    private static func date(_ json: JSONValue, _ name: String) -> Timestamp? {
        json[name + "_ms"]?.string.flatMap { Int64($0) }.map { Timestamp(milliseconds: $0) }
    }

    private static func transaction(_ json: JSONValue) -> Transaction {
        var transaction = Transaction()
        transaction.quantity = json["quantity"]?.string.flatMap { Int32($0) }
        transaction.productId = json["product_id"]?.string
        transaction.transactionId = json["transaction_id"]?.string
        transaction.originalTransactionId = json["original_transaction_id"]?.string
        transaction.purchaseDate = date(json, "purchase_date")
        transaction.originalPurchaseDate = date(json, "original_purchase_date")
        transaction.expiresDate = date(json, "expires_date")
        transaction.type =
            transaction.expiresDate == nil ? .nonConsumable : .autoRenewableSubscription
        transaction.webOrderLineItemId = json["web_order_line_item_id"]?.string
        transaction.inAppOwnershipType =
            json["in_app_ownership_type"]?.string.map { InAppOwnershipType(rawValue: $0) }
        transaction.subscriptionGroupIdentifier = json["subscription_group_identifier"]?.string
        if json["is_trial_period"]?.string == "true" {
            transaction.offerType = .introductory
            transaction.offerDiscountType = .freeTrial
        } else if json["is_in_intro_offer_period"]?.string == "true" {
            transaction.offerType = .introductory
            transaction.offerDiscountType = .payAsYouGo
        } else if let offer = json["promotional_offer_id"]?.string {
            transaction.offerType = .promotional
            transaction.offerIdentifier = offer
            transaction.offerDiscountType = .payUpFront
        }
        transaction.revocationDate = date(json, "cancellation_date")
        transaction.revocationReason = json["cancellation_reason"]?.string.flatMap { Int32($0) }
            .map { RevocationReason(rawValue: $0) }
        return transaction
    }

    private static func renewal(_ json: JSONValue, _ original: String?) -> Renewal {
        func number(_ name: String) -> Int32? { json[name]?.string.flatMap { Int32($0) } }
        var renewal = Renewal()
        renewal.originalTransactionId = json["original_transaction_id"]?.string ?? original
        renewal.productId = json["product_id"]?.string
        renewal.autoRenewProductId = json["auto_renew_product_id"]?.string
        renewal.autoRenewStatus = number("auto_renew_status").map { AutoRenewStatus(rawValue: $0) }
        renewal.expirationIntent =
            number("expiration_intent").map { ExpirationIntent(rawValue: $0) }
        renewal.isInBillingRetryPeriod = number("is_in_billing_retry_period").map { $0 != 0 }
        return renewal
    }

    /// Every member of Apple's has its value and its place in ours.
    private static func compare(_ ours: JSONValue, _ theirs: JSONValue, _ name: String) {
        let expected = theirs.members?.pairs ?? []
        for (member, value) in expected {
            #expect(ours[member]?.raw == value.raw, "\(name): \(member)")
        }
        let common = (ours.members?.pairs.map(\.name) ?? []).filter { theirs[$0] != nil }
        // Some publishers sorted the members.
        let isInOrder = expected.map(\.name).prefix(2) == ["quantity", "product_id"]
        if isInOrder || theirs["quantity"] == nil {
            #expect(common == expected.map(\.name), "\(name)")
        }
    }

    @Test(
        "Apple's lists and renewals, written from the App Store's answers",
        .enabled(if: Vectors.has("sk1/responses")))
    func shapes() throws {
        var (purchases, renewals) = (0, 0)
        for file in Vectors.files(in: "sk1/responses", suffix: ".json") {
            let json = try JSONDocument.parse(
                try #require(Vectors.bytes("sk1/responses/" + file)), limit: 1 << 20)
            let theirs = json.root["response"] ?? json.root
            let list = Self.elements(theirs["latest_receipt_info"])
            guard list.contains(where: { $0["expires_date_ms"] != nil }) else { continue }
            let pending = Self.elements(theirs["pending_renewal_info"])
            let original = list.first?["original_transaction_id"]?.string
            let answer = ServerAnswer(
                transactions: list.map { VerifiedPayload(Self.transaction($0), json: []) },
                renewalInfos: pending.map {
                    VerifiedPayload(Self.renewal($0, original), json: [])
                })
            var receipt = AppReceipt()
            var record = InAppPurchaseReceipt()
            record.transactionId =
                list.first { $0["expires_date_ms"] != nil }?["transaction_id"]?
                .string
            record.expiresDate = Timestamp(milliseconds: 0)
            receipt.inApp.append(record)
            let latest = LatestPurchases([
                Verification(
                    verdict: .valid, detail: "", environment: .sandbox,
                    evidence: .serverAnswer(answer))
            ])
            let text = verifyReceiptResponse(
                for: Verification(
                    verdict: .valid, detail: "", environment: .sandbox,
                    evidence: .appReceipt(receipt)), to: VerifyReceiptQuery(isSandbox: true),
                requestDate: Timestamp(milliseconds: 0),
                known: .app(latest.latestReceipt(with: receipt, receiptData: Array("MII".utf8))),
                source: .appStore)
            let ours = try JSONDocument.parse(text).root
            let names = Set(theirs.members?.pairs.map(\.name) ?? []).subtracting(["itunes_env"])
            #expect(Set(ours.members?.pairs.map(\.name) ?? []) == names.union(["assay"]), "\(file)")
            let own = Self.elements(ours["latest_receipt_info"])
            #expect(own.count == list.count, "\(file)")
            for purchase in own {
                let id = purchase["transaction_id"]?.string
                let other = try #require(list.first { $0["transaction_id"]?.string == id })
                Self.compare(purchase, other, file)
                purchases += 1
            }
            for (renewal, other) in zip(Self.elements(ours["pending_renewal_info"]), pending) {
                Self.compare(renewal, other, file)
                renewals += 1
            }
        }
        #expect(renewals > 0)
        try Vectors.report("purchases in the shape of verifyReceipt", purchases)
    }
}
