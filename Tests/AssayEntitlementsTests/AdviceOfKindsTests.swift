import AssayEntitlements
import AssayModels
import Testing

/// What to do about receipts, answers and renewal information, which are of no single purchase.
@Suite("Advice: other kinds") struct AdviceOfKindsTests {
    private static let (day2, day5, day30) = (
        "2023-11-16T22:13:20Z", "2023-11-19T22:13:20Z", "2023-12-14T22:13:20Z"
    )

    private static let kinds: [AdviceTests.Case] = [
        AdviceTests.Case(
            "renewal information alone", [Evidence.renewal(signed: Evidence.start)],
            "Grant nothing by it alone: it states how a subscription renews, and no purchase. Ask "
                + "the App Store about transaction 100: assay api statuses."),
        AdviceTests.Case(
            "beside its subscription",
            [Evidence.period(0), Evidence.renewal(signed: Evidence.start)],
            "The access to premium.monthly stays until \(day30)."),
        AdviceTests.Case(
            "an app transaction",
            [
                Evidence.item(
                    .appTransaction(
                        payload(AppTransaction()) {
                            $0.originalApplicationVersion = "1.0"
                            $0.originalPurchaseDate = Timestamp(day: 5)
                        }))
            ],
            "There is no purchase to grant: the customer got the app at \(day5), as version 1.0. "
                + "If that version was sold, unlock what it had."),
        AdviceTests.Case(
            "a revoked app",
            [
                Evidence.item(
                    .appTransaction(
                        payload(AppTransaction()) {
                            $0.revocationDate = Timestamp(day: 5)
                        }))
            ], "Take back what came with the app: Apple revoked it at \(day5)."),
        AdviceTests.Case(
            "a receipt", [receipt(.consumable)],
            "Grant once by its dedupKey in inApp: gold."),
        AdviceTests.Case(
            "a receipt with a refund",
            [
                receipt(.nonConsumable) {
                    $0.cancellationDate = Timestamp(day: 2)
                    $0.cancellationReason = 1
                }
            ],
            "Take gold back: Apple refunded transaction 9 because of an issue with the app "
                + "(cancellationReason 1). Since \(day2) it entitles to nothing."),
        AdviceTests.Case(
            "a receipt without records", [Evidence.receipt(created: Evidence.start, [])],
            "Grant nothing by it: it lists no purchase."),
        AdviceTests.Case(
            "a receipt with many consumables",
            [
                Evidence.receipt(
                    created: Evidence.start,
                    (1...4).map { id in
                        {
                            $0.transactionId = "\(id)"
                            $0.productId = "gold"
                            $0.productType = .consumable
                        }
                    })
            ], "Grant each of the 4 consumables once by its dedupKey in inApp."),
        AdviceTests.Case(
            "an answer",
            [Evidence.answer([Evidence.period(0), AdviceTests.product(.consumable)])],
            "Give access to premium.monthly until \(day30).",
            "Grant once by its key in dedupKeys: gold."),
        AdviceTests.Case(
            "an answer with the refund of an earlier period",
            [
                Evidence.answer([
                    Evidence.period(1), Evidence.period(0) { AdviceTests.refunded(&$0, nil) },
                ])
            ],
            at: 35, "Give access to premium.monthly until 2024-01-13T22:13:20Z.",
            "Take back what came with premium.monthly then: Apple refunded transaction 100. Since "
                + "\(day2) it entitles to nothing."),
        AdviceTests.Case(
            "an answer without evidence",
            [Evidence.answer([], warnings: [EvidenceWarning(code: .noEvidence, message: "")])],
            "Grant nothing by it: it proves nothing. Check the bundle id of your request to the "
                + "App Store."),
        AdviceTests.Case(
            "one page of an answer",
            [
                Evidence.answer(
                    [AdviceTests.product(.consumable)],
                    warnings: [EvidenceWarning(code: .incomplete, message: "")])
            ], "Grant once by its key in dedupKeys: gold.",
            "Ask for the other pages: hasMore is true."),
        AdviceTests.Case(
            "a retention request",
            [
                Evidence.item(
                    .realtimeRequest(
                        VerifiedPayload(
                            DecodedRealtimeRequestBody(
                                originalTransactionId: "100", appAppleId: 1, productId: "p",
                                userLocale: "en", requestIdentifier: "r",
                                signedDate: Timestamp(day: 0), environment: .production),
                            json: [])))
            ],
            "Answer it now with a message or an offer: assay sign retention-answer. There is "
                + "nothing to grant."),
    ]

    private static func payload<Payload>(
        _ empty: Payload, _ change: (inout Payload) -> Void
    ) -> VerifiedPayload<Payload> {
        var payload = empty
        change(&payload)
        return VerifiedPayload(payload, json: [])
    }

    private static func receipt(
        _ type: InAppProductType,
        _ change: @escaping (inout InAppPurchaseReceipt) -> Void = { _ in }
    ) -> EvidenceItem {
        Evidence.receipt(
            created: Evidence.start + 2 * Evidence.day,
            [
                {
                    $0.transactionId = "9"
                    $0.productId = "gold"
                    $0.productType = type
                    change(&$0)
                }
            ])
    }

    @Test("kind and content", arguments: kinds)
    func table(_ tested: AdviceTests.Case) {
        let texts = AdviceTests.texts(tested.items, at: tested.day, of: tested.account)
        #expect(texts == tested.texts)
    }

    @Test("the advice about a receipt with thousands of purchases is short")
    func limit() {
        let records = (1...3_000).map { id -> (inout InAppPurchaseReceipt) -> Void in
            {
                $0.transactionId = "\(id)"
                $0.productId = "world.\(id)"
                $0.productType = .nonConsumable
            }
        }
        let texts = AdviceTests.texts([Evidence.receipt(created: Evidence.start, records)])
        #expect(texts.count == 13)
        #expect(texts.last == "What the customer owns has 2988 more.")
    }
}
