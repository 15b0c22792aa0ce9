import AssayBytes
import AssayModels
import TestSupport
import Testing

@testable import Assay

/// The list `latest_receipt_info` of verifyReceipt: whether it is there, and its order.
@Suite("latest_receipt_info")
struct VerifyReceiptOrderTests {
    /// A record: transaction id, seconds of its purchase date, and whether it has an end.
    private struct Record {
        var id: String
        var date: Int64?
        var ends = true
        var type: InAppProductType?
    }

    private static let yearOf2018 = Timestamp(milliseconds: 1_514_764_800_000)

    private static func answer(
        _ records: [Record], created: Timestamp? = yearOf2018, excludesOld: Bool = false,
        environment: StoreEnvironment = .production, isSandbox: Bool = false
    ) throws -> JSONValue {
        var receipt = AppReceipt()
        receipt.receiptCreationDate = created
        for record in records {
            var purchase = InAppPurchaseReceipt()
            purchase.transactionId = record.id
            purchase.originalTransactionId = "1"
            purchase.purchaseDate = record.date.map { Timestamp(milliseconds: $0 * 1000) }
            if record.ends {
                purchase.expiresDate = Timestamp(milliseconds: (record.date ?? 0) * 1000 + 1)
            }
            purchase.productType = record.type
            receipt.inApp.append(purchase)
        }
        let verification = Verification(
            verdict: .valid, detail: "", environment: environment, evidence: .appReceipt(receipt))
        let query = VerifyReceiptQuery(
            isSandbox: isSandbox, excludesOldTransactions: excludesOld)
        let text = verifyReceiptResponse(for: verification, to: query, requestDate: yearOf2018)
        return try JSONDocument.parse(text).root
    }

    private static func ids(_ json: JSONValue) -> [String]? {
        json["latest_receipt_info"]?.elements.map { list in
            list.compactMap { $0["transaction_id"]?.string }
        }
    }

    @Test("Sorted by purchase date: the newest first, and in receipts of before 2018 the oldest")
    func order() throws {
        let records = [
            Record(id: "b", date: 20), Record(id: "none", date: nil), Record(id: "d", date: 40),
            Record(id: "a", date: 10), Record(id: "c", date: 30, ends: false),
            Record(id: "d2", date: 40),
        ]
        let newestFirst = ["d", "d2", "c", "b", "a", "none"]
        let oldestFirst = ["none", "a", "b", "c", "d", "d2"]
        for (milliseconds, expected) in [
            (Self.yearOf2018.milliseconds - 1, oldestFirst),
            (Self.yearOf2018.milliseconds, newestFirst),
            (Self.yearOf2018.milliseconds + 1, newestFirst), (0, oldestFirst),
        ] {
            let created = Timestamp(milliseconds: milliseconds)
            let answer = try Self.answer(records, created: created)
            #expect(Self.ids(answer) == expected, "\(milliseconds)")
            // in_app stays in the receipt's order.
            let inApp = answer["receipt"]?["in_app"]?.elements.map { list in
                list.compactMap { $0["transaction_id"]?.string }
            }
            #expect(inApp == records.map(\.id))
        }
        #expect(Self.ids(try Self.answer(records, created: nil)) == newestFirst)
        let short = try Self.answer(records, excludesOld: true)
        #expect(Self.ids(short) == ["d2", "c"])
    }

    @Test("Absent without an auto-renewable subscription, at both paths")
    func absence() throws {
        let single = Record(id: "a", date: 1, ends: false)
        func typed(_ type: InAppProductType) -> Record {
            Record(id: "t", date: 2, ends: false, type: type)
        }
        for (records, isThere) in [
            ([], false), ([single], false), ([typed(.nonConsumable)], false),
            ([typed(.consumable)], false), ([typed(.nonRenewingSubscription)], false),
            ([typed(InAppProductType(rawValue: 4))], false),
            ([typed(.autoRenewableSubscription)], true),
            ([single, Record(id: "b", date: 2)], true),
        ] as [([Record], Bool)] {
            #expect((Self.ids(try Self.answer(records)) != nil) == isThere, "\(records)")
            let sandbox = try Self.answer(records, isSandbox: true)
            #expect((Self.ids(sandbox) != nil) == isThere, "\(records)")
            // What is asked of the App Store would be about the subscription.
            #expect(sandbox["assay"]?["latest"]?.string == (isThere ? "receipt" : nil))
            let says = sandbox["assay"]?["detail"]?.string?.contains("[app.store]") ?? false
            #expect(says == isThere)
        }
        #expect(Self.ids(try Self.answer([single, Record(id: "b", date: 2)])) == ["b", "a"])
    }

    @Test("A receipt that does not name its environment is one of Production")
    func environment() throws {
        for (environment, name) in [
            (.unspecified, "Production"), (.production, "Production"), (.sandbox, "Sandbox"),
            (.xcode, "Xcode"),
        ] as [(StoreEnvironment, String)] {
            let answer = try Self.answer([], environment: environment)
            #expect(answer["environment"]?.string == name)
        }
        for (isSandbox, status) in [(true, 21008), (false, 21003), (nil, 21003)] as [(Bool?, Int64)]
        {
            let refused = Verification(
                verdict: .wrongEnvironment, detail: "", environment: .unspecified)
            let query = isSandbox.map { VerifyReceiptQuery(isSandbox: $0) }
            let text = verifyReceiptResponse(for: refused, to: query, requestDate: Self.yearOf2018)
            #expect(try JSONDocument.parse(text).root["status"]?.int64 == status)
        }
    }

    /// Apple's answer of 2017 to a genuine receipt.
    @Test(
        "Apple's own list, in its order",
        .enabled(if: Vectors.has(cases: "receipts", suffix: "apple-2017.der")))
    func genuine() throws {
        let ofServer: Set<String> = ["in_app_ownership_type", "subscription_group_identifier"]
        var count = 0
        for path in Vectors.cases("receipts", suffix: "apple-2017.der") {
            let receipt = try #require(Vectors.bytes(path))
            let file = path.dropLast("der".count) + "answer.json"
            let theirs = try JSONDocument.parse(
                try #require(Vectors.bytes(String(file))), limit: 1 << 20)
            let verification = Verifier(trust: .apple, keyTables: .never).verify(
                receipt.span, as: .appReceipt,
                policy: Policy(bundleId: nil, environments: [.sandbox]),
                at: Timestamp(milliseconds: 1_795_305_600_000))
            let text = verifyReceiptResponse(
                for: verification, to: VerifyReceiptQuery(isSandbox: true),
                requestDate: Self.yearOf2018)
            let ours = try JSONDocument.parse(text).root
            func list(_ json: JSONValue) -> [[String: String]] {
                (json["latest_receipt_info"]?.elements.map(Array.init) ?? []).map { purchase in
                    var members: [String: String] = [:]
                    for (name, value) in purchase.members?.pairs ?? []
                    where !ofServer.contains(name) {
                        members[name] = value.string
                    }
                    return members
                }
            }
            #expect(ours["status"]?.int64 == 0)
            #expect(list(ours) == list(theirs.root))
            count += list(ours).count
        }
        try Vectors.report("purchases in Apple's order", count)
    }
}
