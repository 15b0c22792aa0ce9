import AssayBytes
import AssayModels
import TestSupport
import Testing

@testable import Assay

/// Compares Assay's answers with those of Apple's endpoint.
@Suite struct VerifyReceiptTests {
    private static let now = AppleTransactionReceiptTests.now
    /// Members that only Apple's servers know.
    private static let serverMembers: Set<String> = [
        "in_app_ownership_type", "subscription_group_identifier", "is_upgraded",
        "offer_code_ref_name", "app_account_token",
    ]

    private struct Response {
        let name: String
        let json: JSONValue
        /// The latest receipt in the response.
        let latest: String?
    }

    private static func responses() throws -> [Response] {
        try Vectors.files(in: "sk1/responses", suffix: ".json").compactMap { name in
            let bytes = try #require(Vectors.bytes("sk1/responses/" + name))
            let document = try JSONDocument.parse(bytes, limit: 1 << 20)
            guard let json = document.root["response"] else { return nil }
            return Response(
                name: name, json: json,
                latest: document.root["latest_receipt_matches"]?.string)
        }
    }

    private static func answer(
        _ bytes: [UInt8], as kind: EvidenceKind, _ environments: Set<StoreEnvironment>,
        at requestDate: Timestamp = now
    ) throws -> JSONValue {
        let verification = Verifier(trust: .apple).verify(
            bytes.span, as: kind, policy: Policy(bundleId: nil, environments: environments),
            at: now)
        let text = verifyReceiptResponse(for: verification, requestDate: requestDate)
        return try JSONDocument.parse(text).root
    }

    private static func elements(_ json: JSONValue?) -> [JSONValue] {
        guard let elements = json?.elements else { return [] }
        return Array(elements)
    }

    /// Compares the members that a receipt contains: the same names, values and JSON types.
    @Test(.enabled(if: Vectors.has("sk1/responses", "sk1/unified")))
    func unifiedResponses() throws {
        var count = 0
        for response in try Self.responses() {
            guard let latest = response.latest else { continue }
            let receipt = try #require(Vectors.bytes("sk1/unified/\(latest).der"))
            let ours = try Self.answer(receipt, as: .appReceipt, [.sandbox, .production])
            for name in ["status", "environment"] {
                #expect(ours[name]?.raw == response.json[name]?.raw, "\(response.name): \(name)")
            }
            let theirs = response.json["receipt"]
            // Apple issued the receipt anew for this answer, so its creation date is the
            // request's time.
            for (name, value) in theirs?.members?.pairs ?? []
            where name != "in_app" && !name.hasPrefix("request_date")
                && !name.hasPrefix("receipt_creation_date")
            {
                let found = ours["receipt"]?[name]
                #expect(found?.raw == value.raw, "\(response.name): \(name)")
            }
            let purchases = Self.elements(response.json["latest_receipt_info"])
            let ids = purchases.map { $0["transaction_id"]?.string }
            for purchase in Self.elements(ours["receipt"]?["in_app"]) {
                guard let index = ids.firstIndex(of: purchase["transaction_id"]?.string) else {
                    continue
                }
                Self.compare(purchase, purchases[index], response.name)
                count += 1
            }
        }
        try Vectors.report("purchases of verifyReceipt responses", count)
    }

