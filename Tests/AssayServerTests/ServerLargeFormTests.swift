import Assay
import AssayBytes
import AssayIO
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
import AssayWire
import Foundation
import TestSupport
import Testing

/// What a client sent has the same name at every size and entry point of a server.
@Suite("Large forms of evidence at a server", .ownThread, .serialized, .timeLimit(.minutes(10)))
struct ServerLargeFormTests {
    private static let key = "key-0123456789abcdef"
    /// Octets of a receipt. Its forms are above the limit of a JWS, and of most kinds.
    private static let octets = 100_000
    /// Its forms are above the limits of JSON bodies and of every kind but receipts.
    private static let manyOctets = 4_000_000

    private static func cases() throws -> [FormCase] {
        FormCase.ofReceipt(try Minted.receipt(bytes: octets))
    }

    /// A few of each group: they have up to 14 MB each.
    private static func largeCases() throws -> [FormCase] {
        let all = FormCase.ofReceipt(try Minted.receipt(bytes: manyOctets))
        return stride(from: 0, to: all.count, by: 5).map { all[$0] }
    }

    private static func with(
        _ body: (HTTPClient, TestServer) throws -> Void
    ) throws {
        let entry = AppEntry(
            verifier: try Minted.verifier(), policy: Minted.policy,
            secrets: AppSecrets(apiKeys: [key]))
        try withHTTPServer {
            $0.apps = ["game": entry]
        } _: { test, endpoint in
            try body(try HTTPClient(endpoint), test)
        }
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

    private static func expect(
        _ response: HTTPClient.Response, _ item: FormCase, _ what: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let detail = response.member("detail") ?? ""
        #expect(
            response.status == 200 && detail.contains(item.says),
            "\(item.name), \(what): \(response.status) \(detail)", sourceLocation: sourceLocation)
    }

    @Test("verify of raw bytes, with a length and in chunks")
    func raw() throws {
        try Self.with { client, test in
            for item in try Self.cases() {
                for kind in ["transaction", "notification", "app-receipt", "auto"] {
                    let path = "/v1/verify?kind=\(kind)"
                    let response = try client.ask(HTTPClient.post(path, item.bytes))
                    Self.expect(response, item, kind)
                    let chunks = try client.ask(HTTPClient.post(path, item.bytes, chunk: 30_000))
                    #expect(chunks.text == response.text, "\(item.name) \(kind)")
                }
            }
            test.eventually { $0.evidenceBytes == 0 && $0.bufferedBytes == 0 }
        }
    }

    @Test("a token above its limit is malformed, and its limit is named")
    func longToken() throws {
        let token = try Minted.token(.transaction) + [UInt8](repeating: 0x41, count: 64 << 10)
        try Self.with { client, _ in
            for (kind, says) in [
                ("transaction", "the limit of the kind transaction is 65536"),
                ("notification", "the limit is 65536"), ("app-receipt", "of a JWS is 65536"),
                ("auto", "of a JWS is 65536"),
            ] {
                let path = "/v1/verify?kind=\(kind)"
                for request in [
                    HTTPClient.post(path, token), HTTPClient.post(path, token, chunk: 30_000),
                ] {
                    let response = try client.ask(request)
                    #expect(response.status == 200 && response.text.contains(says))
                    #expect(response.member("verdict") != "VALID", "\(response.text)")
                }
            }
        }
    }

    @Test("verify of many raw bytes: a receipt of no named kind is verified as it arrives")
    func manyBytes() throws {
        try Self.with { client, test in
            let receipt = try Minted.receipt(bytes: Self.manyOctets)
            for evidence in [receipt, Base64.encode(receipt.span)] {
                let path = "/v1/verify?kind=auto&in-app=none"
                for request in [
                    HTTPClient.post(path, evidence), HTTPClient.post(path, evidence, chunk: 90_000),
                ] {
                    let response = try client.ask(request)
                    #expect(response.member("verdict") == "VALID", "\(response.text)")
                    #expect(response.member("kind") == "app-receipt")
                }
            }
            for item in try Self.largeCases() {
                for kind in ["transaction", "auto"] {
                    let path = "/v1/verify?kind=\(kind)"
                    Self.expect(
                        try client.ask(HTTPClient.post(path, item.bytes)), item, kind)
                }
            }
            test.eventually { $0.evidenceBytes == 0 && $0.bufferedBytes == 0 }
        }
    }

