import Assay
import AssayBytes
import AssayIO
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry
import TestSupport
import Testing

/// The form of evidence has the same name at every entry point of a server.
@Suite("Forms of evidence at a server", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct ServerFormTests {
    private static func samples() throws -> FormSamples {
        FormSamples(
            transaction: try Minted.token(.transaction),
            notification: try Minted.token(.notification),
            realtimeRequest: try Minted.token(.realtimeRequest),
            receipt: try Minted.receipt(bytes: 4_000),
            transactionReceipt: Array(#"{"signature" = "AA==";"purchase-info" = "AA==";}"#.utf8))
    }

    /// An object with a text in a member.
    private static func json(
        _ name: String, _ bytes: [UInt8], _ others: (String, String)...
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            for (name, text) in others { object.member(name, text) }
            object.member(name, String(decoding: bytes, as: UTF8.self))
        }
        return writer.text
    }

    private static let key = "key-0123456789abcdef"

    private static func with(
        _ body: (HTTPClient, LogLines) throws -> Void
    ) throws {
        let entry = AppEntry(
            verifier: try Minted.verifier(), policy: Minted.policy,
            secrets: AppSecrets(apiKeys: [key]))
        try withHTTPServer {
            $0.apps = ["game": entry]
            $0.fixed.logsDebug = true
        } _: { test, endpoint in
            try body(try HTTPClient(endpoint), test.log)
        }
    }

    @Test("verify of raw bytes, by kind and by detection, with a length and in chunks")
    func raw() throws {
        let cases = FormCase.all(try Self.samples())
        try Self.with { client, _ in
            for item in cases {
                for kind in ["transaction", "notification", "app-receipt", "auto"] {
                    let path = "/v1/verify?kind=\(kind)"
                    let response = try client.ask(HTTPClient.post(path, item.bytes))
                    let detail = response.member("detail") ?? ""
                    #expect(response.status == 200 && detail.contains(item.says), "\(item.name)")
                    let chunks = try client.ask(HTTPClient.post(path, item.bytes, chunk: 1_000))
                    #expect(chunks.text == response.text, "\(item.name) \(kind)")
                }
            }
        }
    }

    @Test("JSON bodies, entitlements, verifyReceipt and OpenIAP")
    func bodies() throws {
        let cases = FormCase.all(try Self.samples())
        let authorization = "Authorization: Bearer \(Self.key)\r\n"
        var count = 0
        try Self.with { client, log in
            for item in cases where item.bytes.span.isUTF8 {
                func ask(_ path: String, _ body: [UInt8], _ fields: String = "") throws -> String {
                    let request = HTTPClient.post(path, body, type: "application/json", fields)
                    let response = try client.ask(request)
                    #expect(response.status == 200, "\(path) \(item.name): \(response.text)")
                    guard path == "/v1/entitlements" else { return response.member("detail") ?? "" }
                    let items = try JSONDocument.parse(response.body).root["items"]?.elements
                    return Array(try #require(items)).first?["detail"]?.string ?? ""
                }
                let verify = try ask(
                    "/v1/verify", Self.json("evidence", item.bytes, ("kind", "transaction")))
                #expect(verify.contains(item.says), "\(item.name): \(verify)")
                let resolve = try ask(
                    "/v1/entitlements",
                    Array("{\"items\":[".utf8)
                        + Self.json("evidence", item.bytes, ("kind", "auto")) + Array("]}".utf8))
                #expect(resolve.contains(item.says), "\(item.name): \(resolve)")
                let receipt = try ask("/verifyReceipt", Self.json("receipt-data", item.bytes))
                #expect(receipt.contains(item.says), "\(item.name): \(receipt)")
                let purchase = try ask(
                    "/v1/purchase/verify", Self.json("jws", item.bytes, ("store", "apple")),
                    authorization)
                #expect(purchase.contains(item.says), "\(item.name): \(purchase)")
                count += 1
            }
            #expect(log.count(of: "verify_receipt_refused") == count)
            #expect(log.count(of: "\"level\":\"debug\"") == count)
        }
        #expect(count > 70)
    }

    @Test("each line of a batch")
    func lines() throws {
        let cases = FormCase.all(try Self.samples()).filter { $0.bytes.span.isUTF8 }
        let body = cases.flatMap {
            Self.json("evidence", $0.bytes, ("kind", "app-receipt")) + Array("\n".utf8)
        }
        try Self.with { client, _ in
            let request = HTTPClient.post("/v1/verify/batch", body, type: "application/x-ndjson")
            #expect(try client.ask(request).status == 200)
            for item in cases {
                let line = try #require(try client.receiveChunk())
                let detail = try JSONDocument.parse(Array(line.utf8)).root["detail"]?.string ?? ""
                #expect(detail.contains(item.says), "\(item.name): \(line)")
            }
        }
    }

    @Test("a JWS at /verifyReceipt has status 21002 and says what it is")
    func token() throws {
        let token = try Minted.token(.transaction)
        try Self.with { client, _ in
            for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
                let response = try client.ask(
                    HTTPClient.post(path, Self.json("receipt-data", token)))
                #expect(response.status == 200 && response.member("status") == "21002")
                let detail = response.member("detail") ?? ""
                #expect(detail.contains("a StoreKit 2 JWS"), "\(detail)")
                #expect(detail.contains("post it to /v1/verify?kind=transaction"), "\(detail)")
            }
        }
    }

    @Test("Fetch says what it got in place of a transaction id")
    func fetch() throws {
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        let token = String(decoding: try Minted.token(.transaction), as: UTF8.self)
        try withHTTPServer {
            $0.ask(fetcher)
        } _: { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (id, says) in [
                (token, "is a StoreKit 2 JWS"), ("undefined", "the text undefined"),
                ("[object Object]", "JavaScript made it"), ("\"470001\"", "a quotation mark"),
                ("7e3fb20b-4cdb-47cc-936d-99d65f608138", "a UUID"),
            ] {
                let response = try client.ask(
                    HTTPClient.post(
                        "/v1/fetch", Self.json("transactionId", Array(id.utf8)),
                        type: "application/json"))
                let detail = response.member("detail") ?? ""
                #expect(response.status == 400 && detail.contains(says), "\(detail)")
            }
            #expect(fetcher.asked.isEmpty)
            for id in ["470001", "sandbox-1"] {
                let response = try client.ask(
                    HTTPClient.post(
                        "/v1/fetch", Self.json("transactionId", Array(id.utf8)),
                        type: "application/json"))
                #expect(response.status == 200, "\(response.text)")
            }
        }
    }

    @Test("lines at debug level are written on demand alone")
    func quiet() throws {
        let entry = AppEntry(verifier: try Minted.verifier(), policy: Minted.policy)
        try withHTTPServer {
            $0.apps = ["game": entry]
        } _: { test, endpoint in
            let response = try HTTPClient(endpoint).ask(
                HTTPClient.post("/verifyReceipt", Self.json("receipt-data", Array("a".utf8))))
            #expect(response.member("detail")?.isEmpty == false)
            #expect(test.log.count(of: "debug") == 0)
        }
    }
}
