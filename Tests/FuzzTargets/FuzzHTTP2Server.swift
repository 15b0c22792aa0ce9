import AssayBytes
import AssayHTTP
import AssayModels
import AssayServer
import AssayWire

/// HTTP/2 with a complete server behind a Unix socket: streams, messages, receipts, and what ends
/// them.
extension FuzzTarget {
    /// Frames of a client. First four bytes: their split into writes. Invariants: the server reads
    /// or refuses everything and ends the connection, what it writes are frames that RFC 9113
    /// admits, and no request gets the status 500.
    static func http2Connection(_ authority: FuzzAuthority) -> FuzzTarget {
        // The client has left when answers behind a closed window are due.
        let server = FuzzHTTPServer(authority) { $0.writeStallMilliseconds = 50 }
        let evidence = authority.genuine.map { ($0.kind, $0.bytes) }
        return FuzzTarget(
            "HTTP2Connection",
            seeds: evidence.map { HTTP2Seed.calls($0, $1) } + [HTTP2Seed.documents]
                + evidence.prefix(2).map { HTTP2Seed.calls($0, $1, inBlocks: true) },
            mutate: { HTTP2Mutation.mutate($0, prefix: 4, &$1) }
        ) { bytes in
            guard bytes.count > 4 else { return }
            let frames = HTTP2Connection.preface + bytes.array(4..<bytes.count)
            let cuts = (0..<4).map { Int(bytes[$0]) * 8 + 1 }
            var output = HTTP2Output()
            output.read(server.answers(to: frames, cuts: cuts))
        }
    }
}

/// Inputs to begin with.
private enum HTTP2Seed {
    private typealias Frame = HTTP2Mutation.Frame

    /// A few large writes, so that most requests arrive whole.
    private static let start: [UInt8] = [255, 255, 7, 255] + Frame(type: 4).bytes

    /// Verifications of evidence: by gRPC, by a stream of it, by Connect, and by HTTP with the
    /// size of the body and without.
    ///
    /// - Parameter inBlocks: whether heads have CONTINUATION, and trailers end the requests.
    static func calls(
        _ kind: EvidenceKind, _ evidence: [UInt8], inBlocks: Bool = false
    ) -> [UInt8] {
        var call = MessageBuilder()
        call.set(1, varint: UInt64(kind.rawValue))
        var message = MessageBuilder()
        message.set(5, bytes: call.bytes)
        message.set(100, bytes: evidence)
        var numbered = MessageBuilder()
        numbered.set(1, varint: 7)
        let framed = RPCPrefix.bytes(message.bytes.count) + message.bytes
        let item = numbered.bytes + message.bytes
        let items = RPCPrefix.bytes(item.count) + item
        let verify = "/assay.v1.Verifier/Verify"
        let forms: [(path: String, type: String, body: [UInt8])] = [
            (verify, "application/grpc", framed),
            ("/assay.v1.Verifier/VerifyStream", "application/grpc", items + items),
            (verify, "application/proto", message.bytes),
            ("/v1/verify?kind=\(kind.name)", "application/octet-stream", evidence),
        ]
        var seed = start
        for (index, form) in forms.enumerated() {
            let stream = UInt32(2 * index + 1)
            let head = head("POST", form.path, form.type, stream)
            var data = data(form.body, stream)
            guard inBlocks else {
                seed += head.bytes + data.flatMap(\.bytes)
                continue
            }
            data[data.count - 1].flags = 0
            let trailers = HTTP2Mutation.literal("x", "y") + HTTP2Mutation.literal("z", "")
            seed += divided(head) + data.flatMap(\.bytes)
            seed += divided(Frame(type: 1, flags: 5, stream: stream, content: trailers))
        }
        return seed
    }

    /// HEADERS and CONTINUATION of a block of fields.
    private static func divided(_ block: Frame) -> [UInt8] {
        let half = block.content.count / 2
        let first = Frame(
            type: 1, flags: block.flags & 1, stream: block.stream,
            content: Array(block.content[..<half]))
        let second = Frame(
            type: 9, flags: 4, stream: block.stream, content: Array(block.content[half...]))
        return first.bytes + second.bytes
    }

    /// Requests without evidence.
    static let documents: [UInt8] = {
        var seed = start
        for (index, path) in ["/v1/health", "/v1/info", "/v1/openapi.json"].enumerated() {
            var frame = head("GET", path, "text/plain", UInt32(2 * index + 1))
            frame.flags |= 1
            seed += frame.bytes
        }
        let asked = RPCPrefix.bytes(0)
        let name = Array("assay.v1.Verifier".utf8)
        let symbol = [0x22, UInt8(name.count)] + name
        let calls: [(path: String, body: [UInt8])] = [
            ("/assay.v1.Verifier/Info", asked), ("/grpc.health.v1.Health/Watch", asked),
            (
                "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
                RPCPrefix.bytes(symbol.count) + symbol
            ),
        ]
        for (index, call) in calls.enumerated() {
            let stream = UInt32(2 * index + 7)
            seed += head("POST", call.path, "application/grpc", stream).bytes
            seed += data(call.body, stream).flatMap(\.bytes)
        }
        seed += head("POST", "/v1/verify", "application/json", 13).bytes
        seed += data(Array(#"{"kind":"auto","evidence":"a.b"}"#.utf8), 13).flatMap(\.bytes)
        seed += head("POST", "/v1/verify", "application/x-ndjson", 15).bytes
        seed += data(Array("{\"kind\":\"auto\"}\n\n{\"evidence\":1}\n".utf8), 15).flatMap(\.bytes)
        return seed
    }()

    private static func head(
        _ method: String, _ path: String, _ type: String, _ stream: UInt32
    ) -> Frame {
        let fields = [
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost"),
            ("content-type", type),
        ]
        return Frame(
            type: 1, flags: 4, stream: stream,
            content: fields.flatMap { HTTP2Mutation.literal($0, $1) })
    }

    /// Data in frames of 4 KB, the last of which ends the request.
    private static func data(_ body: [UInt8], _ stream: UInt32) -> [Frame] {
        var frames: [Frame] = []
        var rest = body[...]
        repeat {
            let part = Array(rest.prefix(4_096))
            rest = rest.dropFirst(part.count)
            frames.append(
                Frame(type: 0, flags: rest.isEmpty ? 1 : 0, stream: stream, content: part))
        } while !rest.isEmpty
        return frames
    }
}

/// The five bytes before a message of gRPC.
enum RPCPrefix {
    static func bytes(_ count: Int) -> [UInt8] {
        [0] + [24, 16, 8, 0].map { UInt8(count >> $0 & 0xFF) }
    }
}