    @Test("JSON bodies, entitlements, verifyReceipt and OpenIAP")
    func bodies() throws {
        let authorization = "Authorization: Bearer \(Self.key)\r\n"
        try Self.with { client, _ in
            for item in try Self.cases() where item.bytes.span.isUTF8 {
                func ask(
                    _ path: String, _ body: [UInt8], _ fields: String = ""
                ) throws -> HTTPClient.Response {
                    try client.ask(
                        HTTPClient.post(path, body, type: "application/json", fields))
                }
                for kind in ["transaction", "auto"] {
                    let body = Self.json("evidence", item.bytes, ("kind", kind))
                    Self.expect(try ask("/v1/verify", body), item, "JSON \(kind)")
                }
                let resolved = try ask(
                    "/v1/entitlements",
                    Array("{\"items\":[".utf8)
                        + Self.json("evidence", item.bytes) + Array("]}".utf8))
                let items = try JSONDocument.parse(resolved.body).root["items"]?.elements
                let detail = Array(try #require(items)).first?["detail"]?.string ?? ""
                #expect(detail.contains(item.says), "\(item.name): \(detail)")
                for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
                    let answer = try ask(path, Self.json("receipt-data", item.bytes))
                    Self.expect(answer, item, path)
                    #expect(answer.member("status") == "21002")
                }
                let purchase = Self.json("jws", item.bytes, ("store", "apple"))
                Self.expect(
                    try ask("/v1/purchase/verify", purchase, authorization), item, "OpenIAP")
            }
        }
    }

    @Test("large requests of verifyReceipt")
    func largeReceiptRequests() throws {
        try Self.with { client, _ in
            for item in try Self.largeCases() where item.bytes.span.isUTF8 {
                let answer = try client.ask(
                    HTTPClient.post("/verifyReceipt", Self.json("receipt-data", item.bytes)))
                Self.expect(answer, item, "verifyReceipt")
            }
        }
    }

