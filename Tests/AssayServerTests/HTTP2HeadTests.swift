import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// A head that is compared with the last one of its connection is read, and decides, as a head that
/// is the first one.
@Suite("Heads of HTTP/2 after others") struct HTTP2HeadTests {
    typealias Bytes = HTTP2Bytes

    private static let origin = "https://a.example"

    /// The head of a call that most clients send, and its neighbours: each differs in one field.
    private static let heads: [[Bytes.Field]] = {
        let call = Bytes.fields(RPCBytes.verify, [("te", "trailers"), ("grpc-timeout", "30S")])
        func with(_ name: String, _ value: String) -> [Bytes.Field] {
            call.map { $0.0 == name ? (name, value) : $0 }
        }
        let added: [Bytes.Field] = [
            ("a", "b"), ("a", "c"), ("b", "b"), ("ab", ""), ("", "ab"), ("origin", origin),
            ("expect", origin),
            ("origin", "https://b.example"), ("sec-fetch-site", "cross-site"),
            ("authorization", "Bearer key"), ("grpc-encoding", "gzip"),
            ("grpc-encoding", "other"), ("content-encoding", "gzip"), ("content-length", "9"),
            ("traceparent", "00-1"), ("traceparent", TraceTests.text), ("host", "localhost"),
            ("host", "other"),
            ("grpc-timeout", "30S"), ("content-type", "application/grpc"), ("x", "\u{1}"),
            ("x", String(repeating: "x", count: 1_100)),
            ("x", String(repeating: "x", count: 16_050)),
        ]
        return [
            call, Array(call.dropLast()), with("grpc-timeout", "31S"), with("grpc-timeout", "1n"),
            with("grpc-timeout", "S"), with("grpc-timeout", "030S"),
            with("content-type", "application/grpc+json"), with("content-type", "text/html"),
            with("content-type", "application/proto"), with(":authority", "localhosts"),
            with(":authority", "a b"), with(":method", "GET"), with(":method", "PUT"),
            with(":path", "/assay.v1.Verifier/Verifx"), with(":path", "/assay.v1.Verifier/Info"),
            with(":path", "/assay.v1.Verifier/Fetch"), with(":path", "/v1/verify"),
            with(":path", RPCBytes.verify + "?a=b"),
            Array(call[..<4]) + Array(call[4...].reversed()),
            call + (0..<40).map { ("a\($0)", "") },
        ] + added.map { call + [$0] }
    }()

    /// What a connection reads of bytes: heads with all their fields, and faults.
    private static func read(_ connection: HTTP2Connection, _ bytes: [UInt8]) throws -> [String] {
        var events: [HTTP2Event] = []
        _ = try connection.receive(bytes.span, into: &events)
        return events.compactMap { event in
            switch event {
            case .head(_, let found): describe(found)
            case .refusedHead(let fault): "\(fault)"
            case .data, .end, .closed, .pong: nil
            }
        }
    }

    private static func describe(_ found: HTTP2Head) -> String {
        func text(_ range: Range<Int>?) -> String {
            range.map { String(decoding: found.bytes[$0], as: UTF8.self) } ?? "none"
        }
        let (head, fault) = (found.head, found.fault.map { "\($0)" } ?? "")
        let fields = HTTPField.allCases.map { "\($0): \(text(head[$0]))" }
        return "\(head.method) \(text(head.path)) \(text(head.query)) \(head.body) \(fields)"
            + "\(fault) \(found.bytes.count)"
    }

    /// A head, and trailers where the request has no end.
    private static func block(_ stream: Int32, _ fields: [Bytes.Field], ends: Bool) -> [UInt8] {
        let trailers = Bytes.frame(1, 5, stream, Bytes.block([("te", "trailers")]))
        return Bytes.head(stream, fields, ends: ends) + (ends ? [] : trailers)
    }

    @Test("one head after another is read as alone, with a body or without one")
    func pairs() throws {
        let all = Self.heads.flatMap { fields in [(fields, true), (fields, false)] }
        let alone = try all.map { fields, ends in
            try Self.read(
                HTTP2Connection(HTTP2Limits()),
                Bytes.start + Self.block(1, fields, ends: ends))
        }
        for (first, expected) in zip(all, alone) {
            for (second, expectedSecond) in zip(all, alone) {
                let connection = HTTP2Connection(HTTP2Limits())
                _ = try Self.read(connection, Bytes.start)
                for (index, (head, expected)) in [
                    (first, expected), (second, expectedSecond), (second, expectedSecond),
                    (first, expected),
                ].enumerated() {
                    let stream = Int32(2 * index + 1)
                    let found = try Self.read(
                        connection, Self.block(stream, head.0, ends: head.1))
                    #expect(found == expected, "\(first), then \(second)")
                }
            }
        }
    }

