import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// What a peer of HTTP/2 can do, line by line of HOSTILE.md, to a simulated server. Each ends as
/// the line says; another connection is served meanwhile, and nothing is held at the end.
@Suite("Hostile HTTP/2") struct HTTP2HostileTests {
    typealias Bytes = HTTP2Bytes

    /// How an attack ends.
    enum End: Equatable {
        /// The connection ends, and the fault is counted.
        case connection
        /// The connection ends, as it can.
        case closed
        /// Stream 1 is reset without an answer; the connection goes on.
        case stream
        /// Stream 1 is reset after its answer has begun; the connection goes on.
        case cut
        /// Stream 1 has this status; the connection goes on.
        case status(Int)
        /// Stream 1 has this status of gRPC; the connection goes on.
        case grpc(Int)
        /// It does no harm: the connection goes on.
        case none
    }

    struct Line: CustomTestStringConvertible, Sendable {
        let number: Int
        let name: String
        let end: End
        /// Whether the connection begins as it has to.
        var starts = true
        /// Milliseconds that pass afterwards.
        var milliseconds: UInt64 = 100
        let bytes: @Sendable () throws -> [UInt8]
        var testDescription: String { "\(number) \(name)" }

        init(
            _ number: Int, _ name: String, _ end: End, starts: Bool = true,
            after milliseconds: UInt64 = 100, _ bytes: @escaping @Sendable () throws -> [UInt8]
        ) {
            (self.number, self.name, self.end) = (number, name, end)
            (self.starts, self.milliseconds, self.bytes) = (starts, milliseconds, bytes)
        }
    }

    @Test("a line", arguments: connectionLines + headLines + fieldLines + dataLines + streamLines)
    func line(_ line: Line) throws {
        try Self.attack(line)
    }

    @Test("a line of gRPC", arguments: callLines)
    func call(_ line: Line) throws {
        try Self.attack(line)
    }

    private static func attack(_ line: Line) throws {
        let server = try SimulatedServer(seed: UInt64(line.number))
        let honest = SimulatedHTTP2Peer(server)
        let peer = SimulatedHTTP2Peer(server, starts: line.starts)
        peer.isPolite = false
        peer.send(try line.bytes())
        // Others do not wait for it.
        #expect(honest.ask(1, Bytes.get(1, "/v1/health")).status == 200)
        server.pass(milliseconds: line.milliseconds)
        peer.receive()
        switch line.end {
        case .connection:
            #expect(peer.isAtEnd)
            #expect(server.metrics.faults.values.reduce(0, +) > 0)
        case .closed: #expect(peer.isAtEnd)
        case .cut: #expect(peer[1].code != nil)
        case .stream:
            #expect(peer[1].code != nil && peer[1].status == nil)
        case .status(let status): #expect(peer[1].status == status)
        case .grpc(let status): #expect(peer[1].grpcStatus == status)
        case .none: break
        }
        if line.end != .connection, line.end != .closed {
            #expect(!peer.isAtEnd)
            let last: Int32 = 90_001
            #expect(peer.ask(last, Bytes.get(last, "/v1/health")).status == 200)
        }
        let token = RPCBytes.request(try Minted.transaction.get())
        #expect(honest.ask(3, Bytes.call(3, token)).grpcStatus == 0)
        peer.peer.reset()
        server.pass(milliseconds: 100)
        let heldResources = server.heldResources
        #expect(heldResources.evidenceBytes == 0 && heldResources.requestsInFlight == 0)
        #expect(heldResources.connections == 1)
    }

    // MARK: Lines

    static let get = Bytes.fields("/v1/health", method: "GET", type: nil)
    static let rpc = Bytes.fields(RPCBytes.verify)

    static func many(_ count: Int, _ bytes: (Int) -> [UInt8]) -> [UInt8] {
        (0..<count).flatMap(bytes)
    }

    /// A request without a body, whose head is this block.
    static func block(_ block: [UInt8]) -> [UInt8] { Bytes.frame(1, 5, 1, block) }

