import AssayBytes
import AssayModels
import TestSupport
import Testing

@testable import Assay

/// Receipts and answers of the App Store, and the answer of verifyReceipt that they make.
enum LatestCase {
    typealias Transaction = JWSTransactionDecodedPayload
    typealias Renewal = JWSRenewalInfoDecodedPayload
    static let moment = Timestamp(milliseconds: 1_795_219_200_000)

    static func date(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: seconds * 1000)
    }

    /// A record of the receipt: the period of a subscription that begins at these seconds; without
    /// an end, another purchase.
    static func record(
        _ id: String, _ begin: Int64, ends: Bool = true, of original: String = "1"
    ) -> InAppPurchaseReceipt {
        var record = InAppPurchaseReceipt()
        record.transactionId = id
        record.originalTransactionId = original
        record.purchaseDate = date(begin)
        if ends { record.expiresDate = date(begin + 10) }
        return record
    }

    static func transaction(
        _ id: String, _ begin: Int64, signed: Int64 = 0, of original: String = "1",
        _ type: ProductType = .autoRenewableSubscription,
        _ change: (inout Transaction) -> Void = { _ in }
    ) -> Transaction {
        var transaction = Transaction()
        transaction.transactionId = id
        transaction.originalTransactionId = original
        transaction.purchaseDate = date(begin)
        transaction.type = type
        if type == .autoRenewableSubscription { transaction.expiresDate = date(begin + 10) }
        transaction.signedDate = date(signed)
        change(&transaction)
        return transaction
    }

    static func latest(
        _ transactions: [Transaction], _ renewals: [Renewal] = [], _ verdict: Verdict = .valid
    ) -> LatestPurchases {
        let answer = ServerAnswer(
            transactions: transactions.map { VerifiedPayload($0, json: []) },
            renewalInfos: renewals.map { VerifiedPayload($0, json: []) })
        return LatestPurchases([
            Verification(
                verdict: verdict, detail: "", environment: .production,
                evidence: .serverAnswer(answer))
        ])
    }

    static func verification(
        _ records: [InAppPurchaseReceipt], _ environment: StoreEnvironment = .production
    ) -> Verification {
        var receipt = AppReceipt()
        // Answers from a receipt of then have the oldest purchase first.
        receipt.receiptCreationDate = date(1_400_000_000)
        for record in records { receipt.inApp.append(record) }
        return Verification(
            verdict: .valid, detail: "", environment: environment, evidence: .appReceipt(receipt))
    }

    private struct EvidenceIsNoReceipt: Error {}

    static func answer(
        _ records: [InAppPurchaseReceipt], _ latest: LatestPurchases, excludesOld: Bool = false,
        receiptData: [UInt8]? = nil
    ) throws -> JSONValue {
        let query = VerifyReceiptQuery(isSandbox: false, excludesOldTransactions: excludesOld)
        let verification = verification(records)
        guard case .appReceipt(let receipt) = verification.evidence else {
            throw EvidenceIsNoReceipt()
        }
        let known = latest.latestReceipt(with: receipt, receiptData: receiptData)
        let text = verifyReceiptResponse(
            for: verification, to: query, requestDate: moment, known: .app(known),
            source: .appStore)
        return try JSONDocument.parse(text).root
    }

    static func list(_ json: JSONValue, _ member: String = "transaction_id") -> [String?] {
        json["latest_receipt_info"]?.elements?.map { $0[member]?.string } ?? []
    }
}

/// The purchases of verifyReceipt that the App Store Server API adds.
@Suite("verifyReceipt with answers of the App Store") struct LatestPurchasesTests {
    private typealias Transaction = LatestCase.Transaction

