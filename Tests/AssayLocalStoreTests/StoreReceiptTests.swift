import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

/// `/verifyReceipt` of the local store, and the receipts of its customers.
@Suite("local store: verifyReceipt")
struct StoreReceiptTests {
    private static func store(
        _ scenarios: String..., sharedSecret: String? = nil
    ) throws -> TestStore {
        var store = try TestStore(notifies: false, hasReceipts: true, sharedSecret: sharedSecret)
        for name in scenarios { try store.add(name) }
        return store
    }

    private static func receipt(_ store: inout TestStore, _ customer: Int = 1) throws -> String {
        let answer = store.get("/customers/\(customer)/receipt")
        #expect(answer.status == 200)
        return String(decoding: answer.body, as: UTF8.self)
    }

    private static func verify(
        _ receipt: String, _ store: inout TestStore, _ members: String = "", sandbox: Bool = false
    ) throws -> JSONValue {
        let answer = store.send(
            .post, (sandbox ? "/sandbox" : "") + "/verifyReceipt",
            "{\"receipt-data\":\"\(receipt)\"\(members)}")
        #expect(answer.status == 200)
        return try answer.json
    }

    private static func ids(_ list: JSONValue?) -> [String] {
        (list?.elements.map(Array.init) ?? []).compactMap { $0["transaction_id"]?.string }
    }

    private static func short(_ ids: [String]) -> [String] { ids.map { String($0.suffix(3)) } }

    // MARK: Statuses

    @Test("each status that a request can cause")
    func statuses() throws {
        var store = try Self.store("subscribe", sharedSecret: "secret")
        try store.add("subscribe", .sandbox)
        let production = try Self.receipt(&store)
        let sandbox = try Self.receipt(&store, 2)
        let minter = ReceiptMinter(try TestStore.receiptAuthority.get().chain)
        let unknown = ReceiptSample(
            bundleId: "com.example.game", environment: .production, creationDate: TestStore.start)
        let other = ReceiptSample(
            bundleId: "com.example.other", environment: .production, creationDate: TestStore.start)
        func text(_ sample: ReceiptSample) throws -> String {
            var sample = sample
            sample.seed = 77
            return String(
                decoding: ReceiptMinter.base64(try minter.sign(sample.payload)), as: UTF8.self)
        }
        let password = ",\"password\":\"secret\""
        for (path, receipt, members, status) in [
            ("/verifyReceipt", production, password, 0),
            ("/sandbox/verifyReceipt", sandbox, password, 0),
            ("/verifyReceipt", production, "", 21004),
            ("/verifyReceipt", production, ",\"password\":\"Secret\"", 21004),
            ("/verifyReceipt", production, ",\"password\":1", 21004),
            ("/verifyReceipt", sandbox, password, 21007),
            ("/sandbox/verifyReceipt", production, password, 21008),
            ("/verifyReceipt", "", password, 21002), ("/verifyReceipt", "AAAA", password, 21002),
            ("/verifyReceipt", String(production.dropLast(8)), password, 21002),
            ("/verifyReceipt", try text(unknown), password, 21010),
            ("/verifyReceipt", try text(other), password, 21003),
        ] {
            let answer = store.send(
                .post, path, "{\"receipt-data\":\"\(receipt)\"\(members)}")
            #expect(answer.status == 200)
            let json = try answer.json
            #expect(json["status"]?.int64 == Int64(status), "\(json["detail"]?.string ?? "")")
            #expect((json["detail"] == nil) == (status == 0))
            #expect((json["receipt"] == nil) == (status != 0))
        }
        for (method, body, status) in [
            (.get, "", 21000), (.put, "{}", 21000), (.post, "", 21002), (.post, "[]", 21002),
            (.post, "{}", 21002), (.post, "{\"receipt-data\":1}", 21002),
        ] as [(StoreMethod, String, Int64)] {
            let answer = store.send(method, "/verifyReceipt", body)
            #expect(answer.status == 200)
            #expect(try answer.json["status"]?.int64 == status, "\(method) \(body)")
        }
        #expect(store.get("/verifyReceipts").status == 404)
        let log = try store.get("/requests").json["requests"]?.elements.map(Array.init) ?? []
        #expect(log.contains { $0["note"]?.string?.contains("--shared-secret") == true })
    }