    @Test("a head that arrives in parts, after the same one or another, is read as alone")
    func parts() throws {
        let call = Self.heads[0]
        for other in Self.heads.prefix(6) {
            for length in 0..<call.count {
                let connection = HTTP2Connection(HTTP2Limits())
                _ = try Self.read(connection, Bytes.start + Self.block(1, other, ends: true))
                var found: [String] = []
                for part in [
                    Bytes.frame(1, 1, 3, Bytes.block(Array(call[..<length]))),
                    Bytes.frame(9, 4, 3, Bytes.block(Array(call[length...]))),
                ] {
                    found += try Self.read(connection, Array(part.prefix(12)))
                    found += try Self.read(connection, Array(part.dropFirst(12)))
                }
                let alone = try Self.read(
                    HTTP2Connection(HTTP2Limits()), Bytes.start + Self.block(1, call, ends: true))
                #expect(found == alone, "\(other), \(length)")
            }
        }
    }

    @Test("the same head is shared, and what is kept of it is counted")
    func sharing() throws {
        let connection = HTTP2Connection(HTTP2Limits())
        func head(_ stream: Int32, _ fields: [Bytes.Field]) throws -> HTTP2Head? {
            let start = stream == 1 ? Bytes.start : []
            var events: [HTTP2Event] = []
            let bytes = start + Bytes.head(stream, fields, ends: true)
            _ = try connection.receive(bytes.span, into: &events)
            for case .head(_, let head) in events { return head }
            return nil
        }
        let (call, neighbour) = (Self.heads[0], Self.heads[2])
        let first = try head(1, call)
        #expect(first != nil)
        #expect(try head(3, call) === first)
        #expect(try head(5, neighbour) !== first)
        #expect(try head(7, call) !== first)
        // Its fields, their values, and what is decided by it. nghttp2 holds a stream more.
        let before = connection.heldBytes
        let large = call + [("x", String(repeating: "x", count: 800))]
        let kept = try head(9, large)
        #expect(try head(11, large) === kept)
        #expect(connection.heldBytes > before + 1_500)
        // A larger one is not kept.
        let long = call + [("x", String(repeating: "x", count: 1_100))]
        let other = try head(13, long)
        #expect(try head(15, long) !== other)
        #expect(connection.heldBytes < before + 4_096)
    }

    @Test("a body that arrives whole has its limit")
    func limit() throws {
        let server = try SimulatedServer { $0.limits.httpJSONBytes = 12 << 10 }
        let peer = SimulatedHTTP2Peer(server)
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        let json = Array(#"{"kind":"transaction","evidence":"\#(token)"}"#.utf8)
        for (index, excess) in [0, 1, 0].enumerated() {
            let stream = Int32(2 * index + 1)
            let space = [UInt8](repeating: 0x20, count: (12 << 10) + excess - json.count)
            let answer = peer.ask(
                stream, Bytes.post(stream, "/v1/verify", json + space, type: "application/json"))
            #expect(answer.status == (excess == 0 ? 200 : 413))
        }
    }

    @Test("a request decides by its own head, whatever the one before was")
    func decisions() throws {
        let token = RPCBytes.frame(RPCBytes.request(try Minted.transaction.get()))
        func ask(_ peer: SimulatedHTTP2Peer, _ stream: Int32, _ fields: [Bytes.Field]) -> String {
            let isRead = fields.contains { $0 == (":method", "GET") }
            let answer = peer.ask(
                stream,
                Bytes.head(stream, fields, ends: isRead)
                    + (isRead ? [] : Bytes.data(stream, token, ends: true)))
            let fields = answer.fields.filter { $0.key != "date" }.sorted { $0.key < $1.key }
            return "\(fields) \(answer.data) \(answer.code ?? 0)"
        }
        let server = try SimulatedServer {
            $0.http.allowedOrigins = [Self.origin]
            $0.http.hosts = ["other"]
        }
        let alone = Self.heads.map { ask(SimulatedHTTP2Peer(server), 1, $0) }
        #expect(Set(alone).count > 8)
        let peer = SimulatedHTTP2Peer(server)
        var stream: Int32 = 1
        let (call, valid) = (Self.heads[0], alone[0])
        #expect(valid.contains(#"(key: "grpc-status", value: "0")"#))
        for (fields, expected) in zip(Self.heads, alone) {
            for (fields, expected) in [(call, valid), (fields, expected), (fields, expected)] {
                #expect(ask(peer, stream, fields) == expected, "\(fields)")
                stream += 2
            }
        }
    }

    @Test("a reload decides anew about a head that it refuses, and about one that it accepts")
    func reload() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = [Self.origin] }
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Minted.transaction.get())
        var stream: Int32 = 1
        func ask() -> SimulatedHTTP2Peer.Answer {
            defer { stream += 2 }
            return peer.ask(stream, Bytes.call(stream, message, [("origin", Self.origin)]))
        }
        var configuration: ServerConfiguration = server.configuration
        for isAllowed in [true, false, true] {
            configuration.http.allowedOrigins = isAllowed ? [Self.origin] : []
            #expect(server.reload(configuration) == [])
            for _ in 0..<2 {
                let answer = ask()
                #expect((answer.grpcStatus == 0) == isAllowed)
                #expect(answer.fields["grpc-message"] == nil || !isAllowed)
            }
        }
    }
}
