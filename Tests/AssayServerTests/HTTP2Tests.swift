import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Requests over HTTP/2, of a simulated server.
@Suite("HTTP/2") struct HTTP2Tests {
    typealias Bytes = HTTP2Bytes

    @Test("calls of gRPC on streams of one connection, however they arrive", arguments: 1...8)
    func calls(_ seed: Int) throws {
        let server = try SimulatedServer(seed: UInt64(seed))
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        peer.send(
            Bytes.call(1, RPCBytes.request(token), each: 1_000)
                + Bytes.call(3, RPCBytes.request(token, bundleId: "com.example.other"), each: 61))
        for (stream, verdict) in [(1, .valid), (3, .wrongBundle)] as [(Int32, Verdict)] {
            let answer = peer[stream]
            #expect(RPCBytes.verification(answer.message)?.verdict == verdict)
            #expect(answer.status == 200 && answer.grpcStatus == 0 && answer.hasEnded)
            #expect(answer.fields["content-type"] == "application/grpc+proto")
            #expect(answer.code == nil)
        }
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
    }

    @Test("a hundred streams at a time; one more breaks the protocol")
    func streams() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Minted.transaction.get())
        peer.send([])
        #expect(peer.settings[3] == 100)
        // All are open before the first ends.
        let body = RPCBytes.frame(message)
        for index in 0..<100 as Range<Int32> {
            peer.send(Bytes.head(2 * index + 1, Bytes.fields(RPCBytes.verify)))
        }
        for index in 0..<100 as Range<Int32> {
            peer.send(Bytes.data(2 * index + 1, body, ends: true))
        }
        for index in 0..<100 as Range<Int32> { #expect(peer[2 * index + 1].grpcStatus == 0) }
        // The connection goes on.
        #expect(peer.ask(201, Bytes.call(201, message)).grpcStatus == 0)
        for index in 101..<202 as Range<Int32> {
            peer.send(Bytes.head(2 * index + 1, Bytes.fields(RPCBytes.verify)))
        }
        // PROTOCOL_ERROR.
        #expect(peer.ends.map(\.code) == [1] && peer.isAtEnd)
        #expect(server.metrics.faults["invalid HTTP/2"] == 1)
        #expect(server.heldResources.requestsInFlight == 0)
    }

    @Test("the routes of HTTP/JSON have the answers of HTTP/1.1")
    func routes() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let caller = SimulatedCaller(server)
        let token = try Minted.transaction.get()
        let jose = "application/jose"
        let requests: [(method: String, path: String, type: String?, body: [UInt8])] = [
            ("GET", "/v1/health", nil, []), ("HEAD", "/v1/health", nil, []),
            ("GET", "/v1/info", nil, []), ("GET", "/v1/openapi.json", nil, []),
            ("OPTIONS", "/v1/verify", nil, []), ("GET", "/nowhere", nil, []),
            ("GET", "/v1/verify", nil, []), ("POST", "/v1/health", nil, [1]),
            ("POST", "/v1/verify?kind=transaction", jose, token),
            ("POST", "/v1/verify?kind=transaction&bundle-id=other", jose, token),
            ("POST", "/v1/verify?kind=transaction", "text/plain", token),
            ("POST", "/v1/verify?kind=nothing", jose, token),
            ("POST", "/v1/verify?kind=transaction", jose, Minted.tampered(token)),
            ("POST", "/v1/verify", "application/json", Array(#"{"evidence":1}"#.utf8)),
            ("POST", "/v1/fetch", "application/json", Array(#"{"transactionId":"1"}"#.utf8)),
            ("POST", "/v1/entitlements", "application/json", Array("{}".utf8)),
            ("POST", "/verifyReceipt", nil, Array(#"{"receipt-data":"AAAA"}"#.utf8)),
            ("POST", "/assay.v1.Verifier/Info", "application/json", Array("{}".utf8)),
            ("POST", "/assay.v1.Verifier/Verify", "application/json", Array("{}".utf8)),
            ("POST", "/assay.v1.Verifier/Verify", "text/plain", [1]),
            ("GET", "/grpc.health.v1.Health/Check?encoding=json&message=%7B%7D", nil, []),
        ]
        for (index, (method, path, type, body)) in requests.enumerated() {
            let stream = Int32(2 * index + 1)
            let fields = Bytes.fields(path, method: method, type: type)
            let answer = peer.ask(
                stream,
                Bytes.head(stream, fields, ends: body.isEmpty)
                    + Bytes.data(stream, body, ends: true, each: 500))
            let lines = [
                "\(method) \(path) HTTP/1.1", "Host: localhost",
                type.map { "Content-Type: \($0)" }, "Content-Length: \(body.count)",
            ]
            let head = lines.compactMap(\.self).joined(separator: "\r\n") + "\r\n\r\n"
            // Before this response there is none for HEAD, so its length is of no body.
            if method == "HEAD" {
                #expect(answer.status == 200 && answer.data.isEmpty && answer.hasEnded)
                #expect(answer.fields["content-length"] == "21")
                continue
            }
            let other = try #require(caller.ask(Array(head.utf8) + body), "\(method) \(path)")
            #expect(answer.status == other.status, "\(method) \(path)")
            #expect(answer.data == other.body, "\(method) \(path)")
            #expect(answer.hasEnded && answer.code == nil, "\(method) \(path)")
            for name in ["content-type", "content-length", "cache-control", "allow"] {
                #expect(
                    answer.fields[name]?.lowercased() == other.field(name),
                    "\(method) \(path) \(name)")
            }
            #expect(answer.fields["connection"] == nil)
        }
    }

    @Test("Connect and gRPC-Web in each form", arguments: RPCTestForm.allCases)
    func forms(_ form: RPCTestForm) throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        let bundles: [(String?, String)] = [
            (nil, "VERDICT_VALID"), ("com.example.other", "VERDICT_WRONG_BUNDLE"),
        ]
        for (index, (bundle, verdict)) in bundles.enumerated() {
            let stream = Int32(2 * index + 1)
            let body = form.body(token, bundleId: bundle)
            let answer = peer.ask(
                stream, Bytes.post(stream, RPCBytes.verify, body, type: form.rawValue))
            let response = HTTPClient.Response(
                status: answer.status ?? 0, head: "", body: answer.data)
            let (message, code) = form.answer(response)
            #expect(code == 0)
            #expect(form.verdict(message ?? []) == verdict)
        }
    }

    @Test("refusals of gRPC are trailers, with details")
    func refusals() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        let calls: [(path: String, message: [UInt8], more: [Bytes.Field], code: Int)] = [
            (RPCBytes.verify, RPCBytes.request([]), [], 3),
            (RPCBytes.verify, RPCBytes.request(token, kind: nil), [], 12),
            (RPCBytes.verify, RPCBytes.request(token, app: "nowhere"), [], 5),
            (RPCBytes.verify, [0xFF], [], 13),
            (RPCBytes.verify, RPCBytes.request(token), [("grpc-timeout", "x")], 3),
            (RPCBytes.verify, RPCBytes.request(token), [("grpc-encoding", "zstd")], 12),
            ("/assay.v1.Verifier/Other", [], [], 12),
            ("/other.Service/Verify", [], [], 12),
            ("/assay.v1.Verifier/Fetch", [], [], 9),
            (RPCBytes.verify, RPCBytes.request(token), [("origin", "https://x.example")], 7),
        ]
        for (index, (path, message, more, code)) in calls.enumerated() {
            let stream = Int32(2 * index + 1)
            let answer = peer.ask(stream, Bytes.call(stream, message, path: path, more))
            #expect(answer.grpcStatus == code, "\(index)")
            #expect(answer.status == 200 && answer.hasEnded && answer.data.isEmpty, "\(index)")
            #expect(answer.fields["grpc-message"]?.isEmpty == false, "\(index)")
        }
    }

    @Test("a page of an allowed origin can call, and its preflight is answered")
    func origins() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = ["https://a.example"] }
        let peer = SimulatedHTTP2Peer(server)
        let origin = ("origin", "https://a.example")
        let options = peer.ask(
            1, Bytes.get(1, RPCBytes.verify, method: "OPTIONS", [origin]))
        #expect(options.status == 204)
        #expect(options.fields["access-control-allow-headers"]?.contains("Grpc-Timeout") == true)
        let answer = peer.ask(3, Bytes.get(3, "/v1/health", [origin]))
        #expect(answer.fields["access-control-allow-origin"] == "https://a.example")
        let other = peer.ask(5, Bytes.get(5, "/v1/health", [("origin", "https://b.example")]))
        #expect(other.status == 403)
    }

    @Test("a batch is answered line by line", arguments: 1...4)
    func batches(_ seed: Int) throws {
        let server = try SimulatedServer(seed: UInt64(seed))
        let peer = SimulatedHTTP2Peer(server)
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        let line = #"{"kind":"transaction","evidence":"\#(token)"}"#
        let body = [line, "", #"{"kind":"transaction"}"#, line].joined(separator: "\n")
        let type = "application/x-ndjson"
        peer.send(Bytes.head(1, Bytes.fields("/v1/verify/batch", type: type)))
        #expect(peer[1].status == 200 && !peer[1].hasEnded)
        #expect(peer[1].fields["transfer-encoding"] == nil)
        peer.send(Bytes.data(1, Array(body.utf8), ends: true, each: 700))
        #expect(peer[1].hasEnded)
        let answers = peer[1].text.split(separator: "\n")
        #expect(answers.count == 3)
        #expect(answers.first?.contains(#""verdict":"VALID""#) == true)
        #expect(answers.dropFirst().first?.contains(#""status":400"#) == true)
        #expect(answers.last?.contains(#""verdict":"VALID""#) == true)
        // A line above the limit ends the answer, and the connection goes on.
        let long = [UInt8](repeating: 0x61, count: 100_000)
        let small = try SimulatedServer { $0.limits.httpJSONBytes = 64 << 10 }
        let other = SimulatedHTTP2Peer(small)
        other.send(
            Bytes.head(1, Bytes.fields("/v1/verify/batch", type: type))
                + Bytes.data(1, long, ends: false, each: 16_000))
        #expect(other[1].hasEnded && other[1].text.contains(#""status":413"#))
        #expect(other.ask(3, Bytes.get(3, "/v1/health")).status == 200)
        #expect(small.heldResources.requestsInFlight == 0)
    }

    @Test("a GOAWAY names no more streams than an earlier one that was not written yet")
    func lastStream() throws {
        let connection = HTTP2Connection(HTTP2Limits())
        var events: [HTTP2Event] = []
        let first = HTTP2Bytes.start + HTTP2Bytes.get(1, "/v1/health")
        _ = try connection.receive(first.span, into: &events)
        connection.end()
        // A request, and SETTINGS of one byte, which end the connection once more.
        let rest = HTTP2Bytes.get(3, "/v1/health") + HTTP2Bytes.frame(4, 0, 0, [0])
        _ = try connection.receive(rest.span, into: &events)
        #expect(connection.hasOutput)
        var output: [UInt8] = []
        try connection.write(upTo: 1 << 16, into: &output)
        var lasts: [UInt8] = []
        var index = 0
        while index < output.count {
            if output[index + 3] == 7 { lasts.append(output[index + 12]) }
            index += 9 + Int(output[index + 2])
        }
        #expect(lasts == [1, 1])
    }
}