    @Test("faults cause every status of Apple's, one request each")
    func faults() throws {
        var store = try Self.store("subscribe")
        let receipt = try Self.receipt(&store)
        for code in Array(21_002...21_010) + [21_000, 21_100, 21_199] {
            let fault = "{\"endpoint\":\"verify-receipt\",\"code\":\(code)}"
            #expect(store.send(.post, "/faults", fault).status == 200)
            let json = try Self.verify(receipt, &store)
            #expect(json["status"]?.int64 == Int64(code))
            #expect((json["is-retryable"]?.bool == true) == (code >= 21_100))
            #expect(try Self.verify(receipt, &store)["status"]?.int64 == 0)
        }
        for body in [
            #"{"endpoint":"verify-receipt","code":4040010}"#, #"{"code":21005}"#,
            #"{"endpoint":"history","code":21005}"#,
            #"{"endpoint":"verify-receipt","code":21200}"#,
        ] { #expect(store.send(.post, "/faults", body).status == 400, "\(body)") }
        let outage = #"{"endpoint":"verify-receipt","environment":"Sandbox","status":503}"#
        #expect(store.send(.post, "/faults", outage).status == 200)
        #expect(store.send(.post, "/sandbox/verifyReceipt", "{}").status == 503)
    }

    @Test("without an authority for receipts there are none")
    func noAuthority() throws {
        var store = try TestStore("subscribe")
        #expect(store.get("/customers/1/receipt").status == 400)
        let answer = store.send(.post, "/verifyReceipt", "{}")
        #expect(try answer.json["status"]?.int64 == 21009)
    }

    // MARK: A life

    @Test("an old receipt brings what happened since, and a new one to send")
    func life() throws {
        var store = try Self.store("customers-life")
        let first = try Self.receipt(&store)
        var json = try Self.verify(first, &store)
        #expect(Self.short(Self.ids(json["receipt"]?["in_app"])) == ["100"])
        #expect(json["latest_receipt_info"]?.elements.map { Array($0).count } == 1)
        var pending = json["pending_renewal_info"]?.elements.map { Array($0) }?.first
        #expect(pending?["auto_renew_status"]?.string == "1")
        #expect(pending?["is_in_billing_retry_period"] == nil)
        try store.advance("38d")
        json = try Self.verify(first, &store)
        #expect(Self.short(Self.ids(json["receipt"]?["in_app"])) == ["100"])
        #expect(Self.short(Self.ids(json["latest_receipt_info"])) == ["101", "100"])
        pending = json["pending_renewal_info"]?.elements.map { Array($0) }?.first
        #expect(pending?["is_in_billing_retry_period"]?.string == "1")
        #expect(pending?["expiration_intent"]?.string == "2")
        #expect(pending?["grace_period_expires_date_ms"] != nil)
        let second = try #require(json["latest_receipt"]?.string)
        try store.advance("30d")
        json = try Self.verify(second, &store)
        #expect(Self.short(Self.ids(json["receipt"]?["in_app"])) == ["100", "101"])
        let list = json["latest_receipt_info"]?.elements.map(Array.init) ?? []
        #expect(list.count == 3)
        // The last period was refunded.
        #expect(list.map { $0["cancellation_date_ms"] != nil } == [true, false, false])
        #expect(list.map { $0["is_trial_period"]?.string } == ["false", "false", "true"])
        for name in ["in_app_ownership_type", "subscription_group_identifier"] {
            #expect(list[0][name]?.string?.isEmpty == false, "\(name)")
        }
        json = try Self.verify(first, &store, ",\"exclude-old-transactions\":true")
        #expect(json["latest_receipt_info"]?.elements.map { Array($0).count } == 1)
        #expect(json["environment"]?.string == "Production" && json["status"]?.int64 == 0)
    }

    @Test("an upgrade is a cancellation with is_upgraded")
    func upgrade() throws {
        var store = try Self.store("v1-upgrade")
        try store.advance("11d")
        let json = try Self.verify(try Self.receipt(&store), &store)
        let list = json["latest_receipt_info"]?.elements.map(Array.init) ?? []
        #expect(list.map { $0["is_upgraded"]?.string } == [nil, "true"])
        let bought = list[0]["purchase_date_ms"]?.string
        #expect(list[1]["cancellation_date_ms"]?.string == bought && bought != nil)
    }

    @Test("the hundred newest transactions are listed")
    func hundred() throws {
        let renewals = (1...120).map { number in
            """
            {"at":"\(number)d","title":"renews","transactions":{"\(1000 + number)":\
            {"originalTransactionId":"1000","expiresDate":"\(number + 1)d"}}}
            """
        }
        let file = """
            {"name":"long","summary":"A long life.","steps":[{"at":"0d","title":"buys",\
            "transactions":{"1000":{"productId":"premium.monthly","expiresDate":"1d"}},\
            "expect":{}},\(renewals.joined(separator: ","))]}
            """
        var store = try Self.store()
        let added = store.send(.post, "/customers", "{\"scenario\":\(file)}")
        #expect(added.status == 201, "\(String(decoding: added.body, as: UTF8.self))")
        for (days, count, newest, oldest) in [
            ("98d", 99, "1098", "1000"), ("1d", 100, "1099", "1000"), ("1d", 100, "1100", "1001"),
            ("20d", 100, "1120", "1021"),
        ] {
            try store.advance(days)
            let json = try Self.verify(try Self.receipt(&store), &store)
            let ids = Self.ids(json["latest_receipt_info"]).map { String($0.suffix(4)) }
            #expect(ids.count == count && ids.first == newest && ids.last == oldest, "\(days)")
        }
    }

    @Test("without an auto-renewable subscription only the receipt is there")
    func consumables() throws {
        var store = try Self.store("consumable")
        try store.add("consumable", .sandbox)
        for (customer, path) in [(1, ""), (2, "/sandbox")] {
            let json = try Self.verify(
                try Self.receipt(&store, customer), &store, sandbox: !path.isEmpty)
            #expect(json["status"]?.int64 == 0)
            let bought = Self.ids(json["receipt"]?["in_app"])
            #expect(bought.count == 1)
            for name in ["latest_receipt_info", "latest_receipt", "pending_renewal_info"] {
                #expect(json[name] == nil, "\(name)")
            }
            // A consumable that the app has finished leaves the receipt.
            let finish = "\(path)/inApps/v1/transactions/\(bought[0])/finish"
            #expect(store.send(.post, finish).status == 200)
            let later = try Self.verify(
                try Self.receipt(&store, customer), &store, sandbox: !path.isEmpty)
            #expect(Self.ids(later["receipt"]?["in_app"]) == [])
        }
    }

    // MARK: Transaction receipts

    @Test("a transaction receipt brings the latest period, and 21006 when its own is over")
    func transactionReceipts() throws {
        var store = try Self.store("v1-did-renew")
        try store.add("v1-did-renew", .sandbox)
        func receipt(_ customer: Int, _ id: String) -> String {
            let answer = store.get("/customers/\(customer)/receipt?transactionId=\(id)")
            #expect(answer.status == 200)
            return String(decoding: answer.body, as: UTF8.self)
        }
        let ids = [(1, "470001000000100"), (2, "2000000000200100")]
        let old = ids.map { receipt($0.0, $0.1) }
        for (advance, status, latest, isOver) in [
            ("1d", 0, "100", false), ("29d", 21006, "101", false), ("30d", 21006, "101", true),
        ] as [(String, Int64, String, Bool)] {
            try store.advance(advance)
            for (index, isSandbox) in [(0, false), (1, true)] {
                let json = try Self.verify(old[index], &store, sandbox: isSandbox)
                #expect(json["status"]?.int64 == status, "\(json["detail"]?.string ?? "")")
                #expect(json["receipt"]?["bid"]?.string == "com.example.game")
                #expect(json["receipt"]?["transaction_id"]?.string == ids[index].1)
                let found = json[isOver ? "latest_expired_receipt_info" : "latest_receipt_info"]
                #expect(found?["transaction_id"]?.string?.hasSuffix(latest) == true)
                #expect((json["latest_receipt"] == nil) == isOver)
                #expect(json["auto_renew_status"]?.int64 == 1)
                let wrong = try Self.verify(old[index], &store, sandbox: !isSandbox)
                #expect(wrong["status"]?.int64 == (isSandbox ? 21007 : 21008))
            }
        }
        #expect(store.get("/customers/1/receipt?transactionId=1").status == 404)
        for path in ["/customers/9/receipt", "/customers/x/receipt", "/customers/1/receipt?a=b"] {
            #expect(store.get(path).status == 400, "\(path)")
        }
    }
}
