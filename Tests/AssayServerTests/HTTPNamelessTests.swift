import AssayBytes
import AssayIO
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// A request that names nothing is refused: its answer would read as "owns nothing". Evidence in
/// the place of a request is accepted.
@Suite("HTTP bodies that name nothing", .ownThread, .serialized, .timeLimit(.minutes(1)))
struct HTTPNamelessTests {
    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private static let members = "the members: items, app, at, policy, expectations, timeout"

    @Test("entitlements of no items are refused with the members, unless the body is evidence")
    func entitlements() throws {
        let token = Self.text(try Minted.token(.transaction))
        let notification = Self.text(try Minted.token(.notification))
        let item = #"{"evidence":"\#(token)"}"#
        let refused: [(body: String, says: String)] = [
            ("{}", "an empty JSON object"),
            (#"{"Items":[\#(item)]}"#, #"JSON with "Items""#),
            (#"{"tokens":["\#(token)"]}"#, #"JSON with "tokens""#),
            (#"{"item":\#(item)}"#, #"JSON with "item""#),
            (#"{"policy":{}}"#, #"JSON with "policy""#),
            (#"{"transactionId":"1","productId":"a"}"#, "a decoded transaction"),
            (#"{"evidence":"\#(token)"}"#, "the JSON body of POST /v1/verify"),
            (#"{"errorCode":4040010,"errorMessage":"a"}"#, "an error of the App Store Server API"),
            (#"{"status":0,"receipt":{}}"#, "an answer of verifyReceipt"),
        ]
        let accepted = [
            #"{"items":[\#(item)]}"#, #"{"signedPayload":"\#(notification)"}"#,
            #"{"signedPayload":"eyJ"}"#, #"{"signedTransactions":["\#(token)"]}"#,
            #"{"purchaseToken":"\#(token)"}"#,
            #"{"Store":"AppleAppStore","Payload":"\#(token)"}"#,
        ]
        try withHTTPServer { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (body, says) in refused {
                let response = try client.ask(HTTPClient.post("/v1/entitlements", json: body))
                let detail = response.member("detail") ?? ""
                #expect(response.status == 400, "\(body): \(response.text)")
                #expect(response.member("code") == "INVALID_ARGUMENT")
                #expect(detail.contains(says) && detail.contains(Self.members), "\(detail)")
                #expect(!detail.contains("use the kind"), "\(detail)")
            }
            for body in accepted {
                let response = try client.ask(HTTPClient.post("/v1/entitlements", json: body))
                #expect(response.status == 200, "\(body): \(response.text)")
            }
            let none = try client.ask(HTTPClient.post("/v1/entitlements", json: #"{"items":[]}"#))
            #expect(none.status == 400 && none.text.contains("no items"), "\(none.text)")
        }
    }

    @Test("a Resolve without items is an INVALID_ARGUMENT in frames and calls, too")
    func calls() throws {
        let path = "/assay.v1.Verifier/Resolve"
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (type, body) in [
                ("application/json", "{}"), ("application/json", #"{"call":{}}"#),
                ("application/json", #"{"call":{"items":[]},"evidence":[]}"#),
                ("application/json", #"{"Items":[]}"#), ("application/json", #"{"tokens":["a"]}"#),
                ("application/proto", ""),
            ] {
                let response = try client.ask(
                    HTTPClient.post(path, Array(body.utf8), type: type))
                #expect(response.status == 400, "\(body): \(response.text)")
                #expect(response.text.contains("invalid_argument"), "\(body): \(response.text)")
            }
            let frames = try RawClient(test.tcp)
            try frames.send(RawClient.resolve(1, []))
            let answer = try #require(try frames.receive()?.head)
            #expect(answer.status == .invalidArgument && answer.message.contains("no items"))
        }
    }

    @Test("a POST of Apple's is verified as it came, with its kind in the query")
    func posts() throws {
        let token = Self.text(try Minted.token(.transaction))
        let notification = #"{"signedPayload":"\#(Self.text(try Minted.token(.notification)))"}"#
        let request = #"{"signedPayload":"\#(Self.text(try Minted.token(.realtimeRequest)))"}"#
        let answer = #"{"signedTransactions":["\#(token)"],"environment":"Sandbox"}"#
        let cases: [(query: String, body: String, status: Int, says: String)] = [
            ("?kind=notification", notification, 200, "VALID"),
            ("?kind=auto", notification, 200, "VALID"),
            ("?kind=realtime-request", request, 200, "VALID"),
            ("?kind=server-answer", answer, 200, "VALID"),
            ("?kind=transaction", notification, 200, "use the kind notification"),
            ("?kind=auto", "{}", 200, "an empty JSON object"),
            ("?kind=auto", #"{"kind":"auto","evidence":"\#(token)"}"#, 400, "the query is for raw"),
            ("?kind=auto", #"{"evidence":"\#(token)"}"#, 400, "the query is for raw"),
            ("?kind=auto", token, 400, "not JSON"), ("?kind=auto", "[]", 400, "not a JSON object"),
            ("?kind=x", notification, 400, "the kinds"),
            ("?kinds=auto", notification, 400, "kinds"),
            ("", notification, 400, "?kind=notification"),
            ("", answer, 400, "?kind=server-answer"), ("", #"{"a":1}"#, 400, "the members"),
        ]
        try withHTTPServer { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (query, body, status, says) in cases {
                let response = try client.ask(HTTPClient.post("/v1/verify" + query, json: body))
                #expect(response.status == status, "\(query) \(body): \(response.text)")
                let text = response.text.replacing("\\\"", with: "\"")
                #expect(text.contains(says), "\(query) \(body): \(response.text)")
            }
        }
    }

    @Test("a body of verifyReceipt without receipt-data says what it is")
    func noReceipt() throws {
        let token = Self.text(try Minted.token(.transaction))
        let cases: [(body: String, says: String)] = [
            (#"{"transactionId":"1"}"#, "JSON with a transaction id (\"transactionId\")"),
            (#"{"receipt_data":"MII"}"#, "JSON with \"receipt_data\""), ("{}", "an empty JSON"),
            (
                #"{"signedPayload":"\#(token)"}"#,
                "the POST body of a notification (\"signedPayload\"): post it to "
                    + "/v1/verify?kind=notification"
            ),
            (token, "a StoreKit 2 JWS with a payload of transaction: post it to /v1/verify?kind="),
            ("receipt-data=MIIabcdefghij", "a form body"),
            (#"{"receipt-data":1}"#, "receipt-data is not a string"),
            (#"{"receipt-data":"MII",}"#, "the body is not JSON"),
            (#"{"receipt-data":"{\"transactionId\":\"1\"}"}"#, "JSON with a transaction id"),
        ]
        try withHTTPServer { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (body, says) in cases {
                let response = try client.ask(HTTPClient.post("/verifyReceipt", json: body))
                let detail = response.member("detail") ?? ""
                #expect(response.member("status") == "21002" && detail.contains(says), "\(detail)")
                #expect(!detail.contains("use the kind"), "\(detail)")
            }
        }
    }
}
