import AssayIO
import AssayModels
import TestSupport
import Testing

/// Requests that get no verdict.
@Suite("HTTP refusals", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HTTPRefusalTests {
    /// A request, and the status and the reason of its refusal.
    private typealias Refusal = (name: String, request: [UInt8], status: Int, reason: String)

    private static func refusalsOfHeads() throws -> [Refusal] {
        let token = try Minted.transaction.get()
        let raw = "/v1/verify?kind=transaction"
        func put(_ target: String) -> [UInt8] {
            Array("PUT \(target) HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        }
        return [
            ("a path", Array(HTTPClient.get("/").utf8), 404, "unknown path"),
            ("a slash more", Array(HTTPClient.get("/v1/health/").utf8), 404, "unknown path"),
            ("an escaped path", Array(HTTPClient.get("/v1/%68ealth").utf8), 404, "unknown path"),
            ("a method", put("/v1/verify"), 405, "POST"),
            ("GET", Array(HTTPClient.get("/v1/verify").utf8), 405, "POST"),
            ("POST", HTTPClient.post("/v1/health", []), 405, "GET"),
            ("a type", HTTPClient.post(raw, token, type: "text/plain"), 415, "Content-Type"),
            (
                "gzip", HTTPClient.post(raw, token, "Content-Encoding: gzip\r\n"), 415,
                "uncompressed"
            ),
            ("no body", HTTPClient.post(raw, []), 400, "empty"),
            ("no kind", HTTPClient.post("/v1/verify", token), 400, "the kinds: transaction"),
            ("a kind", HTTPClient.post("/v1/verify?kind=x", token), 400, "\"x\""),
            ("a kind twice", HTTPClient.post(raw + "&kind=auto", token), 400, "twice"),
            ("a parameter", HTTPClient.post(raw + "&bundleId=a", token), 400, "\"bundleId\""),
            ("an escape", HTTPClient.post(raw + "&app=%", token), 400, "percent"),
            ("an environment", HTTPClient.post(raw + "&environment=x", token), 400, "Sandbox"),
            ("a number", HTTPClient.post(raw + "&app-apple-id=0", token), 400, "app-apple-id"),
        ]
    }

    private static func refusalsOfBodies() throws -> [Refusal] {
        let token = try Minted.transaction.get()
        let raw = "/v1/verify?kind=transaction"
        let large = [UInt8](repeating: 0x20, count: (4 << 20) + 1)
        return [
            ("a timeout", HTTPClient.post(raw + "&timeout=inf", token), 400, "timeout"),
            ("in-app", HTTPClient.post(raw + "&in-app=some", token), 400, "latest"),
            ("returns", HTTPClient.post(raw + "&returns=all", token), 400, "verdict"),
            (
                "verifyReceipt of a token", HTTPClient.post(raw + "&returns=verify-receipt", token),
                400, "app-receipt"
            ),
            (
                "a device of no kind", HTTPClient.post("/v1/verify?kind=auto&device-id=1", token),
                400, "device"
            ),
            (
                "a device", HTTPClient.post("/v1/verify?kind=app-receipt&device-id=12", token), 400,
                "16 octets"
            ),
            ("an app", HTTPClient.post(raw + "&app=other", token), 404, "no such app entry"),
            (
                "long JSON", HTTPClient.post("/v1/verify", large, type: "application/json"), 413,
                "4194304"
            ),
            ("no JSON", HTTPClient.post("/v1/verify", json: "{"), 400, "not JSON"),
            ("an array", HTTPClient.post("/v1/verify", json: "[]"), 400, "object"),
            ("a member", HTTPClient.post("/v1/verify", json: "{\"Kind\":1}"), 400, "\"Kind\""),
            (
                "two members", HTTPClient.post("/v1/verify", json: "{\"app\":\"\",\"app\":\"\"}"),
                400,
                "duplicate"
            ),
            (
                "no evidence", HTTPClient.post("/v1/verify", json: "{\"kind\":\"auto\"}"), 400,
                "evidence"
            ),
            (
                "empty evidence",
                HTTPClient.post("/v1/verify", json: "{\"kind\":\"auto\",\"evidence\":\"\"}"), 400,
                "empty"
            ),
            (
                "evidence of a type",
                HTTPClient.post("/v1/verify", json: "{\"kind\":\"auto\",\"evidence\":1}"), 400,
                "evidence"
            ),
            (
                "a member of expectations",
                HTTPClient.post("/v1/verify", json: "{\"expectations\":{\"bundle\":\"a\"}}"), 400,
                "\"bundle\""
            ),
            (
                "JSON and a query",
                HTTPClient.post("/v1/verify?kind=auto", json: "{\"kind\":\"auto\"}"), 400, "query"
            ),
        ]
    }

    @Test("statuses and their reasons")
    func statuses() throws {
        let cases = try Self.refusalsOfHeads() + Self.refusalsOfBodies()
        try withHTTPServer { test, endpoint in
            for (name, request, status, reason) in cases {
                let client = try HTTPClient(endpoint)
                // A refusal can come before the request is sent whole.
                try client.send(request)
                let response = try #require(try client.receive())
                #expect(response.status == status, "\(name): \(response.text)")
                #expect(response.member("detail")?.contains(reason) == true, "\(response.text)")
                #expect(response.field("content-type") == "application/problem+json")
                #expect(response.member("status") == "\(status)")
                if status == 405 { #expect(response.field("allow")?.isEmpty == false) }
                // What the server knows to be whole does not end the connection.
                if response.field("connection") != "close" {
                    try client.expectHealth()
                }
            }
        }
    }
}