    static let connectionLines: [Line] = [
        Line(142, "a preface without its end", .connection, starts: false, after: 7_000) {
            HTTP2Connection.preface + [0, 0]
        },
        Line(143, "a preface that is none", .connection, starts: false) {
            Array("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".utf8)
        },
        Line(144, "HTTP/1.1 after the preface", .connection, starts: false) {
            HTTP2Connection.preface + Array(HTTPClient.get("/v1/health").utf8)
        },
        Line(145, "the preface twice", .connection) { Bytes.start },
        Line(146, "a request before SETTINGS", .connection, starts: false) {
            HTTP2Connection.preface + Bytes.get(1, "/v1/health")
        },
        Line(147, "SETTINGS of a length that is none", .connection) {
            Bytes.frame(4, 0, 0, [0, 1, 0, 0, 0])
        },
        Line(148, "SETTINGS on a stream", .connection) { Bytes.frame(4, 0, 1, []) },
        Line(149, "an acknowledgement with settings", .connection) {
            Bytes.frame(4, 1, 0, [0, 1, 0, 0, 0, 0])
        },
        Line(150, "an initial window above the largest", .connection) {
            Bytes.settings([(4, 1 << 31)])
        },
        Line(151, "a frame size below the least, and above the largest", .connection) {
            Bytes.settings([(5, 1)]) + Bytes.settings([(5, 1 << 24)])
        },
        Line(152, "a value of ENABLE_PUSH that does not exist", .connection) {
            Bytes.settings([(2, 2)])
        },
        Line(153, "a thousand settings in a frame", .connection) {
            Bytes.settings((0..<1_000).map { _ in (1, 4_096) })
        },
        Line(154, "a flood of SETTINGS", .connection) { many(5_000) { _ in Bytes.settings([]) } },
        Line(155, "a flood of acknowledgements of SETTINGS", .connection) {
            many(5_000) { _ in Bytes.frame(4, 1, 0, []) }
        },
        Line(156, "the largest header table", .none) { Bytes.settings([(1, .max)]) },
        Line(157, "an initial window that goes up and down over open streams", .connection) {
            many(90) { Bytes.head(Int32(2 * $0 + 1), rpc) }
                + many(3_000) { Bytes.settings([(4, $0 % 2 == 0 ? 0 : 1 << 30)]) }
        },
        Line(158, "a flood of PING", .connection) { many(5_000) { _ in Bytes.ping() } },
        Line(159, "a flood of answers to PING", .connection) {
            many(5_000) { _ in Bytes.ping(isAnswer: true) }
        },
        Line(160, "a PING of seven bytes", .connection) {
            Bytes.frame(6, 0, 0, [UInt8](repeating: 0, count: 7))
        },
        Line(161, "a PING on a stream", .connection) {
            Bytes.frame(6, 0, 1, [UInt8](repeating: 0, count: 8))
        },
        Line(162, "a flood of GOAWAY", .closed) {
            many(5_000) { _ in Bytes.frame(7, 0, 0, [0, 0, 0, 0, 0, 0, 0, 0]) }
        },
        Line(163, "a flood of frames that do not exist", .connection) {
            many(5_000) { _ in Bytes.frame(0xFA, 0, 0, []) }
        },
        Line(164, "a frame above the limit of 16 KB", .connection) {
            Bytes.frame(0xFA, 0, 0, [UInt8](repeating: 0, count: 16_385))
        },
        Line(165, "a frame that announces 16 MB", .connection) {
            Bytes.frame(0, 0, 1, [1], length: (1 << 24) - 1)
        },
        Line(166, "PUSH_PROMISE of a client", .connection) {
            Bytes.frame(5, 4, 1, [0, 0, 0, 2] + Bytes.block(get))
        },
    ]