    /// Compares the members in Apple's order, without those that only its servers know.
    private static func compare(_ ours: JSONValue, _ theirs: JSONValue, _ name: String) {
        let expected = (theirs.members?.pairs ?? []).filter { !serverMembers.contains($0.0) }
        let found = ours.members?.pairs ?? []
        // Some publishers sorted the members.
        if expected.map(\.0).prefix(3) == ["quantity", "product_id", "transaction_id"] {
            #expect(found.map(\.0) == expected.map(\.0), "\(name)")
        } else {
            #expect(found.map(\.0).sorted() == expected.map(\.0).sorted(), "\(name)")
        }
        for (member, value) in expected {
            #expect(ours[member]?.raw == value.raw, "\(name): \(member)")
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/responses", "sk1/legacy")))
    func transactionReceiptResponse() throws {
        let receipt = try #require(Vectors.bytes("sk1/legacy/v2-sbx-demo-20151118.txt"))
        let response = try #require(
            try Self.responses().first { $0.name == "mbaasy-76260143.json" })
        let ours = try Self.answer(receipt, as: .transactionReceipt, [.sandbox])
        #expect(ours["status"]?.raw == response.json["status"]?.raw)
        #expect(ours["status"]?.int64 == 21006)
        let theirs = response.json["receipt"]?.members?.pairs ?? []
        #expect(theirs.count == 19)
        for (name, value) in theirs {
            #expect(ours["receipt"]?[name]?.raw == value.raw, "\(name)")
        }
        #expect(ours["receipt"]?.members?.pairs.count == 19)
        #expect(ours["environment"] == nil)
        // Expiry is exact to the millisecond.
        for (date, status) in [(1_448_346_880_999, 0), (1_448_346_881_000, 21006)] {
            let answer = try Self.answer(
                receipt, as: .transactionReceipt, [.sandbox],
                at: Timestamp(milliseconds: Int64(date)))
            #expect(answer["status"]?.int64 == Int64(status))
            #expect(answer["receipt"]?["product_id"]?.string == "yearly")
        }
        let refused = try Self.answer(receipt, as: .transactionReceipt, [.production])
        #expect(refused["status"]?.int64 == 21007)
        #expect(refused["receipt"] == nil)
        try Vectors.report("transaction receipt's response", 1)
    }

    /// Checks the three forms of every date in the responses.
    @Test(.enabled(if: Vectors.has("sk1/responses")))
    func dates() throws {
        // Written by hand by their publishers.
        let mock: Set<String> = [
            "nov-199d7bbc.json", "nov-61265c16.json", "nov-9954a4b6.json", "nov-c2d6deb7.json",
        ]
        var count = 0
        func walk(_ json: JSONValue, _ name: String) {
            for element in Self.elements(json) { walk(element, name) }
            for (member, value) in json.members?.pairs ?? [] {
                walk(value, name)
                guard member.hasSuffix("_pst"), let pacific = value.string,
                    let gmt = json[String(member.dropLast(4))]?.string
                else { continue }
                let text = Array(gmt.utf8)
                guard let date = try? ReceiptDate.parseGMT(text.span) else {
                    #expect(mock.contains(name), "\(name): \(member)")
                    continue
                }
                #expect(VerifyReceiptDate.gmt(date) == gmt)
                if !mock.contains(name) {
                    #expect(VerifyReceiptDate.pacific(date) == pacific, "\(name): \(member)")
                }
                count += 1
            }
        }
        for response in try Self.responses() { walk(response.json, response.name) }
        try Vectors.report("dates of verifyReceipt responses", count)
    }

    @Test func statuses() throws {
        let cases: [(Verdict, StoreEnvironment?, Int64)] = [
            (.malformed, nil, 21002), (.wrongKind, nil, 21002),
            (.unsupportedAlgorithm, nil, 21003), (.untrustedChain, nil, 21003),
            (.invalidChain, nil, 21003), (.wrongCertificatePurpose, nil, 21003),
            (.certificateExpired, nil, 21003), (.certificateRevoked, nil, 21003),
            (.invalidSignature, nil, 21003), (.invalidDate, nil, 21003),
            (.wrongEnvironment, .sandbox, 21007), (.wrongEnvironment, .production, 21008),
            (.wrongEnvironment, .xcode, 21003), (.wrongBundle, .production, 21003),
            (.wrongApp, .production, 21003), (.mismatch, .sandbox, 21003),
            // Without evidence no answer is valid.
            (.valid, .production, 21003),
        ]
        for (verdict, environment, status) in cases {
            let verification = Verification(
                verdict: verdict, detail: "why", environment: environment)
            let text = verifyReceiptResponse(for: verification, requestDate: Self.now)
            let detail = verdict == .valid ? "this is a payload, and no receipt" : "why"
            #expect(
                String(decoding: text, as: UTF8.self)
                    == "{\"status\":\(status),\"detail\":\"\(detail)\"}")
        }
        #expect(Set(cases.map(\.0)) == Set(Verdict.allCases))
    }