    @Test("The App Store's purchases and those of the receipt alone, the newest first")
    func purchases() throws {
        typealias Row = (
            what: String, records: [InAppPurchaseReceipt], found: [Transaction], all: [String?],
            newest: [String?]
        )
        let (first, second) = (LatestCase.record("1", 10), LatestCase.record("2", 20))
        let coin = LatestCase.record("c", 15, ends: false, of: "c")
        let rows: [Row] = [
            ("a renewal since", [first], [LatestCase.transaction("2", 20)], ["2", "1"], ["2"]),
            (
                "a renewal in both", [second, first],
                [LatestCase.transaction("3", 30), LatestCase.transaction("2", 20)],
                ["3", "2", "1"], ["3"]
            ),
            ("nothing new", [first], [LatestCase.transaction("1", 10)], ["1"], ["1"]),
            (
                "a consumable of the receipt", [first, coin],
                [
                    LatestCase.transaction("c", 15, of: "c", .consumable),
                    LatestCase.transaction("2", 20),
                ],
                ["2", "c", "1"], ["2", "c"]
            ),
            (
                "a consumable that the app has finished", [first],
                [
                    LatestCase.transaction("c", 15, of: "c", .consumable),
                    LatestCase.transaction("1", 10),
                ],
                ["1"], ["1"]
            ),
            (
                "a world bought since", [first],
                [LatestCase.transaction("w", 5, of: "w", .nonConsumable)], ["1", "w"], ["1", "w"]
            ),
            (
                "an upgrade to a shorter period", [first],
                [LatestCase.transaction("2", 15) { $0.expiresDate = LatestCase.date(17) }],
                ["2", "1"], ["2"]
            ),
            (
                "a second subscription", [first],
                [LatestCase.transaction("9", 12, of: "9"), LatestCase.transaction("1", 10)],
                ["9", "1"],
                ["9", "1"]
            ),
            (
                "no id", [first], [LatestCase.transaction("2", 20) { $0.transactionId = nil }],
                ["1"],
                ["1"]
            ),
        ]
        for row in rows {
            let latest = LatestCase.latest(row.found)
            #expect(
                LatestCase.list(try LatestCase.answer(row.records, latest)) == row.all,
                "\(row.what)")
            let short = try LatestCase.answer(row.records, latest, excludesOld: true)
            #expect(LatestCase.list(short) == row.newest, "\(row.what)")
        }
        // What did not verify says nothing.
        let other = LatestCase.latest([LatestCase.transaction("2", 20)], [], .invalidSignature)
        #expect(LatestCase.list(try LatestCase.answer([first], other)) == ["1"])
        let world = LatestCase.record("w", 1, ends: false, of: "w")
        let none = try LatestCase.answer([world], LatestCase.latest([]))
        for name in ["latest_receipt_info", "latest_receipt", "pending_renewal_info", "assay"] {
            #expect(none[name] == nil)
        }
    }

    @Test("The newest statement about a purchase decides; a refund where both are of one time")
    func statements() throws {
        func refunded(_ signed: Int64) -> Transaction {
            LatestCase.transaction("1", 10, signed: signed) {
                $0.revocationDate = LatestCase.date(12)
                $0.revocationReason = .issue
            }
        }
        func kept(_ signed: Int64) -> Transaction {
            LatestCase.transaction("1", 10, signed: signed)
        }
        for (statements, isRefunded) in [
            ([kept(1), refunded(2)], true), ([refunded(2), kept(1)], true),
            ([refunded(1), kept(2)], false), ([kept(2), refunded(1)], false),
            ([kept(1), refunded(1)], true), ([refunded(1), kept(1)], true),
        ] {
            let answer = try LatestCase.answer(
                [LatestCase.record("1", 10)], LatestCase.latest(statements))
            let expected: [String?] = [isRefunded ? "12000" : nil]
            #expect(LatestCase.list(answer, "cancellation_date_ms") == expected, "\(statements)")
            #expect(LatestCase.list(answer, "cancellation_reason") == [isRefunded ? "1" : nil])
        }
    }

    @Test("An upgraded purchase ends when the next one of its subscription or group begins")
    func upgrades() throws {
        func upgraded(_ begin: Int64) -> Transaction {
            LatestCase.transaction("u", begin) {
                $0.isUpgraded = true
                $0.subscriptionGroupIdentifier = "g"
            }
        }
        func other(_ id: String, _ begin: Int64, original: String, group: String?) -> Transaction {
            LatestCase.transaction(id, begin, of: original) {
                $0.subscriptionGroupIdentifier = group
            }
        }
        for (others, end) in [
            ([other("2", 13, original: "1", group: nil)], "13000"),
            ([other("2", 13, original: "2", group: "g")], "13000"),
            (
                [
                    other("3", 17, original: "2", group: "g"),
                    other("2", 13, original: "1", group: "g"),
                ], "13000"
            ),
            ([other("2", 13, original: "2", group: "h")], nil),
            ([other("2", 13, original: "2", group: nil)], nil),
            ([other("0", 9, original: "1", group: "g")], nil), ([], nil),
        ] as [([Transaction], String?)] {
            let answer = try LatestCase.answer(
                [LatestCase.record("u", 10)], LatestCase.latest([upgraded(10)] + others))
            let entry = answer["latest_receipt_info"]?.elements?.first {
                $0["transaction_id"]?.string == "u"
            }
            #expect(entry?["is_upgraded"]?.string == "true")
            #expect(entry?["cancellation_date_ms"]?.string == end, "\(others)")
            #expect(entry?["cancellation_reason"] == nil)
        }
    }

    @Test("What the App Store is asked about: the subscription that was bought last")
    func question() {
        let first = LatestCase.record("1", 10)
        let rows: [(records: [InAppPurchaseReceipt], id: String?)] = [
            ([], nil), ([LatestCase.record("c", 10, ends: false)], nil), ([first], "1"),
            ([first, LatestCase.record("2", 20), LatestCase.record("3", 15)], "2"),
            ([LatestCase.record("c", 30, ends: false), first], "1"),
            ([LatestCase.record("", 10)], nil),
        ]
        for (records, id) in rows {
            #expect(LatestCase.verification(records).latestSubscription?.transactionId == id)
        }
        var refused = LatestCase.verification([first])
        refused.verdict = .wrongBundle
        #expect(refused.latestSubscription == nil)
        for (found, isIt) in [
            ([LatestCase.transaction("1", 10)], true), ([LatestCase.transaction("5", 10)], true),
            ([LatestCase.transaction("1", 10, of: "4")], true),
            (
                [
                    LatestCase.transaction("5", 10, of: "4") {
                        $0.previousOriginalTransactionId = "1"
                    }
                ],
                true
            ),
            ([LatestCase.transaction("5", 10, of: "4")], false), ([], false),
        ] {
            #expect(LatestCase.latest(found).has(first) == isIt, "\(found)")
        }
        for (environment, answer, isIt) in [
            (.production, .production, true), (.unspecified, .production, true),
            (.sandbox, .sandbox, true), (.sandbox, .production, false),
            (.production, .sandbox, false), (.unspecified, .sandbox, false),
        ] as [(StoreEnvironment, StoreEnvironment, Bool)] {
            #expect(LatestCase.verification([first], environment).isOf(answer) == isIt)
        }
    }

    @Test("A failure is retryable and has no purchases; a deleted account is 21010")
    func failures() throws {
        let verification = LatestCase.verification([LatestCase.record("1", 10)], .unspecified)
        for (code, text) in [
            (nil, #"{"status":21199,"is-retryable":true,"environment":"Production","#),
            (4_040_002, #"{"status":21199,"is-retryable":true,"environment":"Production","#),
            (4_040_001, #"{"status":21010,"#),
        ] as [(Int64?, String)] {
            let failure = verifyReceiptFailure(of: verification, "why", code: code)
            let detail = #""detail":"the receipt is genuine, but why"}"#
            #expect(String(decoding: failure, as: UTF8.self) == text + detail)
        }
    }
}