    static let headLines: [Line] = [
        Line(167, "HEADERS on stream 0", .connection) { Bytes.frame(1, 5, 0, Bytes.block(get)) },
        Line(168, "a stream with an even number", .connection) {
            Bytes.frame(1, 5, 2, Bytes.block(get))
        },
        Line(169, "streams whose numbers go down", .connection) {
            Bytes.get(5, "/v1/health") + Bytes.get(3, "/v1/health")
        },
        Line(170, "HEADERS on a stream that has ended", .connection) {
            Bytes.get(1, "/v1/health") + Bytes.get(3, "/v1/health") + Bytes.get(1, "/v1/health")
        },
        Line(171, "a flood of CONTINUATION", .connection) {
            Bytes.frame(1, 1, 1, Bytes.block(get))
                + many(5_000) { _ in Bytes.frame(9, 0, 1, [0x10, 1, 0x78, 1, 0x79]) }
        },
        Line(172, "a flood of empty CONTINUATION", .connection) {
            Bytes.frame(1, 1, 1, Bytes.block(get)) + many(5_000) { _ in Bytes.frame(9, 0, 1, []) }
        },
        Line(173, "CONTINUATION without a head", .connection) { Bytes.frame(9, 4, 1, []) },
        Line(174, "another frame within a head", .connection) {
            Bytes.frame(1, 1, 1, Bytes.block(get)) + Bytes.ping()
        },
        Line(175, "CONTINUATION of another stream", .connection) {
            Bytes.frame(1, 1, 1, Bytes.block(get)) + Bytes.frame(9, 4, 3, [])
        },
        Line(176, "a head that does not end", .connection, after: 7_000) {
            Bytes.frame(1, 1, 1, Bytes.block(get))
        },
        Line(177, "a head above the limit of its bytes", .status(431)) {
            Bytes.frame(1, 1, 1, Bytes.block(get))
                + Bytes.frame(
                    9, 0, 1, Bytes.block([("x-a", String(repeating: "x", count: 16_000))]))
                + Bytes.frame(9, 4, 1, Bytes.block([("x-b", String(repeating: "x", count: 500))]))
        },
        Line(178, "a bomb of HPACK: one long field, named a thousand times", .connection) {
            // A literal that is indexed, and then references to it.
            let value = [UInt8](repeating: 0x78, count: 3_000)
            let entry = [0x40, 1, 0x61] + Bytes.length(value.count) + value
            return block(Bytes.block(get) + entry + [UInt8](repeating: 0xBE, count: 1_000))
        },
        Line(259, "the same bomb in trailers", .connection) {
            let value = [UInt8](repeating: 0x78, count: 3_000)
            let entry = [0x40, 1, 0x61] + Bytes.length(value.count) + value
            return Bytes.frame(1, 4, 1, Bytes.block(rpc) + entry)
                + Bytes.frame(1, 5, 1, [UInt8](repeating: 0xBE, count: 1_000))
        },
        Line(260, "trailers above the limit of a head", .stream) {
            let field = [("x-a", String(repeating: "x", count: 9_000))]
            return Bytes.head(1, rpc) + Bytes.frame(1, 1, 1, Bytes.block(field))
                + Bytes.frame(9, 4, 1, Bytes.block(field))
        },
        Line(261, "a field of 64 KB in a head that does not end", .connection) {
            let field = [0x10, 1, 0x61] + Bytes.length(64 << 10)
            return Bytes.frame(1, 0, 1, Bytes.block(rpc) + field)
                + many(4) { _ in Bytes.frame(9, 0, 1, [UInt8](repeating: 0x78, count: 16_000)) }
        },
        Line(262, "a path above the limit of a target", .status(414)) {
            Bytes.get(1, "/v1/health?" + String(repeating: "x", count: 8 << 10))
        },
        Line(179, "an index of HPACK that is not used", .connection) { block([0xFF, 0xFF, 0x0F]) },
        Line(180, "a number of HPACK without an end", .connection) {
            block([0xFF] + [UInt8](repeating: 0xFF, count: 20))
        },
        Line(181, "a header table above the limit", .connection) {
            block([0x3F, 0xE1, 0xFF, 0x03] + Bytes.block(get))
        },
        Line(182, "Huffman digits with a wrong end", .connection) {
            block([0x10, 0x81, 0x00, 0x81, 0x00])
        },
        Line(183, "a string of HPACK that is longer than its head", .connection) {
            block([0x10, 0x7F, 0xFF, 0x7F, 0x61])
        },
        Line(184, "padding that is longer than its frame", .connection) {
            Bytes.frame(1, 0x0D, 1, [255] + Bytes.block(get))
        },
        Line(185, "as much padding as a frame can have", .status(200)) {
            let padding = [UInt8](repeating: 0, count: 255)
            return Bytes.frame(1, 0x0D, 1, [255] + Bytes.block(get) + padding)
        },
        Line(186, "a stream that depends on itself", .none) {
            Bytes.frame(2, 0, 1, [0, 0, 0, 1, 0])
        },
        Line(267, "PRIORITY on stream 0", .connection) {
            Bytes.frame(2, 0, 0, [0, 0, 0, 1, 16])
        },
        Line(187, "a flood of PRIORITY, in loops", .connection) {
            many(5_000) {
                Bytes.frame(2, 0, Int32(2 * $0 + 1), [0x80, 0, 0, UInt8(2 * $0 % 199 + 3), 255])
            }
        },
    ]