    @Test func unifiedShape() throws {
        var purchases = InAppPurchases()
        var purchase = InAppPurchaseReceipt()
        purchase.quantity = 1
        purchase.productId = "gold"
        purchase.transactionId = "1"
        purchase.webOrderLineItemId = 1_000_000_030_938_713
        purchase.isTrialPeriod = true
        purchase.isInIntroOfferPeriod = false
        purchase.cancellationDate = Timestamp(milliseconds: 1_406_193_060_000)
        purchase.cancellationReason = 1
        purchases.append(purchase)
        var receipt = AppReceipt()
        receipt.receiptType = "Production"
        receipt.adamId = 7
        receipt.downloadId = 504_427_454_456_956_077
        receipt.expirationDate = Timestamp(milliseconds: 1_388_534_400_000)
        receipt.inApp = purchases
        let verification = Verification(
            verdict: .valid, detail: "", environment: .production, evidence: .appReceipt(receipt))
        let text = verifyReceiptResponse(
            for: verification, requestDate: Timestamp(milliseconds: 1_700_000_000_001))
        let expected = """
            {"status":0,"environment":"Production","receipt":{"receipt_type":"Production",\
            "adam_id":7,"app_item_id":7,"download_id":504427454456956077,\
            "request_date":"2023-11-14 22:13:20 Etc/GMT","request_date_ms":"1700000000001",\
            "request_date_pst":"2023-11-14 14:13:20 America/Los_Angeles",\
            "expiration_date":"2014-01-01 00:00:00 Etc/GMT","expiration_date_ms":"1388534400000",\
            "expiration_date_pst":"2013-12-31 16:00:00 America/Los_Angeles",\
            "in_app":[{"quantity":"1","product_id":"gold","transaction_id":"1",\
            "web_order_line_item_id":"1000000030938713","is_trial_period":"true",\
            "is_in_intro_offer_period":"false",\
            "cancellation_date":"2014-07-24 09:11:00 Etc/GMT",\
            "cancellation_date_ms":"1406193060000",\
            "cancellation_date_pst":"2014-07-24 02:11:00 America/Los_Angeles",\
            "cancellation_reason":"1"}]}}
            """
        #expect(String(decoding: text, as: UTF8.self) == expected)
    }

    /// JSON readers disagree about duplicate names.
    @Test func noMemberTwice() throws {
        let cases: [(members: [(String, String)], json: [String])] = [
            ([("product-id", "gold")], ["product_id=gold"]),
            ([("product_id", "gold")], ["product_id=gold"]),
            ([("product-id", "gold"), ("product_id", "lead")], ["product_id=gold"]),
            ([("product_id", "lead"), ("product-id", "gold")], ["product_id=gold"]),
            ([("a-b_c", "1"), ("a_b-c", "2")], ["a_b_c=1"]),
            ([("a-b_c", "1"), ("a_b_c", "2"), ("a-b-c", "3")], ["a_b_c=3"]),
            ([("a-b", "1"), ("a_c", "2"), ("a-b-", "3")], ["a_b=1", "a_c=2", "a_b_=3"]),
        ]
        for (members, expected) in cases {
            let receipt = TransactionReceipt(
                members: members.map { TransactionReceipt.Member(name: $0.0, value: $0.1) },
                environment: .production, signatureVersion: 3)
            var answer = Verification(verdict: .valid, detail: "-", kind: .transactionReceipt)
            answer.evidence = .transactionReceipt(receipt)
            let text = verifyReceiptResponse(for: answer, requestDate: Self.now)
            // The parser rejects duplicate names.
            let json = try JSONDocument.parse(text).root["receipt"]
            let found = json?.members?.pairs.map { "\($0.0)=\($0.1.string ?? "-")" }
            #expect(found == expected)
        }
    }

    @Test func datesBeforeTheYear0000InPacificTime() throws {
        func date(_ text: String) throws -> Timestamp? {
            try ReceiptDate.parse(Array(text.utf8).span)
        }
        let first = try #require(try date("0000-01-01T00:00:00Z"))
        #expect(VerifyReceiptDate.gmt(first) == "0000-01-01 00:00:00 Etc/GMT")
        #expect(VerifyReceiptDate.pacific(first) == "-0001-12-31 16:00:00 America/Los_Angeles")
        let later = first.advanced(by: 8 * 3_600_000)
        #expect(VerifyReceiptDate.pacific(later) == "0000-01-01 00:00:00 America/Los_Angeles")
        let last = try #require(try date("9999-12-31T23:59:59Z"))
        #expect(VerifyReceiptDate.pacific(last) == "9999-12-31 15:59:59 America/Los_Angeles")
        #expect(first.advanced(by: -1000).rfc3339 == "-0001-12-31T23:59:59Z")
    }
}