    @Test("JSON above its limit is refused with the way out")
    func wayOut() throws {
        let padding = [UInt8](repeating: 0x20, count: 5 << 20)
        let message = RPCBytes.request(padding, kind: .appReceipt, isLast: false)
        let raw = "octet-stream to /v1/verify?kind=app-receipt, where limits.frame-bytes"
        let cases: [(path: String, type: String, body: [UInt8], says: [String])] = [
            ("/v1/verify", "application/json", padding, [raw]),
            ("/v1/verify?kind=auto", "application/json", padding, [raw]),
            ("/v1/entitlements", "application/json", padding, [raw, "a Resolve of the binary"]),
            (RPCBytes.verify, "application/json", padding, [raw, "as protobuf"]),
            (RPCBytes.verify, "application/proto", message, [raw, "evidence last"]),
            (
                "/assay.v1.Verifier/Resolve", "application/json", padding,
                [raw, "a Resolve of the binary"]
            ),
        ]
        for (path, type, body, says) in cases {
            // In chunks the evidence that comes first is decided about before its kind is known.
            for isChunked in type == "application/proto" ? [false] : [false, true] {
                try Self.with { client, _ in
                    // The server ends the connection within the body.
                    if isChunked {
                        try? client.send(HTTPClient.post(path, body, type: type, chunk: 1 << 20))
                    } else {
                        let request = HTTPClient.post(path, body, type: type)
                        try client.send(Array(request.dropLast(body.count - 100_000)))
                    }
                    let response = try #require(try client.receive())
                    #expect([413, 429].contains(response.status), "\(path)")
                    for text in says { #expect(response.text.contains(text), "\(response.text)") }
                }
            }
        }
        try Self.with { client, _ in
            let body = Self.json("receipt-data", padding)
            let chunked = HTTPClient.post("/verifyReceipt", body, chunk: 1 << 20)
            try? client.send(chunked)
            let response = try #require(try client.receive())
            #expect(response.member("status") == "21002")
            #expect(response.text.contains("send it with a Content-Length"), "\(response.text)")
        }
    }

    @Test("frames, with the answer before the rest of the body, and the items of a Resolve")
    func frames() throws {
        try Self.with { _, test in
            let client = try RawClient(test.tcp)
            for item in try Self.cases() + Self.largeCases() {
                for kind in [EvidenceKind.transaction, .appReceipt] {
                    try client.send(RawClient.verify(3, kind, item.bytes))
                    let answer = try #require(try client.receive()?.head)
                    guard case .verification(let verification) = answer.result else {
                        Issue.record("\(item.name): \(answer)")
                        continue
                    }
                    #expect(verification.detail.contains(item.says), "\(verification.detail)")
                }
            }
            for item in try Self.cases() {
                try client.send(RawClient.resolve(4, [(nil, item.bytes)]))
                let answer = try #require(try client.receive()?.head)
                guard case .resolution(let resolution) = answer.result else {
                    Issue.record("\(item.name): \(answer)")
                    continue
                }
                let detail = resolution.items.first?.verification.detail ?? ""
                #expect(detail.contains(item.says), "\(item.name): \(detail)")
            }
            try client.expectPong()
            test.eventually { $0.evidenceBytes == 0 && $0.bufferedBytes == 0 }
        }
    }

    @Test("Connect and gRPC-Web", arguments: [RPCTestForm.proto, .json, .web])
    func calls(form: RPCTestForm) throws {
        try Self.with { client, _ in
            let cases = try Self.cases()
            for item in stride(from: 0, to: cases.count, by: 3).map({ cases[$0] }) {
                let body = form.body(item.bytes, kind: .transaction)
                let (message, code) = form.answer(
                    try client.ask(RPCBytes.post(form, body)))
                #expect(code == 0, "\(item.name)")
                let text = String(decoding: message ?? [], as: UTF8.self)
                    .replacing("\\\"", with: "\"")
                #expect(text.contains(item.says), "\(item.name): \(text)")
            }
            guard form != .json else { return }
            for item in try Self.largeCases().prefix(2) {
                for kind in [EvidenceKind.transaction, .appReceipt] {
                    let body = form.body(item.bytes, kind: kind)
                    let (message, code) = form.answer(
                        try client.ask(RPCBytes.post(form, body)))
                    let text = String(decoding: message ?? [], as: UTF8.self)
                    #expect(code == 0 && text.contains(item.says), "\(item.name): \(text)")
                }
            }
        }
    }

    @Test("streams of HTTP/2, with a length and without")
    func streams() throws {
        let peer = SimulatedHTTP2Peer(try SimulatedServer())
        var number: Int32 = -1
        for item in try Self.cases().prefix(6) {
            for kind in ["transaction", "auto"] {
                for length in [true, false] {
                    number += 2
                    var fields = HTTP2Bytes.fields(
                        "/v1/verify?kind=\(kind)", type: "application/octet-stream")
                    if length { fields.append(("content-length", "\(item.bytes.count)")) }
                    peer.send(
                        HTTP2Bytes.head(number, fields)
                            + HTTP2Bytes.data(number, item.bytes, ends: true, each: 16_000))
                    let text = peer[number].text
                    #expect(text.contains(item.says), "\(item.name) \(kind) \(length): \(text)")
                }
            }
        }
    }

    @Test("above its limit, evidence holds no more than its first bytes")
    func memory() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let body = [UInt8](repeating: UInt8(ascii: "\""), count: 3_000_000)
        let request = HTTPClient.post("/v1/verify?kind=transaction", body)
        var start = 0
        while start < request.count - 500_000 {
            caller.peer.send(Array(request[start..<start + 250_000]))
            start += 250_000
            server.runUntilIdle()
            let held = server.heldResources
            #expect(held.evidenceBytes <= 256 << 10 && held.bufferedBytes <= 256 << 10)
        }
        #expect(server.heldResources.evidenceBytes >= 64 << 10)
        let answer = caller.ask(Array(request[start...]))
        #expect(answer?.member("detail")?.contains("a quotation mark") == true)
        #expect(server.heldResources.evidenceBytes == 0)
    }
}
