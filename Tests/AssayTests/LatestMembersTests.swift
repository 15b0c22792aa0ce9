import AssayBytes
import AssayModels
import TestSupport
import Testing

@testable import Assay

/// The members of verifyReceipt about a purchase and a renewal, as the App Store Server API names
/// them.
@Suite("members of verifyReceipt that the App Store has") struct LatestMembersTests {
    private typealias Renewal = LatestCase.Renewal

    private typealias Change = @Sendable (inout LatestCase.Transaction) -> Void

    /// What the App Store says of a purchase, and the members of its entry.
    private static let purchases: [(what: String, [String: String?], Change)] = [
        (
            "none",
            [
                "quantity": "1", "is_trial_period": "false",
                "is_in_intro_offer_period": "false", "in_app_ownership_type": nil,
                "is_upgraded": nil, "web_order_line_item_id": nil,
            ], { _ in }
        ),
        ("seats", ["quantity": "3"], { $0.quantity = 3 }),
        ("a line item", ["web_order_line_item_id": "77"], { $0.webOrderLineItemId = "77" }),
        (
            "a trial", ["is_trial_period": "true", "is_in_intro_offer_period": "false"],
            {
                $0.offerType = .introductory
                $0.offerDiscountType = .freeTrial
            }
        ),
        (
            "a trial before payment modes were named", ["is_trial_period": "true"],
            {
                $0.offerType = .introductory
                $0.price = 0
            }
        ),
        (
            "an introductory price",
            ["is_trial_period": "false", "is_in_intro_offer_period": "true"],
            {
                $0.offerType = .introductory
                $0.offerDiscountType = .payAsYouGo
            }
        ),
        (
            "a promotional offer", ["promotional_offer_id": "o", "offer_code_ref_name": nil],
            {
                $0.offerType = .promotional
                $0.offerIdentifier = "o"
            }
        ),
        (
            "an offer code", ["promotional_offer_id": nil, "offer_code_ref_name": "o"],
            {
                $0.offerType = .offerCode
                $0.offerIdentifier = "o"
            }
        ),
        (
            "a win-back offer", ["promotional_offer_id": nil, "offer_code_ref_name": nil],
            {
                $0.offerType = .winBack
                $0.offerIdentifier = "o"
            }
        ),
        (
            "an owner",
            ["in_app_ownership_type": "FAMILY_SHARED", "app_account_token": "t"],
            {
                $0.inAppOwnershipType = .familyShared
                $0.appAccountToken = "t"
            }
        ),
    ]

    @Test("The members of a purchase that only the App Store has")
    func members() throws {
        for (what, expected, change) in Self.purchases {
            let found = LatestCase.transaction("2", 20) { change(&$0) }
            let answer = try LatestCase.answer(
                [LatestCase.record("1", 10)], LatestCase.latest([found]))
            for (name, value) in expected {
                #expect(LatestCase.list(answer, name).first == value, "\(what): \(name)")
            }
        }
    }

    private static func renewal(
        of original: String = "1", signed: Int64 = 0, _ change: (inout Renewal) -> Void = { _ in }
    ) -> Renewal {
        var renewal = Renewal()
        renewal.originalTransactionId = original
        renewal.signedDate = LatestCase.date(signed)
        change(&renewal)
        return renewal
    }

    private static let id = #""original_transaction_id":"1""#
    /// Renewal information, and the entries that it makes.
    private static let renewals: [([Renewal], String?)] = [
        ([], nil), ([renewal { $0.originalTransactionId = nil }], nil),
        (
            [
                renewal {
                    $0.autoRenewProductId = "b"
                    $0.productId = "a"
                    $0.autoRenewStatus = .on
                    $0.isInBillingRetryPeriod = false
                }
            ],
            #"[{"auto_renew_product_id":"b","product_id":"a",\#(id),"auto_renew_status":"1"}]"#
        ),
        (
            [
                renewal {
                    $0.expirationIntent = .billingError
                    $0.isInBillingRetryPeriod = true
                    $0.gracePeriodExpiresDate = LatestCase.date(1_641_241_390)
                }
            ],
            #"[{"expiration_intent":"2","#
                + #""grace_period_expires_date":"2022-01-03 20:23:10 Etc/GMT","#
                + #""grace_period_expires_date_ms":"1641241390000","#
                + #""grace_period_expires_date_pst":"2022-01-03 12:23:10 America/Los_Angeles","#
                + #""is_in_billing_retry_period":"1",\#(id)}]"#
        ),
        (
            [renewal { $0.expirationIntent = .cancelled }],
            #"[{"expiration_intent":"1","is_in_billing_retry_period":"0",\#(id)}]"#
        ),
        (
            [renewal { $0.priceIncreaseStatus = .notResponded }],
            #"[{\#(id),"price_consent_status":"0","price_increase_status":"0"}]"#
        ),
        (
            [renewal { $0.priceIncreaseStatus = .consentedOrNotNeeded }],
            #"[{\#(id),"price_increase_status":"1"}]"#
        ),
        (
            [
                renewal {
                    $0.offerType = .promotional
                    $0.offerIdentifier = "o"
                }
            ], #"[{\#(id),"promotional_offer_id":"o"}]"#
        ),
        (
            [
                renewal {
                    $0.offerType = .offerCode
                    $0.offerIdentifier = "o"
                }
            ], #"[{\#(id),"offer_code_ref_name":"o"}]"#
        ),
        (
            [
                renewal(signed: 2) { $0.autoRenewStatus = .off }, renewal(of: "2"),
                renewal(signed: 1) { $0.autoRenewStatus = .on },
            ], #"[{\#(id),"auto_renew_status":"0"},{"original_transaction_id":"2"}]"#
        ),
    ]

    @Test("pending_renewal_info has the newest statement about each subscription")
    func renewals() throws {
        for (renewals, expected) in Self.renewals {
            let latest = LatestCase.latest([LatestCase.transaction("1", 10)], renewals)
            let answer = try LatestCase.answer(
                [LatestCase.record("1", 10)], latest, receiptData: Array("MIIS".utf8))
            let found = answer["pending_renewal_info"]?.raw
            #expect(found == expected.map { Array($0.utf8) })
            #expect(answer["latest_receipt"]?.string == "MIIS")
            let source = answer["assay"].map { String(decoding: $0.raw, as: UTF8.self) }
            #expect(source == #"{"latest":"app-store"}"#)
        }
        let without = try LatestCase.answer(
            [LatestCase.record("1", 10)], LatestCase.latest([LatestCase.transaction("1", 10)]))
        #expect(without["latest_receipt"] == nil)
    }
}
