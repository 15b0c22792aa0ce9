import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

/// What a test does with a customer beyond its scenario.
@Suite("local store: calls about a customer")
struct StoreCustomerTests {
    private static let id = "470001000000100"

    private static func types(_ store: TestStore) throws -> [String] {
        try store.posted.map { body in
            let members = try notification(body)
            return [members["notificationType"]?.string, members["subtype"]?.string]
                .compactMap(\.self).joined(separator: " ")
        }
    }

    private static func transactions(_ answer: TestStore.Answer) throws -> [JSONValue] {
        try answer.json["transactions"]?.elements.map(Array.init) ?? []
    }

    @Test("a removed customer is found nowhere, and its number stays taken")
    func removal() throws {
        var store = try TestStore("grace-period", hasReceipts: true)
        let receipt = String(decoding: store.get("/customers/1/receipt").body, as: UTF8.self)
        let body = "{\"receipt-data\":\"\(receipt)\"}"
        #expect(try store.send(.post, "/verifyReceipt", body).json["status"]?.int64 == 0)
        #expect(store.send(.delete, "/customers/1").status == 200)
        #expect(try store.send(.post, "/verifyReceipt", body).json["status"]?.int64 == 21010)
        #expect(store.get("/inApps/v1/transactions/\(Self.id)").code == 4_040_010)
        let app = "704289572310000001"
        #expect(store.get("/inApps/v1/subscriptions/\(app)").code != nil)
        #expect(
            try store.get("/customers").json["customers"]?.elements.map { Array($0).count } == 0)
        for (method, path) in [
            (.delete, "/customers/1"), (.get, "/customers/1/receipt"),
            (.post, "/customers/1/reset"),
        ] as [(StoreMethod, String)] {
            #expect(store.send(method, path, "{}").status == 400, "\(path)")
        }
        // The payment that would have failed does not happen.
        try store.advance("60d")
        #expect(try Self.types(store) == ["SUBSCRIBED INITIAL_BUY"])
        let next = store.send(.post, "/customers", "{\"scenario\":\"subscribe\"}")
        #expect(try next.json["customer"]?.int64 == 2)
    }

    @Test("a reset begins the life anew, with other identifiers")
    func reset() throws {
        var store = try TestStore("refund", hasReceipts: true)
        try store.advance("6d")
        let receipt = String(decoding: store.get("/customers/1/receipt").body, as: UTF8.self)
        let answer = store.send(.post, "/customers/1/reset", "{}")
        let list = try Self.transactions(answer)
        #expect(list.map { $0["transactionId"]?.string } == ["470002000000100"])
        #expect(list.map { $0["revocationDate"] == nil } == [true])
        #expect(store.get("/inApps/v1/transactions/\(Self.id)").code == 4_040_010)
        let old = store.send(.post, "/verifyReceipt", "{\"receipt-data\":\"\(receipt)\"}")
        #expect(try old.json["status"]?.int64 == 21010)
        try store.advance("6d")
        #expect(
            try Self.types(store) == [
                "SUBSCRIBED INITIAL_BUY", "REFUND", "SUBSCRIBED INITIAL_BUY", "REFUND",
            ])
    }

    @Test("later purchases have the storefront to which the customer changed")
    func storefront() throws {
        var store = try TestStore("subscribe")
        let changed = store.send(
            .post, "/customers/1/storefront", "{\"storefront\":\"DEU\"}")
        #expect(try changed.json["storefront"]?.string == "DEU")
        let bought = store.send(
            .post, "/customers/1/purchases", "{\"productId\":\"world.2\"}")
        let ids = try Self.transactions(bought).compactMap { $0["transactionId"]?.string }
        #expect(ids == [Self.id, "470001000090001"])
        for (id, storefront, currency) in [(ids[0], "USA", "USD"), (ids[1], "DEU", "EUR")] {
            let answer = store.get("/inApps/v1/transactions/\(id)")
            let members = try payload(answer.json["signedTransactionInfo"]?.string ?? "")
            #expect(members["storefront"]?.string == storefront)
            #expect(members["currency"]?.string == currency)
        }
        for body in ["{}", "{\"storefront\":\"XXX\"}", "{\"country\":\"DEU\"}"] {
            #expect(store.send(.post, "/customers/1/storefront", body).status == 400, "\(body)")
        }
    }

    @Test("purchases beyond the scenario: single ones, an upgrade, and a new period")
    func purchases() throws {
        var store = try TestStore("subscribe")
        func buy(_ product: String) -> Int {
            store.send(.post, "/customers/1/purchases", "{\"productId\":\"\(product)\"}").status
        }
        try store.advance("1d")
        #expect(buy("gold.100") == 201 && buy("gold.100") == 201)
        #expect(buy("premium.monthly") == 400)  // in force already
        #expect(buy("pro.monthly") == 201)
        #expect(buy("none") == 400)
        try store.advance("40d")
        #expect(buy("basic.monthly") == 201)
        #expect(
            try Self.types(store) == [
                "SUBSCRIBED INITIAL_BUY", "ONE_TIME_CHARGE", "ONE_TIME_CHARGE",
                "DID_CHANGE_RENEWAL_PREF UPGRADE", "SUBSCRIBED RESUBSCRIBE",
            ])
        let answer = store.get("/inApps/v1/transactions/\(Self.id)")
        let members = try payload(answer.json["signedTransactionInfo"]?.string ?? "")
        #expect(members["isUpgraded"]?.bool == true)
    }

    @Test("a pending or interrupted purchase is one when it is completed")
    func waiting() throws {
        for reason in ["pending", "interrupted"] {
            var store = try TestStore("subscribe")
            let path = "/customers/1/purchases"
            let begun = store.send(
                .post, path, "{\"productId\":\"world.2\",\"waits\":\"\(reason)\"}")
            #expect(try Self.transactions(begun).count == 1)
            let waiting = try begun.json["waiting"]?.elements.map(Array.init) ?? []
            #expect(waiting.map { $0["waits"]?.string } == [reason])
            try store.advance("1d")
            #expect(try Self.types(store).count == 1)
            for (number, body) in [
                ("2", "{\"completed\":true}"), ("0", "{\"completed\":true}"), ("1", "{}"),
                ("x", "{\"completed\":true}"), ("1", "{\"completed\":\"true\"}"),
            ] { #expect(store.send(.post, "\(path)/\(number)", body).status == 400) }
            let declined = store.send(.post, path + "/1", "{\"completed\":false}")
            #expect(try Self.transactions(declined).count == 1)
            #expect(try declined.json["waiting"]?.elements.map { Array($0).count } == 0)
            _ = store.send(.post, path, "{\"productId\":\"world.2\",\"waits\":\"\(reason)\"}")
            let completed = store.send(.post, path + "/1", "{\"completed\":true}")
            let list = try Self.transactions(completed)
            #expect(list.count == 2)
            #expect(
                list[1]["purchaseDate"]?.int64 == TestStore.start.milliseconds + 86_400_000)
            #expect(try Self.types(store) == ["SUBSCRIBED INITIAL_BUY", "ONE_TIME_CHARGE"])
            #expect(
                store.send(.post, path, "{\"productId\":\"world.2\",\"waits\":\"x\"}").status
                    == 400)
        }
    }

    @Test("an accelerated life takes minutes: a month five, and a year an hour")
    func accelerated() throws {
        var store = try TestStore()
        let body = "{\"scenario\":\"billing-recovery\",\"environment\":\"Sandbox\""
        let added = store.send(.post, "/customers", body + ",\"accelerated\":true}")
        let first = try Self.transactions(added)[0]
        let (bought, ends) = (first["purchaseDate"]?.int64, first["expiresDate"]?.int64)
        #expect(ends.flatMap { ends in bought.map { ends - $0 } } == 300_000)
        try store.advance("5m")
        try store.advance("2m")
        #expect(
            try Self.types(store) == [
                "SUBSCRIBED INITIAL_BUY", "DID_FAIL_TO_RENEW", "DID_RENEW BILLING_RECOVERY",
            ])
        let yearly = store.send(
            .post, "/customers",
            "{\"scenario\":\"upgrade-of-a-year\",\"environment\":\"Sandbox\",\"accelerated\":true}")
        let year = try Self.transactions(yearly)[0]
        let length = (year["expiresDate"]?.int64 ?? 0) - (year["purchaseDate"]?.int64 ?? 0)
        #expect(length == 3_650_000)
        for wrong in [
            "{\"scenario\":\"refund\",\"accelerated\":true}",
            "{\"scenario\":\"refund\",\"environment\":\"Production\",\"accelerated\":true}",
            "{\"scenario\":\"refund\",\"fast\":true}",
            "{\"scenario\":\"refund\",\"environment\":\"Sandbox\",\"accelerated\":\"yes\"}",
            "{\"scenario\":\"refund\",\"environment\":\"Sandbox\",\"accelerated\":1}",
        ] { #expect(store.send(.post, "/customers", wrong).status == 400, "\(wrong)") }
    }
}
