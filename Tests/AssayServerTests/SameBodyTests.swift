import AssayModels
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// What the body of a request is answered with: the same in both versions of HTTP, however its
/// bytes arrive.
@Suite("Bodies in both versions of HTTP") struct SameBodyTests {
    private static let raw = "application/octet-stream"
    private static let json = "application/json"
    private static let lines = "application/x-ndjson"
    private static let proto = "application/proto"
    private static let web = "application/grpc-web+proto"

    private struct Body {
        let name: String
        let path: String
        let type: String
        let bytes: [UInt8]
        /// What every answer has.
        let answer: String
        /// Whether an answer depends on whether the size is announced.
        var dependsOnSize = false

        init(
            _ name: String, _ path: String, _ type: String, _ bytes: [UInt8], _ answer: String,
            dependsOnSize: Bool = false
        ) {
            self.name = name
            self.path = path
            self.type = type
            self.bytes = bytes
            self.answer = answer
            self.dependsOnSize = dependsOnSize
        }
    }

    private static func bodies() throws -> [Body] {
        let token = try Minted.token(.transaction)
        let text = String(decoding: token, as: UTF8.self)
        let receipt = try Minted.receipt(bytes: 200_000)
        let small = try Minted.receipt(bytes: 2_000)
        let object = #"{"kind":"transaction","evidence":"\#(text)"}"#
        let other = Array(object.utf8).map { $0 == UInt8(ascii: "t") ? UInt8(ascii: "u") : $0 }
        let long = object.dropLast() + #","label":"\#(String(repeating: "x", count: 70_000))"}"#
        let message = RPCBytes.request(receipt, kind: .appReceipt)
        return [
            Body("a token", "/v1/verify?kind=transaction", raw, token, #""VALID""#),
            Body("no token", "/v1/verify?kind=transaction", raw, other, "MALFORMED"),
            Body("a small receipt", "/v1/verify?kind=app-receipt", raw, small, #""VALID""#),
            Body("a receipt", "/v1/verify?kind=app-receipt", raw, receipt, #""VALID""#),
            Body("a receipt of no kind", "/v1/verify?kind=auto", raw, receipt, #""VALID""#),
            Body("a receipt as a token", "/v1/verify?kind=transaction", raw, receipt, "DER"),
            Body("JSON", "/v1/verify", json, Array(object.utf8), #""VALID""#),
            Body("broken JSON", "/v1/verify", json, Array(object.utf8.dropLast()), "400"),
            Body("long JSON", "/v1/verify", json, Array(long.utf8), "413"),
            Body(
                "items", "/v1/entitlements", json,
                Array(#"{"items":[{"evidence":"\#(text)"}]}"#.utf8), "com.example"),
            Body(
                "lines", "/v1/verify/batch", lines,
                Array("\(object)\n\r\n\n\(object)\r\n{}\n\(object)".utf8), #""VALID""#),
            Body("a message", RPCBytes.verify, proto, RPCBytes.request(token), ""),
            Body("a large message", RPCBytes.verify, proto, message, ""),
            Body("a large frame", RPCBytes.verify, web, RPCBytes.frame(message), "grpc-status: 0"),
            Body(
                "evidence before the call", RPCBytes.verify, proto,
                RPCBytes.request(receipt, kind: .appReceipt, isLast: false), "resource_exhausted"),
            Body(
                "bytes after a message", RPCBytes.verify, proto, message + [0x20, 0x01], "evidence",
                dependsOnSize: true),
            Body(
                "a frame with another length", RPCBytes.verify, web,
                RPCBytes.frame(message) + [0], "grpc-status", dependsOnSize: true),
        ]
    }

    private struct Answer: Hashable {
        var status: Int?
        var text: String
    }

    /// The answer over HTTP/1.1.
    private static func first(_ body: Body, each size: Int, isSized: Bool) throws -> Answer {
        let server = try RPCReceiptTests.streaming(1)
        let peer = server.connect(to: SimulatedServer.http)
        let request =
            isSized
            ? HTTPClient.post(body.path, body.bytes, type: body.type)
            : HTTPClient.post(body.path, body.bytes, type: body.type, chunk: size)
        for start in stride(from: 0, to: request.count, by: max(size, 4_000)) {
            peer.send(Array(request[start...].prefix(max(size, 4_000))))
            server.runUntilIdle()
        }
        var received: [UInt8] = []
        while case let more = peer.receive(), !more.isEmpty {
            received += more
            server.runUntilIdle()
        }
        let end = try #require(received.firstRange(of: Array("\r\n\r\n".utf8)))
        let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
        let data = Array(received[end.upperBound...])
        return Answer(
            status: Int(head.dropFirst("http/1.1 ".count).prefix(3)),
            text: head.contains("\r\ntransfer-encoding: chunked")
                ? text(ofChunks: data) : text(data))
    }

    private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    /// The data of chunks, the last one included or not.
    private static func text(ofChunks bytes: [UInt8]) -> String {
        var (data, rest): ([UInt8], ArraySlice<UInt8>) = ([], bytes[...])
        while let end = rest.firstRange(of: Array("\r\n".utf8)),
            let size = Int(text(Array(rest[..<end.lowerBound])), radix: 16)
        {
            data += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        return text(data)
    }

    /// The answer over HTTP/2.
    private static func second(_ body: Body, each size: Int, isSized: Bool) throws -> Answer {
        let peer = SimulatedHTTP2Peer(try RPCReceiptTests.streaming(1))
        let length = isSized ? [("content-length", "\(body.bytes.count)")] : []
        peer.send(HTTP2Bytes.head(1, HTTP2Bytes.fields(body.path, type: body.type, length)))
        var rest = body.bytes[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(max(size, 4_000)))
            rest = rest.dropFirst(part.count)
            peer.send(HTTP2Bytes.data(1, part, ends: rest.isEmpty, each: size))
        }
        return Answer(status: peer[1].status, text: peer[1].text)
    }

    @Test("a closed connection leaves nothing of its bodies")
    func closed() throws {
        let message = RPCBytes.request(try Minted.token(.transaction))
        let path = RPCBytes.verify
        let first = HTTPClient.post(path, message, type: Self.proto)
        let second = HTTP2Bytes.start + HTTP2Bytes.post(1, path, message, type: Self.proto)
        let part =
            HTTP2Bytes.head(3, HTTP2Bytes.fields(path, type: Self.proto))
            + HTTP2Bytes.data(3, Array(message.prefix(50)))
        let cases: [(name: String, bytes: [UInt8])] = [
            ("a whole body", first), ("a part of a body", Array(first.dropLast(5))),
            ("a whole body of HTTP/2", second), ("a part of a body of HTTP/2", second + part),
        ]
        // The seed decides how many bytes a read has.
        for (seed, (name, bytes)) in (1...8).flatMap({ seed in cases.map { (seed, $0) } }) {
            let server = try RPCReceiptTests.streaming(UInt64(seed))
            let peer = server.connect(to: SimulatedServer.http)
            peer.send(bytes)
            server.runUntilIdle()
            weak var bodies: HTTPBodies?
            server.forEachWorker { _, worker in
                for connection in worker.connections.all {
                    bodies = (connection.session as? any RequestSession)?.bodies ?? bodies
                }
            }
            #expect(bodies != nil, "\(name)")
            peer.close()
            server.pass(milliseconds: 100)
            #expect(server.heldResources.connections == 0, "\(name)")
            #expect(bodies == nil, "\(name)")
        }
    }

    @Test("each body has one answer")
    func bodies() throws {
        for body in try Self.bodies() {
            var answers: [Bool: Set<Answer>] = [:]
            for isSized in [true, false] {
                for size in [1, 61, 1_000, 16_000] where body.bytes.count < 4_000 * size {
                    let pair = Set([
                        try Self.first(body, each: size, isSized: isSized),
                        try Self.second(body, each: size, isSized: isSized),
                    ])
                    #expect(pair.count == 1, "\(body.name) in \(size), sized: \(isSized): \(pair)")
                    answers[isSized, default: []].formUnion(pair)
                }
            }
            let all = answers.values.reduce(into: Set()) { $0.formUnion($1) }
            #expect(all.count == (body.dependsOnSize ? 2 : 1), "\(body.name): \(all)")
            for answer in all {
                let text = "\(answer.status ?? 0) \(answer.text)"
                #expect(text.contains(body.answer), "\(body.name): \(text)")
            }
        }
    }
}