    static let fieldLines: [Line] = [
        Line(188, "names in upper case", .stream) { block(Bytes.block(get + [("X-A", "1")])) },
        Line(189, "fields of a connection of HTTP/1.1", .stream) {
            block(Bytes.block(get + [("connection", "x-a"), ("x-a", "1")]))
        },
        Line(190, "Transfer-Encoding", .stream) {
            Bytes.head(1, Bytes.fields("/v1/verify", [("transfer-encoding", "chunked")]))
        },
        Line(191, "TE other than trailers", .stream) { block(Bytes.block(get + [("te", "gzip")])) },
        Line(192, "a request of HTTP/1.1 in a value", .stream) {
            let smuggled = "1\r\n\r\nGET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"
            return block(Bytes.block(get + [("x-a", smuggled)]))
        },
        Line(193, "a line break alone in a value, NUL in a value", .stream) {
            block(Bytes.block(get + [("x-a", "1\nx: 2"), ("x-b", "\0")]))
        },
        Line(194, "a colon, a space, a line break in a name", .stream) {
            block(Bytes.block(get + [("x-a: 1\r\nx-b", "1")]))
        },
        Line(195, "pseudo-fields after others", .stream) {
            block(Bytes.block([("x-a", "1")] + get))
        },
        Line(196, "pseudo-fields twice", .stream) {
            block(Bytes.block([(":path", "/v1/info")] + get))
        },
        Line(197, "pseudo-fields that do not exist, or of answers", .stream) {
            block(Bytes.block([(":status", "200")] + get))
        },
        Line(198, "pseudo-fields that are missing", .stream) { block(Bytes.block([])) },
        Line(199, "a path with a space, a line break and a request", .stream) {
            block(Bytes.block(get.map { $0.0 == ":path" ? ($0.0, "/ HTTP/1.1\r\nx: y") : $0 }))
        },
        Line(200, "a method with a space and a line break", .stream) {
            block(Bytes.block(get.map { $0.0 == ":method" ? ($0.0, "GET / HTTP/1.1\r\nx:") : $0 }))
        },
        Line(201, "CONNECT, with and without a path", .stream) {
            block(Bytes.block([(":method", "CONNECT")] + get.dropFirst()))
        },
        Line(202, "a Host other than the authority; DNS rebinding", .stream) {
            block(Bytes.block(get + [("host", "evil.example")]))
        },
        Line(203, "an authority with user, path or space", .stream) {
            block(
                Bytes.block(
                    get.map { $0.0 == ":authority" ? ($0.0, "a@localhost/x y") : $0 }))
        },
        Line(204, "two lengths", .stream) {
            Bytes.head(
                1, Bytes.fields("/v1/verify", [("content-length", "1"), ("content-length", "2")]))
        },
        Line(205, "a length that is no number, or negative", .stream) {
            Bytes.head(1, Bytes.fields("/v1/verify", [("content-length", "-1")]))
        },
        Line(206, "a length other than that of the data", .stream) {
            Bytes.head(
                1, Bytes.fields("/v1/verify", type: "application/json", [("content-length", "3")]))
                + Bytes.data(1, [0x7B], ends: true)
        },
        Line(207, "more data than its length", .stream) {
            Bytes.head(
                1, Bytes.fields("/v1/verify", type: "application/json", [("content-length", "1")]))
                + Bytes.data(1, [0x7B, 0x7D], ends: true)
        },
        Line(208, "a page of another site", .status(403)) {
            block(Bytes.block(get + [("origin", "https://evil.example")]))
        },
        Line(209, "two types, two keys", .stream) {
            block(Bytes.block(get + [("authorization", "a"), ("authorization", "b")]))
        },
    ]
}
