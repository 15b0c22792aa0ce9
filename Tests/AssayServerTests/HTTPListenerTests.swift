import Assay
import AssayBytes
import AssayIO
import AssayModels
@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry
import Foundation
import TestSupport
import Testing

/// The HTTP listener: paths, answers and their order.
@Suite("HTTP listener", .ownThread, .serialized, .timeLimit(.minutes(10)))
struct HTTPListenerTests {
    private static func report(
        _ evidence: [UInt8], _ kind: EvidenceKind, expecting: Expectations = .none,
        inApp: InAppSelection = .all
    ) throws -> String {
        let verification = try Minted.verifier().verify(
            evidence.span, as: kind, policy: Minted.policy, expecting: expecting, inApp: inApp,
            at: Minted.now)
        return String(decoding: VerificationReport(verification).json, as: UTF8.self) + "\n"
    }

    private static func quoted(_ bytes: [UInt8]) -> String {
        var writer = JSONWriter()
        writer.value(String(decoding: bytes, as: UTF8.self))
        return String(decoding: writer.text, as: UTF8.self)
    }

    @Test("each kind gets the JSON of assay verify: raw, chunked, in JSON, with its kind detected")
    func kinds() throws {
        let receipt = try Minted.receipt(bytes: 5_000)
        let transaction = try Minted.transaction.get()
        var evidence: [(EvidenceKind, [UInt8])] = try Minted.jwsKinds.map { kind in
            (kind, try Minted.token(kind))
        }
        evidence.append((.transaction, Minted.tampered(transaction)))
        evidence.append((.notification, Array("{\"signedPayload\": \"a.b.c\"}".utf8)))
        evidence.append((.appReceipt, receipt))
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (kind, bytes) in evidence {
                let expected = try Self.report(bytes, kind)
                let target = "/v1/verify?kind=\(kind.name)"
                for request in [
                    HTTPClient.post(target, bytes), HTTPClient.post(target, bytes, chunk: 1_000),
                    HTTPClient.post(target, bytes, chunk: 1),
                ] {
                    let response = try client.ask(request)
                    #expect(response.status == 200)
                    #expect(response.text == expected, "\(kind)")
                    #expect(response.field("content-type") == "application/json")
                }
                guard kind != .appReceipt else { continue }
                let json = "{\"kind\":\"\(kind.name)\",\"evidence\":\(Self.quoted(bytes))}"
                #expect(try client.ask(HTTPClient.post("/v1/verify", json: json)).text == expected)
                if bytes.first == UInt8(ascii: "{") {
                    let text = String(decoding: bytes, as: UTF8.self)
                    let json = "{\"kind\":\"\(kind.name)\",\"evidence\":\(text)}"
                    let response = try client.ask(HTTPClient.post("/v1/verify", json: json))
                    #expect(response.text == expected)
                }
                // Only genuine evidence shows its kind.
                guard expected.hasPrefix("{\"verdict\":\"VALID\"") else {
                    continue
                }
                let detected = try client.ask(HTTPClient.post("/v1/verify?kind=auto", bytes))
                #expect(detected.text == expected)
            }
            let unknown = try client.ask(HTTPClient.post("/v1/verify?kind=auto", [0x41, 0x42]))
            #expect(unknown.member("verdict") == "MALFORMED")
            #expect(unknown.member("kind") == nil)
        }
    }

    @Test("expectations, in the query and in JSON")
    func expectations() throws {
        let token = try Minted.transaction.get()
        let text = String(decoding: token, as: UTF8.self)
        let cases: [(query: String, json: String, verdict: String)] = [
            ("", "", "VALID"),
            ("bundle-id=\(Minted.bundleId)", "\"bundleId\":\"\(Minted.bundleId)\"", "VALID"),
            ("bundle-id=a", "\"bundleId\":\"a\"", "WRONG_BUNDLE"),
            ("environment=Production", "\"environments\":[\"Production\"]", "WRONG_ENVIRONMENT"),
            (
                "environment=Production&environment=Sandbox",
                "\"environments\":[\"Production\",\"Sandbox\"]", "VALID"
            ),
            ("product-id=a&product-id=b", "\"productIds\":[\"a\",\"b\"]", "MISMATCH"),
            (
                "app-account-token=7e3fb20b-4cdb-47cc-936d-99d65f608138",
                "\"appAccountToken\":\"7e3fb20b-4cdb-47cc-936d-99d65f608138\"", "MISMATCH"
            ),
            ("transaction-id=1", "\"transactionId\":\"1\"", "MISMATCH"),
            ("device-id=1", "\"deviceId\":\"1\"", "MISMATCH"),
            ("not-older-than=9999999999999", "\"notOlderThan\":9999999999999", "MISMATCH"),
            ("app-apple-id=1", "\"appAppleId\":1", "VALID"),
        ]
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (query, json, verdict) in cases {
                let target = "/v1/verify?kind=transaction&" + query
                #expect(
                    try client.ask(HTTPClient.post(target, token)).member("verdict") == verdict,
                    "\(query)")
                let body = """
                    {"kind":"transaction","evidence":"\(text)","app":"game","timeout":9.5,\
                    "expectations":{\(json)}}
                    """
                let response = try client.ask(HTTPClient.post("/v1/verify", json: body))
                #expect(response.member("verdict") == verdict, "\(json)")
            }
        }
    }

    @Test("several devices can be expected of a receipt, one of which is enough")
    func devices() throws {
        let receipt = try Minted.receipt(bytes: 3_000)
        let text = Data(receipt).base64EncodedString()
        let own = String(repeating: "a5", count: 16)
        let other = "01:02:03:04:05:06"
        let most = Expectations.otherDeviceLimit + 1
        let cases: [(devices: [String], verdict: String?)] = [
            ([own], "VALID"), ([other, own], "VALID"), ([own, other], "VALID"),
            ([other], "MISMATCH"), ([other, other], "MISMATCH"),
            (Array(repeating: other, count: most - 1) + [own], "VALID"),
            (Array(repeating: other, count: most) + [own], nil), ([own, "01"], nil),
        ]
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (devices, verdict) in cases {
                let query = devices.map { "&device-id=" + $0 }.joined()
                let raw = try client.ask(
                    HTTPClient.post("/v1/verify?kind=app-receipt" + query, receipt))
                let list = devices.map { "\"\($0)\"" }.joined(separator: ",")
                let json = try client.ask(
                    HTTPClient.post(
                        "/v1/verify",
                        json: """
                            {"kind":"app-receipt","evidence":"\(text)",\
                            "expectations":{"deviceId":[\(list)]}}
                            """))
                for response in [raw, json] {
                    #expect(response.status == (verdict == nil ? 400 : 200), "\(devices)")
                    #expect(response.member("verdict") == verdict, "\(devices)")
                }
            }
            for (kind, devices, reason) in [
                ("app-receipt", "[]", "deviceId is empty"),
                ("app-receipt", "[1]", "not a string"),
                ("app-receipt", "1", "not an array"), ("transaction", "[\"1\",\"2\"]", "alone"),
            ] {
                let body =
                    "{\"kind\":\"\(kind)\",\"evidence\":\"\(text)\","
                    + "\"expectations\":{\"deviceId\":\(devices)}}"
                let response = try client.ask(HTTPClient.post("/v1/verify", json: body))
                #expect(response.status == 400, "\(devices)")
                #expect(response.member("detail")?.contains(reason) == true, "\(response.text)")
            }
        }
    }

    @Test("the parts of the answer that a request asks for")
    func returns() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 3_000)
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let verdict = try client.ask(
                HTTPClient.post("/v1/verify?kind=transaction&returns=verdict", token))
            #expect(verdict.member("verdict") == "VALID" && verdict.member("payload") == nil)
            #expect(verdict.member("dedupKey") != nil)
            let old = try client.ask(
                HTTPClient.post("/v1/verify?kind=app-receipt&returns=verify-receipt", receipt))
            #expect(old.member("status") == "0" && old.member("receipt") != nil)
            for (selection, inApp) in [("none", InAppSelection.none), ("latest", .latest)] {
                let response = try client.ask(
                    HTTPClient.post("/v1/verify?kind=app-receipt&in-app=\(selection)", receipt))
                #expect(response.text == (try Self.report(receipt, .appReceipt, inApp: inApp)))
            }
        }
    }

    /// Receipts above this size are verified while they arrive.
    @Test("a large receipt is streamed, whole and in chunks", arguments: [1, 30_000, 100_000_000])
    func streamed(chunk: Int) throws {
        // Chunks of one byte make six of each.
        let receipt = try Minted.receipt(bytes: chunk == 1 ? 150_000 : 1_500_000)
        let expected = try Self.report(receipt, .appReceipt, inApp: .none)
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let target = "/v1/verify?kind=app-receipt&in-app=none"
            for request in [
                HTTPClient.post(target, receipt), HTTPClient.post(target, receipt, chunk: chunk),
            ] {
                #expect(try client.ask(request).text == expected)
            }
            var broken = receipt
            broken[broken.count / 2] ^= 1
            let response = try client.ask(HTTPClient.post(target, broken, chunk: chunk))
            #expect(response.status == 200 && response.member("verdict") != "VALID")
            try client.expectHealth()
        }
    }

    @Test("answers come in the order of the requests, however long each takes")
    func pipelining() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withHTTPServer(heldBy: clock) { test, endpoint in
            let other = try HTTPClient(endpoint)
            try other.expectHealth()
            clock.arm()
            // The first goes to a worker, which is held; later ones are answered at once.
            let client = try HTTPClient(endpoint)
            let target = "/v1/verify?kind=transaction"
            try client.send(HTTPClient.post(target, token))
            clock.isHeld.wait()
            try client.send(HTTPClient.get("/v1/health"))
            try client.send(HTTPClient.post("/v1/none", [1, 2, 3]))
            try client.send(
                HTTPClient.post("/v1/verify", json: "{\"kind\":\"transaction\",\"evidence\":\"a\"}")
            )
            try client.send(HTTPClient.get("/v1/health", "Connection: close\r\n"))
            test.eventually { $0.unwrittenBytes > 500 }
            #expect(!client.socket.hasMore(milliseconds: 50))
            clock.release.open()
            #expect(try client.receive()?.member("verdict") == "VALID")
            #expect(try client.receive()?.member("status") == "SERVING")
            #expect(try client.receive()?.status == 404)
            #expect(try client.receive()?.member("verdict") == "MALFORMED")
            let last = try client.receive()
            #expect(last?.status == 200 && last?.field("connection") == "close")
            #expect(try client.receive() == nil)
        }
    }

    @Test("a thousand pipelined requests, and a client that ends its writing")
    func manyInOneWrite() throws {
        let token = try Minted.transaction.get()
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            var bytes: [UInt8] = []
            for index in 0..<1_000 {
                bytes += HTTPClient.post(
                    "/v1/verify?kind=transaction&bundle-id=b\(index)", token)
                bytes += Array(HTTPClient.get("/v1/none").utf8)
            }
            try client.send(bytes)
            client.socket.finishWriting()
            for index in 0..<1_000 {
                let response = try #require(try client.receive())
                #expect(response.member("detail")?.contains("\"b\(index)\"") == true)
                #expect(try client.receive()?.status == 404)
            }
            #expect(try client.receive() == nil)
        }
    }

    @Test("Info, HEAD, OPTIONS and HTTP/1.0")
    func otherMethods() throws {
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let info = try client.ask(HTTPClient.get("/v1/info?x=y"))
            #expect(info.member("version") == "test" && info.member("kinds") != nil)
            #expect(info.member("trustedRoots")?.contains("Apple Root CA") == true)
            try client.send("HEAD /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let head = try #require(try client.receive(hasBody: false))
            #expect(head.field("content-length") == info.field("content-length"))
            let options = try client.ask(
                "OPTIONS /v1/verify HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(options.status == 204 && options.field("allow") == "post, options")
            #expect(options.field("access-control-allow-origin") == nil)
            #expect(options.field("content-length") == nil)
            try client.expectHealth()
            try client.send("GET /v1/health HTTP/1.0\r\n\r\n")
            #expect(try client.receive()?.status == 200)
            #expect(try client.receive() == nil)
        }
    }

    @Test("Unix sockets, TLS, and a plain client at an https address")
    func endpoints() throws {
        let path = temporaryPath("http")
        let pki = try TestPKI()
        let tls = try pki.server(ofClients: false)
        try withSocketServer {
            $0.listen += [.unixHTTP(path: path), .https(host: "127.0.0.1", port: 0)]
            $0.tls = tls
        } _: { test in
            let client = try HTTPClient(.unixHTTP(path: path))
            try client.expectHealth()
            let request = "GET /v1/health HTTP/1.1\r\nHost: any.name\r\n\r\n"
            #expect(try client.ask(request).status == 200)
            let endpoint = test.server.endpoints[3]
            let plain = try HTTPClient(endpoint)
            let refused = try plain.ask(HTTPClient.get("/v1/health"))
            #expect(refused.status == 400)
            #expect(refused.member("detail")?.contains("TLS") == true)
            #expect(try plain.receive() == nil)
            guard case .https(let host, let port) = endpoint else { return }
            let answer = try Self.ask(
                HTTPClient.get("/v1/health", "Connection: close\r\n"),
                .tls(host: host, port: port), try pki.client())
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\"SERVING\"}\n"))
        }
    }

    /// Sends a request over TLS, and receives to the end of the stream.
    private static func ask(
        _ request: String, _ endpoint: Endpoint, _ tls: TLSContext
    ) throws -> String {
        let received = Locked<[UInt8]>([])
        let hasEnded = Latch()
        let loop = try EventLoop(name: "test")
        try loop.start()
        let stream = try loop.call { () throws(LoopError) in
            let stream = try Stream.connect(to: endpoint, on: loop, tls: tls) { _ in }
            stream.setHandler { [unowned stream] event in
                switch event {
                case .connected: stream.write(Array(request.utf8))
                case .received:
                    let count = stream.received.unreadCount
                    let bytes = stream.received.take(count)
                    received.withLock { $0 += bytes.span.array }
                case .ended, .failed: hasEnded.open()
                case .written, .closed: break
                }
            }
            return LoopBound(stream, to: loop)
        }
        #expect(hasEnded.wait())
        try loop.call { () throws(LoopError) in stream.value.close() }
        loop.stop()
        loop.join()
        return String(decoding: received.withLock { $0 }, as: UTF8.self)
    }
}
