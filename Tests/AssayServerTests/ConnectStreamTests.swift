import AssayBytes
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Streams of Connect over HTTP/2, of a simulated server. `buf curl` asks reflection by them.
@Suite("Streams of Connect") struct ConnectStreamTests {
    typealias Bytes = HTTP2Bytes

    private static let verifyStream = "/assay.v1.Verifier/VerifyStream"
    private static let watch = "/grpc.health.v1.Health/Watch"
    private static let reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
    private static let proto = "application/connect+proto"

    private static func head(
        _ path: String, type: String = proto, _ more: [Bytes.Field] = []
    ) -> [UInt8] {
        Bytes.head(1, Bytes.fields(path, type: type, more))
    }

    /// The content of the last frame, if it ends the stream; the messages before it.
    private static func end(
        _ answer: SimulatedHTTP2Peer.Answer
    ) -> (messages: [[UInt8]], end: String)? {
        let messages = answer.messages
        guard let last = messages.last, answer.hasEnded, answer.code ?? 0 == 0,
            answer.data[answer.data.count - last.count - 5] == 2
        else { return nil }
        return (messages.dropLast(), String(decoding: last, as: UTF8.self))
    }

    private static func code(_ end: String?) -> String? {
        let json = try? JSONDocument.parse(Array((end ?? "").utf8), limit: .max).root
        return json?["error"]?["code"]?.string
    }

    @Test("reflection")
    func reflection() throws {
        let peer = SimulatedHTTP2Peer(try SimulatedServer())
        var message = MessageBuilder()
        message.set(4, text: "assay.v1.Verifier")
        let one = RPCBytes.frame(message.bytes)
        peer.send(Self.head(Self.reflection) + Bytes.data(1, one))
        #expect(peer[1].status == 200 && peer[1].fields["content-type"] == Self.proto)
        #expect(peer[1].messages.count == 1 && !peer[1].hasEnded)
        peer.send(Bytes.data(1, one, ends: true))
        let found = try #require(Self.end(peer[1]))
        #expect(found.messages.count == 2 && found.end == "{}")
        #expect(RPCBytes.bytes(4, of: found.messages[0]) != nil)
        #expect(peer[1].grpcStatus == nil)
    }

    @Test("VerifyStream, in both codecs")
    func verifyStream() throws {
        let token = try Minted.transaction.get()
        for codec in ["proto", "json"] {
            let peer = SimulatedHTTP2Peer(try SimulatedServer())
            let message =
                codec == "proto"
                ? RPCBytes.request(token)
                : RPCBytes.json(token, kind: "EVIDENCE_KIND_TRANSACTION")
            let body = RPCBytes.frame(message) + RPCBytes.frame(message)
            peer.send(
                Self.head(Self.verifyStream, type: "application/connect+\(codec)")
                    + Bytes.data(1, body, ends: true))
            let found = try #require(Self.end(peer[1]), "\(codec)")
            #expect(found.messages.count == 2 && found.end == "{}", "\(codec)")
            let first = found.messages[0]
            let text = String(decoding: first, as: UTF8.self)
            let isValid =
                codec == "proto"
                ? RPCBytes.verification(first)?.verdict == .valid : text.contains("VERDICT_VALID")
            #expect(isValid, "\(codec)")
        }
    }

    @Test("Watch, by a page of an allowed origin, until the server drains")
    func watch() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = ["https://a.example"] }
        let peer = SimulatedHTTP2Peer(server)
        let origin = ("origin", "https://a.example")
        let body = Bytes.data(1, RPCBytes.frame([]), ends: true)
        peer.send(Self.head(Self.watch, [origin]) + body)
        #expect(peer[1].messages == [[8, 1]] && !peer[1].hasEnded)
        #expect(peer[1].fields["access-control-allow-origin"] == "https://a.example")
        server.drain()
        server.runUntilIdle()
        peer.receive()
        let found = try #require(Self.end(peer[1]))
        #expect(found.messages == [[8, 1], [8, 2]] && Self.code(found.end) == "unavailable")
    }

    @Test("what ends a stream, by Connect's codes in the last frame")
    func faults() throws {
        let good = RPCBytes.frame(RPCBytes.request(try Minted.transaction.get()))
        let table: [(name: String, fields: [Bytes.Field], body: [UInt8], code: String)] = [
            ("flags", [], [4, 0, 0, 0, 0], "invalid_argument"),
            ("the flag of the end", [], [2, 0, 0, 0, 2, 0x7B, 0x7D], "invalid_argument"),
            ("half a message", [], Array(good.dropLast()), "invalid_argument"),
            ("compressed, and no encoding", [], [1] + good.dropFirst(), "invalid_argument"),
            (
                "a message above the limit", [],
                [0, 0xFF, 0, 0, 0, 0xA2, 1, 0xF0, 0xFF, 0xFF, 7], "resource_exhausted"
            ),
            ("an encoding", [("connect-content-encoding", "zstd")], good, "unimplemented"),
            ("a version", [("connect-protocol-version", "2")], good, "invalid_argument"),
            ("a time limit", [("connect-timeout-ms", "1s")], good, "invalid_argument"),
        ]
        for (name, fields, body, code) in table {
            let peer = SimulatedHTTP2Peer(try SimulatedServer())
            peer.send(Self.head(Self.verifyStream, fields) + Bytes.data(1, body, ends: true))
            #expect(peer[1].status == 200, "\(name)")
            #expect(Self.code(Self.end(peer[1])?.end) == code, "\(name): \(peer[1].text)")
        }
        // Watch has one message.
        for count in [0, 2] {
            let peer = SimulatedHTTP2Peer(try SimulatedServer())
            let body = Array(repeatElement(RPCBytes.frame([]), count: count).joined())
            peer.send(Self.head(Self.watch) + Bytes.data(1, body, ends: true))
            #expect(Self.code(Self.end(peer[1])?.end) == "unimplemented", "\(count) messages")
        }
        // Its own field names the time limit; that of gRPC has no meaning.
        for (field, code) in [
            ("connect-timeout-ms", "deadline_exceeded"), ("grpc-timeout", nil),
        ] as [(String, String?)] {
            let server = try SimulatedServer()
            let peer = SimulatedHTTP2Peer(server)
            let value = code == nil ? "500m" : "500"
            peer.send(Self.head(Self.watch, [(field, value)]) + Bytes.data(1, RPCBytes.frame([])))
            server.pass(milliseconds: 1_000)
            peer.receive()
            let end = Self.end(peer[1])?.end
            #expect(Self.code(end) == code, "\(field)")
            #expect(end?.contains("verif") != true)
        }
    }
}
