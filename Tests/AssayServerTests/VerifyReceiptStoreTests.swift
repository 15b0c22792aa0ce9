import Assay
import AssayBytes
import AssayEntitlements
import AssayIO
@testable import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
import Foundation
import TestSupport
import Testing

/// Answers of verifyReceipt that the App Store's answers complete. The App Store is a script.
@Suite("verifyReceipt and the App Store", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct VerifyReceiptStoreTests {
    private static let path = "/sandbox/verifyReceipt"
    private static let secret = "0123456789abcdef0123456789abcdef"

    /// A sandbox receipt with the first period of the subscription of `Minted.period`.
    ///
    /// - Parameter others: the number of further records.
    private static func receipt(
        renews: Bool = true, others: Int = 0, bundleId: String = Minted.bundleId
    ) throws -> [UInt8] {
        let sample = ReceiptSample(bundleId: bundleId, creationDate: Minted.now)
        let bought = Timestamp(milliseconds: Minted.now.milliseconds - 1_000)
        var payload = ReceiptPayload()
        for attribute in sample.attributes { payload.append(attribute) }
        var purchase = SamplePurchase(
            productId: "premium", transactionId: "47000", originalTransactionId: "47000",
            purchaseDate: bought, originalPurchaseDate: bought,
            expiresDate: Timestamp(milliseconds: bought.milliseconds + 60_000),
            webOrderLineItemId: 7, productType: renews ? 3 : 0, isTrialPeriod: false)
        payload.append(purchase)
        purchase.productType = 0
        for number in 0..<others {
            purchase.transactionId = String(90_000 + number)
            purchase.originalTransactionId = purchase.transactionId
            payload.append(purchase)
        }
        return try ReceiptMinter(Minted.receiptCA.get().chain).sign(payload.bytes)
    }

    private static func post(
        _ receipt: [UInt8], _ members: String = "", to path: String = path
    ) -> [UInt8] {
        let base64 = Data(receipt).base64EncodedString()
        return HTTPClient.post(path, json: #"{"receipt-data":"\#(base64)"\#(members)}"#)
    }

    /// The App Store's answer: these periods, and that the subscription does not renew.
    private static func found(
        _ periods: [Int] = [1, 0], account: Int = 1, in environment: StoreEnvironment = .sandbox
    ) throws(FetchError) -> CustomerState {
        let renewal = """
            {"originalTransactionId":"\(46_000 + account * 1_000)","autoRenewStatus":0,\
            "autoRenewProductId":"premium","productId":"premium","environment":"Sandbox",\
            "signedDate":\(Minted.now.milliseconds)}
            """
        do {
            let verifier = try Minted.verifier()
            func item(_ token: [UInt8], _ kind: EvidenceKind) -> EvidenceItem {
                EvidenceItem(
                    verifier.verify(token.span, as: kind, policy: Minted.policy, at: Minted.now))
            }
            var items = try periods.map {
                item(try Minted.period($0, account: account), .transaction)
            }
            let minter = Minter(try Minted.authority.get().chain)
            items.append(item(try minter.sign(Array(renewal.utf8)), .renewalInfo))
            return CustomerState(
                environment: environment, revision: nil, items: items,
                entitlements: Entitlements(of: items, at: Minted.now))
        } catch {
            throw FetchError(.unavailable, "nothing was minted")
        }
    }

    /// Lets the app of the tests ask.
    private static func with(
        _ fetcher: ScriptedFetcher?, _ secrets: AppSecrets = AppSecrets(),
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (TestServer, TestAddress) throws -> Void
    ) throws {
        let entry = AppEntry(
            verifier: try Minted.verifier(), policy: Minted.policy, secrets: secrets,
            fetcher: fetcher)
        try withHTTPServer {
            $0.apps = ["game": entry]
            change(&$0)
        } _: { test, endpoint in
            try body(test, endpoint)
        }
    }

    private static func ids(_ response: HTTPClient.Response, _ list: String...) throws -> [String] {
        var value: JSONValue? = try JSONDocument.parse(response.body, limit: .max).root
        for name in list { value = value?[name] }
        return value?.elements?.compactMap { $0["transaction_id"]?.string } ?? []
    }

    @Test("Renewals since, the renewal state, and the receipt that was sent")
    func fills() throws {
        let fetcher = ScriptedFetcher { _ throws(FetchError) in try Self.found() }
        let receipt = try Self.receipt()
        try Self.with(fetcher) { _, endpoint in
            let client = try HTTPClient(endpoint)
            let all = try client.ask(Self.post(receipt))
            #expect(all.status == 200 && all.member("status") == "0", "\(all.text)")
            #expect(try Self.ids(all, "latest_receipt_info").sorted() == ["47000", "47001"])
            #expect(try Self.ids(all, "receipt", "in_app") == ["47000"])
            #expect(all.member("latest_receipt") == Data(receipt).base64EncodedString())
            #expect(
                all.member("pending_renewal_info")
                    == #"[{"auto_renew_product_id":"premium","product_id":"premium","#
                    + #""original_transaction_id":"47000","auto_renew_status":"0"}]"#)
            #expect(all.member("assay") == #"{"latest":"app-store"}"#)
            let newest = try client.ask(
                Self.post(receipt, #","exclude-old-transactions":true"#))
            #expect(try Self.ids(newest, "latest_receipt_info") == ["47001"])
            // As Apple's clients send it: in lines, and with escapes.
            let lines = Data(receipt).base64EncodedString(options: .lineLength76Characters)
                .replacing("\r\n", with: "\\r\\n").replacing("/", with: "\\/")
            let other = try client.ask(
                HTTPClient.post(Self.path, json: #"{"receipt-data":"\#(lines)"}"#))
            #expect(other.member("latest_receipt") == Data(receipt).base64EncodedString())
        }
        let asked = fetcher.asked.map(\.query)
        #expect(asked.map(\.transactionId) == ["47000", "47000", "47000"])
        #expect(asked.map(\.lists) == [.all, .statuses, .all])
        let timeouts = fetcher.asked.map(\.timeout)
        #expect(timeouts.allSatisfy { $0 <= .seconds(30) && $0 > .seconds(20) })
    }

    @Test("A receipt that is verified as it arrives is filled too, without its own text")
    func streams() throws {
        let fetcher = ScriptedFetcher { _ throws(FetchError) in try Self.found() }
        try Self.with(fetcher) {
            $0.limits.httpJSONBytes = 64 << 10
            $0.limits.frameBytes = 2 << 20
        } _: { _, endpoint in
            let response = try HTTPClient(endpoint).ask(
                Self.post(try Self.receipt(others: 400)))
            #expect(response.member("status") == "0", "\(response.text.prefix(300))")
            #expect(response.member("assay") == #"{"latest":"app-store"}"#)
            #expect(response.member("latest_receipt") == nil)
            #expect(try Self.ids(response, "latest_receipt_info").count == 402)
        }
        #expect(fetcher.asked.count == 1)
    }

    @Test("The App Store is asked for valid receipts with a subscription alone")
    func notAsked() throws {
        let fetcher = ScriptedFetcher { _ throws(FetchError) in try Self.found() }
        var broken = try Self.receipt()
        broken[broken.count - 20] ^= 1
        let password = #","password":"\#(Self.secret)""#
        let rows: [(what: String, request: [UInt8], status: String)] = [
            ("no subscription", Self.post(try Self.receipt(renews: false), password), "0"),
            ("a changed signature", Self.post(broken, password), "21003"),
            (
                "another app", Self.post(try Self.receipt(bundleId: "com.example.b"), password),
                "21003"
            ),
            (
                "the other path",
                Self.post(try Self.receipt(), password, to: "/verifyReceipt"), "21007"
            ),
            ("no password", Self.post(try Self.receipt()), "21004"),
            ("no receipt", HTTPClient.post(Self.path, json: "{}"), "21002"),
        ]
        try Self.with(fetcher, AppSecrets(sharedSecret: Self.secret)) { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (what, request, status) in rows {
                let response = try client.ask(request)
                #expect(response.member("status") == status, "\(what)")
                #expect(response.member("assay") == nil, "\(what)")
                #expect(response.member("latest_receipt_info") == nil, "\(what)")
            }
            // Other forms of the answer are those of the receipt.
            let report = try client.ask(
                HTTPClient.post(
                    "/v1/verify?kind=app-receipt&returns=verify-receipt", try Self.receipt()))
            #expect(report.member("status") == "0" && report.member("assay") == nil)
        }
        #expect(fetcher.asked.isEmpty)
    }

    @Test("Without a key, or a password where Fetch needs one, the answer says so")
    func withoutKey() throws {
        let fetcher = ScriptedFetcher { _ throws(FetchError) in try Self.found() }
        let keys = ["a key of twenty bytes"]
        let rows: [(ScriptedFetcher?, AppSecrets, isAsked: Bool)] = [
            (nil, AppSecrets(), false), (fetcher, AppSecrets(fetchKeys: keys), false),
            (fetcher, AppSecrets(sharedSecret: Self.secret, fetchKeys: keys), true),
            (fetcher, AppSecrets(sharedSecret: Self.secret), true), (fetcher, AppSecrets(), true),
        ]
        let request = Self.post(try Self.receipt(), #","password":"\#(Self.secret)""#)
        for (fetcher, secrets, isAsked) in rows {
            try Self.with(fetcher, secrets) { _, endpoint in
                let response = try HTTPClient(endpoint).ask(request)
                #expect(response.member("status") == "0")
                let list = try Self.ids(response, "latest_receipt_info")
                #expect(list.count == (isAsked ? 2 : 1))
                let source = response.member("assay") ?? ""
                #expect(source.contains(isAsked ? "app-store" : "[app.store]"), "\(source)")
                #expect((response.member("latest_receipt") != nil) == isAsked)
                #expect((response.member("pending_renewal_info") != nil) == isAsked)
            }
        }
    }

    @Test("A failure of the App Store is retryable: it gives and takes nothing")
    func failures() throws {
        for reason in FetchError.Reason.all {
            for (code, deleted) in [(nil, false), (4_040_002, false), (4_040_001, true)]
                as [(Int64?, Bool)]
            {
                let fetcher = ScriptedFetcher { _ throws(FetchError) in
                    throw FetchError(reason, "because", appStoreCode: code)
                }
                try Self.with(fetcher) { test, endpoint in
                    let client = try HTTPClient(endpoint)
                    let response = try client.ask(Self.post(try Self.receipt()))
                    #expect(response.status == 200, "\(reason)")
                    if reason == .unknownTransaction {
                        // Nothing newer is known of it, also later.
                        #expect(response.member("status") == "0")
                        #expect(try Self.ids(response, "latest_receipt_info") == ["47000"])
                        #expect(response.member("assay")?.contains("does not know") == true)
                        return
                    }
                    let status = deleted ? "21010" : "21199"
                    #expect(response.member("status") == status, "\(reason): \(response.text)")
                    #expect(response.member("is-retryable") == (deleted ? nil : "true"))
                    #expect(response.member("detail")?.hasSuffix("but because") == true)
                    for name in ["receipt", "latest_receipt_info", "assay"] {
                        #expect(response.member(name) == nil)
                    }
                    try client.expectHealth()
                }
            }
        }
    }

    @Test("An answer about another environment, or without the subscription, is not used")
    func otherAnswers() throws {
        let table: [(text: String, ScriptedFetcher)] = [
            (
                "does not know",
                ScriptedFetcher { _ throws(FetchError) in try Self.found(in: .production) }
            ),
            ("lacks", ScriptedFetcher { _ throws(FetchError) in try Self.found([]) }),
            ("lacks", ScriptedFetcher { _ throws(FetchError) in try Self.found(account: 2) }),
        ]
        for (text, fetcher) in table {
            try Self.with(fetcher) { _, endpoint in
                let response = try HTTPClient(endpoint).ask(Self.post(try Self.receipt()))
                #expect(response.member("status") == "0")
                #expect(try Self.ids(response, "latest_receipt_info") == ["47000"])
                #expect(response.member("pending_renewal_info") == nil)
                #expect(response.member("assay")?.contains(text) == true)
            }
        }
    }

    @Test("The App Store keeps no other request waiting, and a deadline ends the wait")
    func deadline() throws {
        let held = HeldFetches()
        let fetcher = ScriptedFetcher { _ async throws(FetchError) in
            try await held.wait()
            return try Self.found()
        }
        try Self.with(fetcher) {
            $0.limits.fetches = 2
            $0.limits.idleMilliseconds = 1_000_000
        } _: { test, endpoint in
            defer { held.release() }
            let request = Self.post(try Self.receipt())
            let client = try HTTPClient(endpoint)
            try client.send(request)
            test.eventually { $0.fetches == 1 && $0.requestsInFlight == 1 }
            let other = try HTTPClient(endpoint)
            try other.expectHealth()
            let plain = try other.ask(Self.post(try Self.receipt(renews: false)))
            #expect(plain.member("status") == "0")
            // The slots are those of Fetch.
            try other.send(request)
            test.eventually { $0.fetches == 2 }
            let third = try HTTPClient(endpoint)
            let refused = try third.ask(request)
            #expect(refused.status == 429 && refused.member("status") == "21005")
            #expect(refused.field("retry-after") == "1")
            test.server.advanceClock(byMilliseconds: 31_000)
            for client in [client, other] {
                let late = try #require(try client.receive())
                #expect(late.status == 200 && late.member("status") == "21199")
                try client.expectHealth()
            }
            test.eventually { $0.fetches == 0 && $0.requestsInFlight == 0 }
            #expect(held.cancelled == 2)
        }
    }

    @Test("A client that leaves cancels the question")
    func leaves() throws {
        let held = HeldFetches()
        let fetcher = ScriptedFetcher { _ async throws(FetchError) in
            try await held.wait()
            return try Self.found()
        }
        try Self.with(fetcher) { test, endpoint in
            let client = try HTTPClient(endpoint)
            try client.send(Self.post(try Self.receipt()))
            test.eventually { $0.fetches == 1 }
            client.socket.reset()
            test.eventually { $0.fetches == 0 && $0.requestsInFlight == 0 }
            #expect(held.cancelled == 1)
        }
    }

    @Test("The answers of the App Store are counted in the memory of fetches")
    func memory() throws {
        let granted = Locked<[Bool]>([])
        let fetcher = ScriptedFetcher { question async throws(FetchError) in
            for bytes in [1 << 10, 1 << 40] {
                let isGranted = await question.hold(bytes)
                granted.withLock { $0.append(isGranted) }
            }
            throw FetchError(.cancelled, "no memory")
        }
        try Self.with(fetcher) { test, endpoint in
            let client = try HTTPClient(endpoint)
            let response = try client.ask(Self.post(try Self.receipt()))
            #expect(response.status == 200 && response.member("status") == "21199")
            #expect(response.member("is-retryable") == "true")
            test.eventually { $0.fetches == 0 }
            #expect(granted.withLock { $0 } == [true, false])
            try client.expectHealth()
        }
    }
}
