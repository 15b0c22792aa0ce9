import Assay
import AssayBytes
import AssayIO
import AssayModels
@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry
import TestSupport
import Testing

/// `POST /v1/verify/batch` and `POST /v1/entitlements`.
@Suite("HTTP batches", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HTTPBatchTests {
    private static func line(_ token: [UInt8], _ members: String = "") -> String {
        let text = String(decoding: token, as: UTF8.self)
        return "{\"kind\":\"transaction\",\"evidence\":\"\(text)\"\(members)}"
    }

    private static let type = "application/x-ndjson"

    /// Reads a chunked response to its end. Returns its lines.
    private static func lines(_ client: HTTPClient) throws -> [String] {
        let head = try #require(try client.receive())
        #expect(head.status == 200 && head.field("content-type") == type)
        #expect(head.field("transfer-encoding") == "chunked")
        var text = ""
        while let chunk = try client.receiveChunk() { text += chunk }
        #expect(text.isEmpty || text.hasSuffix("\n"))
        return text.split(separator: "\n").map(String.init)
    }

    private static func member(_ name: String, of line: String) -> String? {
        HTTPClient.Response(status: 200, head: "", body: Array(line.utf8)).member(name)
    }

    @Test("each line has an answer, in order, however the body arrives", arguments: [0, 1, 7_000])
    func order(chunk: Int) throws {
        let token = try Minted.transaction.get()
        let count = chunk == 1 ? 5 : 300
        let requests = (0..<count).map { index in
            index % 50 == 3
                ? "{\"evidence\":\"\(index)\"}"
                : Self.line(token, ",\"expectations\":{\"bundleId\":\"b\(index)\"}")
        }
        // Empty lines have no answer, and the last line needs no line break.
        let body = Array(("\r\n\n" + requests.joined(separator: "\r\n") + "\n\n").utf8).dropLast(2)
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let request =
                chunk == 0
                ? HTTPClient.post("/v1/verify/batch", Array(body), type: Self.type)
                : HTTPClient.post("/v1/verify/batch", Array(body), type: Self.type, chunk: chunk)
            try client.send(request)
            let lines = try Self.lines(client)
            #expect(lines.count == count)
            for (index, line) in lines.enumerated() {
                if index % 50 == 3 {
                    #expect(Self.member("status", of: line) == "400", "\(line)")
                } else {
                    let detail = Self.member("detail", of: line) ?? ""
                    #expect(detail.contains("\"b\(index)\""), "\(line)")
                    #expect(Self.member("verdict", of: line) == "WRONG_BUNDLE")
                }
            }
            try client.expectHealth()
        }
    }

    @Test("answers come while the request is being sent")
    func streams() throws {
        let token = try Minted.transaction.get()
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let line = Self.line(token) + "\n"
            try client.send(
                "POST /v1/verify/batch HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
                    + "Expect: 100-continue\r\n\r\n")
            #expect(try client.receive()?.status == 100)
            #expect(try client.receive()?.status == 200)
            for _ in 0..<3 {
                try client.send(String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\n")
                let answer = try client.receiveChunk()
                #expect(answer.flatMap { Self.member("verdict", of: $0) } == "VALID")
                // Between lines the connection is idle, not slow.
                try test.pass(milliseconds: 20_000)
            }
            try client.send("0\r\n\r\n")
            #expect(try client.receiveChunk() == nil)
            try client.expectHealth()
        }
    }

    @Test("line 109: a line above the limit, and a malformed chunk, end the response")
    func broken() throws {
        let token = try Minted.transaction.get()
        try withHTTPServer {
            $0.limits.httpJSONBytes = 64 << 10
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            let body = Array((Self.line(token) + "\n").utf8) + [UInt8](repeating: 65, count: 99_000)
            try client.send(HTTPClient.post("/v1/verify/batch", body, type: Self.type, chunk: 999))
            #expect(try client.receive()?.status == 200)
            let valid = try client.receiveChunk()
            #expect(valid.flatMap { Self.member("verdict", of: $0) } == "VALID")
            let long = try client.receiveChunk()
            #expect(long.flatMap { Self.member("status", of: $0) } == "413")
            // Without the last chunk: the client sees that the response is not whole.
            #expect(throws: BlockingClient.Failure.self) { try client.receiveChunk() }
            let other = try HTTPClient(endpoint)
            let chunked = HTTPClient.post(
                "/v1/verify/batch", Array((Self.line(token) + "\n").utf8), type: Self.type,
                chunk: 9_000)
            try other.send(Array(chunked.dropLast(5)) + Array("x\r\n".utf8))
            #expect(try other.receive()?.status == 200)
            _ = try other.receiveChunk()
            #expect(throws: BlockingClient.Failure.self) { try other.receiveChunk() }
            for (request, status) in [
                (HTTPClient.post("/v1/verify/batch", [1], type: "text/plain"), 415),
                (HTTPClient.post("/v1/verify/batch", [], type: Self.type), 400),
                (
                    Array(
                        "POST /v1/verify/batch HTTP/1.0\r\nContent-Type: application/jsonl\r\n".utf8
                    )
                        + Array("Content-Length: 2\r\n\r\n{}".utf8), 400
                ),
            ] {
                #expect(try HTTPClient(endpoint).ask(request).status == status)
            }
        }
    }

    @Test("what a customer owns: items and a policy, or an answer of Apple's as it came")
    func entitlements() throws {
        let first = String(decoding: try Minted.period(1), as: UTF8.self)
        let later = String(decoding: try Minted.period(9), as: UTF8.self)
        let other = String(decoding: Minted.tampered(try Minted.period(3)), as: UTF8.self)
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            func ask(_ json: String, _ target: String = "/v1/entitlements") throws -> JSONValue {
                let response = try client.ask(HTTPClient.post(target, json: json))
                #expect(response.status == 200, "\(response.text)")
                return try JSONDocument.parse(response.body, limit: .max).root
            }
            func until(_ answer: JSONValue) -> Int64? {
                let app = answer["apps"]?.elements?.first { _ in true }
                let group = app?["subscriptionGroups"]?.elements?.first { _ in true }
                return group?["entitledUntil"]?.int64
            }
            let all = try ask(
                """
                {"items":[{"evidence":"\(first)","label":"a"},
                {"evidence":"\(later)","kind":"transaction"},{"evidence":"\(other)"}]}
                """)
            #expect(until(all) == Minted.now.milliseconds - 1_000 + 600_000)
            let verdicts = all["items"]?.elements?.map { $0["verdict"]?.string }
            #expect(verdicts == ["VALID", "VALID", "INVALID_SIGNATURE"])
            let answered = try ask("{\"signedTransactions\":[\"\(first)\",\"\(later)\"]}")
            #expect(until(answered) == until(all))
            let early = try ask(
                "{\"items\":[{\"evidence\":\"\(first)\"}],\"app\":\"game\",\"timeout\":9,"
                    + "\"at\":\(Minted.now.milliseconds),\"policy\":{\"maxAgeMs\":1,"
                    + "\"billingRetryLeniencyMs\":0,\"durationsMs\":{\"a\":1},"
                    + "\"stackedProducts\":[\"a\"],\"renewalLeniencyMs\":1,"
                    + "\"knownAt\":253402300799999,\"refuseFamilySharing\":true,"
                    + "\"expectedAppAccountToken\":\"7e3fb20b-4cdb-47cc-936d-99d65f608138\"},"
                    + "\"expectations\":{\"bundleId\":\"\(Minted.bundleId)\"}}")
            // It is of another account than the expected one.
            #expect(until(early) == nil)
            let group = early["apps"]?.elements?.first { _ in true }?["subscriptionGroups"]?
                .elements?.first { _ in true }
            #expect(group?["status"]?.string == "ACTIVE")
            #expect(group?["belongsToAnotherAccount"]?.bool == true)
            #expect(early["stale"]?.bool == false)
            for (json, reason) in [
                ("{\"items\":[]}", "no items"), ("{\"items\":1}", "array"),
                ("{\"items\":[1]}", "object"), ("{\"items\":[{}]}", "evidence"),
                ("{\"items\":[{\"evidence\":\"a\",\"Kind\":1}]}", "\"Kind\""),
                ("{\"items\":[{\"evidence\":\"a\",\"kind\":\"x\"}]}", "kind"),
                ("{\"items\":[],\"policy\":{\"maxAge\":1}}", "\"maxAge\""),
                ("{\"items\":[],\"policy\":{\"maxAgeMs\":-1}}", "maxAgeMs"),
                ("{\"items\":[],\"expectations\":{\"deviceId\":\"a\"}}", "device"),
                ("{\"items\":[],\"other\":1}", "\"other\""), ("[", "JSON"), ("[]", "object"),
            ] {
                let response = try client.ask(HTTPClient.post("/v1/entitlements", json: json))
                #expect(response.status == 400, "\(json)")
                #expect(response.member("detail")?.contains(reason) == true, "\(response.text)")
            }
            // Each purchase of a list is an item. The entry has no key of Huawei's.
            let text = #""{\"packageName\":\"a\",\"purchaseToken\":\"b\",\"accountFlag\":1}""#
            let owned = try ask(
                "{\"inAppPurchaseDataList\":[\(text),\(text)],"
                    + "\"inAppSignature\":[\"AA==\",\"AQ==\"]}")
            let items = owned["items"]?.elements.map { Array($0) } ?? []
            #expect(items.map { $0["label"]?.string } == ["[0]", "[1]"])
            #expect(items.map { $0["kind"]?.string } == ["huawei-purchase", "huawei-purchase"])
            #expect(items.map { $0["verdict"]?.string } == ["UNTRUSTED_CHAIN", "UNTRUSTED_CHAIN"])
            let evidence = "{\"signedPayload\":\"a\"}"
            let unknown = try client.ask(HTTPClient.post("/v1/entitlements?app=x", json: evidence))
            #expect(unknown.status == 404)
        }
    }
}
