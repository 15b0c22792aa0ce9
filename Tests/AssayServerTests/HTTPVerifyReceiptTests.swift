import Assay
import AssayBytes
import AssayIO
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry
import Foundation
import TestSupport
import Testing

/// Apple's contract at `/verifyReceipt` and `/sandbox/verifyReceipt`.
@Suite("verifyReceipt over HTTP", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HTTPVerifyReceiptTests {
    private static let secret = "0123456789abcdef0123456789abcdef"

    private static func body(_ receipt: [UInt8], _ members: String = "") -> [UInt8] {
        Array("{\"receipt-data\":\"\(Data(receipt).base64EncodedString())\"\(members)}".utf8)
    }

    private static func receipt(_ environment: StoreEnvironment) throws -> [UInt8] {
        let sample = ReceiptSample(
            bundleId: Minted.bundleId, appAppleId: environment == .production ? 9 : 0,
            environment: environment, creationDate: Minted.now)
        return try ReceiptMinter(Minted.receiptCA.get().chain).sign(sample.payload)
    }

    /// Runs a test against a server whose app accepts these environments.
    private static func with(
        _ environments: Set<StoreEnvironment> = [.production, .sandbox], secret: String? = nil,
        _ body: (HTTPClient) throws -> Void
    ) throws {
        let trust = try TrustStore.apple.pinning(
            Minted.receiptCA.get().rootCertificate, development: false)
        let entry = AppEntry(
            verifier: Verifier(trust: trust, keyTables: .never),
            policy: Policy(bundleId: Minted.bundleId, environments: environments),
            secrets: AppSecrets(sharedSecret: secret))
        try withHTTPServer {
            $0.apps = ["game": entry]
        } _: { test, endpoint in
            try body(try HTTPClient(endpoint))
        }
    }

    private typealias Case = (name: String, path: String, body: [UInt8], status: Int)

    private static func cases() throws -> [Case] {
        let sandbox = try receipt(.sandbox)
        let production = try receipt(.production)
        var broken = production
        broken[broken.count - 20] ^= 1
        return [
            ("production", "/verifyReceipt", body(production), 0),
            ("sandbox", "/sandbox/verifyReceipt", body(sandbox), 0),
            ("sandbox at production", "/verifyReceipt", body(sandbox), 21007),
            ("production at sandbox", "/sandbox/verifyReceipt", body(production), 21008),
            ("a changed signature", "/verifyReceipt", body(broken), 21003),
            (
                "another app", "/verifyReceipt",
                body(try Minted.receipt(bytes: 1_000, bundleId: "com.example.b")), 21003
            ),
            ("half", "/verifyReceipt", body(Array(production.prefix(900))), 21002),
            ("no receipt", "/verifyReceipt", body(Array("receipt".utf8)), 21002),
            ("nothing", "/verifyReceipt", body([]), 21002),
            ("no JSON", "/verifyReceipt", Array("receipt-data=MIIS".utf8), 21002),
            ("no member", "/verifyReceipt", Array("{}".utf8), 21002),
            ("a number", "/verifyReceipt", Array("{\"receipt-data\":1}".utf8), 21002),
            ("an object", "/verifyReceipt", Array("{\"receipt-data\":{}}".utf8), 21002),
            (
                "unknown members", "/verifyReceipt",
                body(production, ",\"password\":\"any\",\"other\":[1]"), 0
            ),
            // As PHP writes base64, and in lines.
            (
                "escapes", "/verifyReceipt",
                Array(
                    String(decoding: body(production), as: UTF8.self)
                        .replacingOccurrences(of: "/", with: "\\/").utf8), 0
            ),
            (
                "lines", "/verifyReceipt",
                Array(
                    "{\"receipt-data\":\"".utf8)
                    + Array(
                        Data(production).base64EncodedString(options: .lineLength76Characters)
                            .replacingOccurrences(of: "\r\n", with: "\\r\\n").utf8)
                    + Array("\"}".utf8), 0
            ),
        ]
    }

    @Test("statuses of both paths")
    func statuses() throws {
        let cases = try Self.cases()
        let sandbox = Self.body(try Self.receipt(.sandbox))
        let production = Self.body(try Self.receipt(.production))
        try Self.with { client in
            for (name, path, body, status) in cases {
                for type in ["application/json", "text/plain", "application/x-www-form-urlencoded"]
                {
                    let response = try client.ask(HTTPClient.post(path, body, type: type))
                    #expect(response.status == 200, "\(name)")
                    #expect(response.member("status") == "\(status)", "\(name): \(response.text)")
                    #expect(response.field("content-type") == "application/json")
                    #expect((response.member("receipt") != nil) == (status == 0))
                    #expect((response.member("environment") != nil) == (status == 0))
                }
            }
            let get = try client.ask(HTTPClient.get("/verifyReceipt"))
            #expect(get.status == 200 && get.member("status") == "21000")
            let other = try client.ask(HTTPClient.post("/verifyReceipt?app=x", sandbox))
            #expect(other.status == 404 && other.member("status") == "21009")
            let named = try client.ask(
                HTTPClient.post("/verifyReceipt?app=game", production))
            #expect(named.member("status") == "0")
        }
        // What the configuration refuses is at the right path: the client must not try the other.
        try Self.with([.production]) { client in
            for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
                let response = try client.ask(HTTPClient.post(path, sandbox))
                let status = path == "/verifyReceipt" ? "21007" : "21003"
                #expect(response.member("status") == status)
            }
        }
    }

    @Test("a malformed request is none of Apple's: it has status 400")
    func malformed() throws {
        try Self.with { client in
            try client.send(
                "POST /verifyReceipt HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n"
                    + "x\r\n")
            #expect(try client.receive()?.status == 400)
            #expect(try client.receive() == nil)
        }
    }

    @Test("the password is compared where the entry has a shared secret")
    func password() throws {
        let receipt = try Self.receipt(.production)
        let cases: [(String, Int)] = [
            (",\"password\":\"\(Self.secret)\"", 0), ("", 21004), (",\"password\":\"\"", 21004),
            (",\"password\":null", 21004), (",\"password\":1", 21004),
            (",\"password\":\"\(Self.secret.dropLast())\"", 21004),
            (",\"password\":\"\(Self.secret)\(Self.secret)\"", 21004),
            (",\"password\":\"\(Self.secret.uppercased())\"", 21004),
        ]
        try Self.with(secret: Self.secret) { client in
            for (members, status) in cases {
                let response = try client.ask(
                    HTTPClient.post("/verifyReceipt", Self.body(receipt, members)))
                #expect(response.status == 200 && response.member("status") == "\(status)")
                #expect((response.member("receipt") != nil) == (status == 0))
            }
        }
    }

    @Test("what is derived from the receipt, and what is absent")
    func derived() throws {
        var sample = ReceiptSample(
            bundleId: Minted.bundleId, appAppleId: 9, environment: .production,
            creationDate: Minted.now)
        sample.records = .count(20)
        let receipt = try ReceiptMinter(Minted.receiptCA.get().chain).sign(sample.payload)
        func list(_ response: HTTPClient.Response, _ names: String...) throws -> [JSONValue] {
            var value = try JSONDocument.parse(response.body, limit: .max).root
            for name in names { value = try #require(value[name]) }
            return Array(try #require(value.elements))
        }
        try Self.with { client in
            let all = try client.ask(HTTPClient.post("/verifyReceipt", Self.body(receipt)))
            #expect(all.member("environment") == "Production")
            let inApp = try list(all, "receipt", "in_app")
            let latest = try list(all, "latest_receipt_info")
            #expect(inApp.count == 20)
            func date(_ purchase: JSONValue) -> Int64 {
                Int64(purchase["purchase_date_ms"]?.string ?? "") ?? 0
            }
            #expect(latest.map(\.raw) == inApp.sorted { date($0) > date($1) }.map(\.raw))
            for name in ["pending_renewal_info", "latest_receipt", "is-retryable"] {
                #expect(all.member(name) == nil)
            }
            let newest = try client.ask(
                HTTPClient.post(
                    "/verifyReceipt", Self.body(receipt, ",\"exclude-old-transactions\":true")))
            #expect(try list(newest, "receipt", "in_app").map(\.raw) == inApp.map(\.raw))
            // Of each subscription the renewal that ends last, and all other purchases.
            let kept = try list(newest, "latest_receipt_info")
            #expect(kept.count < inApp.count)
            func key(_ purchase: JSONValue) -> String {
                purchase["original_transaction_id"]?.string ?? ""
            }
            let subscriptions = inApp.filter { $0["expires_date_ms"] != nil }
            for purchase in kept where purchase["expires_date_ms"] != nil {
                let ends = subscriptions.filter { key($0) == key(purchase) }
                    .compactMap { Int64($0["expires_date_ms"]?.string ?? "") }
                #expect(Int64(purchase["expires_date_ms"]?.string ?? "") == ends.max())
            }
            let keptKeys = kept.filter { $0["expires_date_ms"] != nil }.map(key)
            #expect(Set(keptKeys) == Set(subscriptions.map(key)))
            #expect(Set(keptKeys).count == keptKeys.count)
            #expect(kept.count - keptKeys.count == inApp.count - subscriptions.count)
        }
    }

    @Test("exclude-old-transactions is true, \"true\" or 1")
    func excludesOld() throws {
        var sample = ReceiptSample(
            bundleId: Minted.bundleId, appAppleId: 9, environment: .production,
            creationDate: Minted.now)
        sample.records = .count(20)
        let receipt = try ReceiptMinter(Minted.receiptCA.get().chain).sign(sample.payload)
        try Self.with { client in
            func count(_ members: String) throws -> Int {
                let response = try client.ask(
                    HTTPClient.post("/verifyReceipt", Self.body(receipt, members)))
                let root = try JSONDocument.parse(response.body, limit: .max).root
                return root["latest_receipt_info"]?.elements.map { Array($0).count } ?? 0
            }
            let all = try count("")
            for (value, isShort) in [
                ("true", true), ("\"true\"", true), ("1", true), ("false", false),
                ("\"false\"", false), ("0", false), ("2", false), ("\"1\"", false),
                ("\"TRUE\"", false), ("\"\"", false), ("null", false), ("[true]", false),
            ] {
                let found = try count(",\"exclude-old-transactions\":\(value)")
                #expect((found < all) == isShort, "\(value)")
            }
        }
    }

    /// The members of our answer to a receipt that Apple answered.
    ///
    /// Apple's sandbox of 2021 and 2022 had the list for consumables alone. Apple documents it for
    /// receipts with an auto-renewable subscription, and so is it here.
    private static func names(of theirs: JSONValue) -> Set<String> {
        // Only Apple's servers know them.
        let unknown: Set<String> = ["latest_receipt", "pending_renewal_info"]
        let names = Set(theirs.members?.pairs.map(\.name) ?? []).subtracting(unknown)
        let renews = theirs["latest_receipt_info"]?.elements?.contains {
            $0["expires_date_ms"] != nil
        }
        return renews == true
            ? names.union(["assay"]) : names.subtracting(["latest_receipt_info"])
    }

    /// Apple's answers, compared member by member with ours for the receipts that are there.
    @Test(
        "answers of Apple's endpoint",
        .enabled(if: Vectors.has("sk1/responses", "sk1/unified")))
    func responses() throws {
        let entry = AppEntry(
            verifier: Verifier(trust: .apple, keyTables: .never),
            policy: Policy(bundleId: nil, environments: [.production, .sandbox]))
        let ofServer: Set<String> = [
            "in_app_ownership_type", "subscription_group_identifier", "is_upgraded",
            "offer_code_ref_name", "app_account_token",
        ]
        func members(_ json: JSONValue?) -> [String: [UInt8]] {
            var members: [String: [UInt8]] = [:]
            for (name, value) in json?.members?.pairs ?? [] where !ofServer.contains(name) {
                members[name] = value.raw
            }
            return members
        }
        func id(_ purchase: [String: [UInt8]]) -> [UInt8] { purchase["transaction_id"] ?? [] }
        var count = 0
        try withHTTPServer {
            $0.apps = ["any": entry]
            $0.defaultApp = "any"
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            for name in Vectors.files(in: "sk1/responses", suffix: ".json") {
                let file = try JSONDocument.parse(
                    try #require(Vectors.bytes("sk1/responses/" + name)), limit: 1 << 20)
                guard let latest = file.root["latest_receipt_matches"]?.string,
                    let theirs = file.root["response"]
                else { continue }
                let receipt = try #require(Vectors.bytes("sk1/unified/\(latest).der"))
                // One of the requests asked for the latest renewals alone.
                let isShort = theirs["latest_receipt_info"]?.elements.map(Array.init)?.count == 1
                let options = isShort ? ",\"exclude-old-transactions\":true" : ""
                let response = try client.ask(
                    HTTPClient.post("/sandbox/verifyReceipt", Self.body(receipt, options)))
                let ours = try JSONDocument.parse(response.body, limit: .max).root
                let expected = Self.names(of: theirs)
                #expect(Set(ours.members?.pairs.map(\.name) ?? []) == expected, "\(name)")
                for member in ["status", "environment"] {
                    #expect(ours[member]?.raw == theirs[member]?.raw, "\(name)")
                }
                var receipts = (members(ours["receipt"]), members(theirs["receipt"]))
                for member in receipts.1.keys
                where member == "in_app" || member.hasPrefix("request_date")
                    || member.hasPrefix("receipt_creation_date")
                {
                    // Apple issued the receipt anew for its answer.
                    receipts.0[member] = nil
                    receipts.1[member] = nil
                }
                #expect(receipts.0 == receipts.1, "\(name)")
                // In 2015 Apple sorted by transaction id, and renewals are charged ahead.
                let own = ours["latest_receipt_info"] ?? ours["receipt"]?["in_app"]
                let lists = [own, theirs["latest_receipt_info"]].map { list in
                    list!.elements!.map(members)
                        .sorted { id($0).lexicographicallyPrecedes(id($1)) }
                }
                #expect(lists[0] == lists[1], "\(name)")
                count += lists[0].count
            }
        }
        try Vectors.report("purchases of verifyReceipt over HTTP", count)
    }
}
