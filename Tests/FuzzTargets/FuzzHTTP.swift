import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import TestSupport

/// HTTP: the parsers alone, and a complete server behind a Unix socket.
extension FuzzTarget {
    private static let httpWords = [
        "Content-Length: ", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n",
        "Expect: 100-continue\r\n", "Host: a\r\n", "\r\n\r\n", "HTTP/1.1", "HTTP/1.0",
        "Content-Type: application/proto\r\n", "POST /assay.v1.Verifier/Verify HTTP/1.1\r\n",
        "Content-Type: application/grpc-web\r\n", "Content-Encoding: gzip\r\n",
        "Content-Type: application/json\r\n", "POST /v1/verify?kind=auto HTTP/1.1\r\n",
    ]

    /// Heads, bodies, queries and hosts. Invariants: the same result whole and byte by byte, no
    /// position outside of the bytes, and no loopback address but `localhost` with other letters.
    static var http: FuzzTarget {
        FuzzTarget("HTTP", seeds: httpSeeds([]), words: httpWords) { bytes in
            let all = bytes.array(0..<bytes.count)
            let whole = HTTPReading(all, step: max(all.count, 1))
            precondition(whole == HTTPReading(all, step: 1), "chunks change the reading")
            precondition(whole.end <= all.count)
            _ = HTTPQuery(bytes)
            guard let host = HTTPAuthority(bytes.httpText), host.isLoopback else { return }
            let isNumeric = host.name.allSatisfy { "0123456789.:".contains($0) }
            precondition(host.name == "localhost" || isNumeric, "a name as a loopback address")
        }
    }

    /// A connection. First four bytes: the split of the rest into writes. Invariants: every
    /// response is well-formed, and the split changes none.
    static func httpConnection(_ authority: FuzzAuthority) -> FuzzTarget {
        let server = FuzzHTTPServer(authority)
        let evidence = authority.genuine.map { ($0.kind, $0.bytes) }
        return FuzzTarget(
            "HTTPConnection", seeds: httpSeeds(evidence).map { [255, 1, 0, 40] + $0 },
            words: httpWords
        ) { bytes in server.check(bytes) }
    }

    private static func httpSeeds(_ evidence: [(kind: EvidenceKind, bytes: [UInt8])]) -> [[UInt8]] {
        let head = "HTTP/1.1\r\nHost: localhost\r\n"
        var seeds = [
            Array("GET /v1/health \(head)\r\nGET /v1/info \(head)Connection: close\r\n\r\n".utf8),
            Array("OPTIONS * \(head)Origin: https://a\r\n\r\nHEAD /v1/health \(head)\r\n".utf8),
            Array(
                ("POST /v1/verify \(head)Content-Type: application/json\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n"
                    + "1b\r\n{\"kind\":\"auto\",\"evidence\":\"\r\n3\r\na.b\r\n2\r\n\"}\r\n"
                    + "0\r\n\r\n").utf8),
        ]
        for (kind, bytes) in evidence {
            let start =
                "POST /v1/verify?kind=\(kind.name)&in-app=latest \(head)"
                + "Content-Type: application/jose\r\n"
            seeds.append(Array((start + "Content-Length: \(bytes.count)\r\n\r\n").utf8) + bytes)
            let size = String(bytes.count, radix: 16)
            seeds.append(
                Array((start + "Transfer-Encoding: chunked\r\n\r\n\(size)\r\n").utf8) + bytes
                    + Array("\r\n0\r\n\r\n".utf8))
            seeds += callSeeds(kind, bytes, head)
        }
        return seeds
    }
}

extension FuzzTarget {
    /// Calls of Connect and gRPC-Web.
    private static func callSeeds(
        _ kind: EvidenceKind, _ evidence: [UInt8], _ head: String
    ) -> [[UInt8]] {
        var call = MessageBuilder()
        call.set(1, varint: UInt64(kind.rawValue))
        var message = MessageBuilder()
        message.set(5, bytes: call.bytes)
        message.set(100, bytes: evidence)
        let count = message.bytes.count
        let prefix =
            [0, UInt8(count >> 24), UInt8(count >> 16 & 255)]
            + [UInt8(count >> 8 & 255), UInt8(count & 255)]
        return [("proto", message.bytes), ("grpc-web", prefix + message.bytes)].map { type, body in
            Array(
                ("POST /assay.v1.Verifier/Verify \(head)Content-Type: application/\(type)\r\n"
                    + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
        }
    }
}

/// Requests as a server reads them.
private struct HTTPReading: Equatable {
    private(set) var paths: [String] = []
    private(set) var data: [UInt8] = []
    private(set) var fault: HTTPFault?
    /// Bytes that complete requests have.
    private(set) var end = 0

    /// - Parameter step: the number of bytes that arrive at a time.
    init(_ bytes: [UInt8], step: Int) {
        var arrived = 0
        var reader = HTTPHeadReader()
        do throws(HTTPFault) {
            while true {
                let unread = bytes.span.extracting(end..<arrived)
                if let head = try reader.next(in: unread) {
                    precondition(head.end <= unread.count && head.path.upperBound <= head.end)
                    paths.append(unread.extracting(head.path).httpText)
                    if let host = head[.host] {
                        let text = unread.extracting(host).httpText
                        precondition(HTTPAuthority(text) != nil, "a host that is none")
                    }
                    guard let body = try Self.body(head, bytes, from: end + head.end) else {
                        return
                    }
                    data += body.data
                    end = body.end
                    arrived = max(arrived, end)
                } else {
                    guard arrived < bytes.count else { return }
                    arrived = min(arrived + step, bytes.count)
                }
            }
        } catch {
            fault = error
        }
    }

    /// Reads a body; nil if it is incomplete.
    private static func body(
        _ head: HTTPHead, _ bytes: [UInt8], from start: Int
    ) throws(HTTPFault) -> (data: [UInt8], end: Int)? {
        var reader = HTTPBodyReader(head.body)
        var (data, position) = ([UInt8](), start)
        while true {
            switch try reader.next(in: bytes.span.extracting(position...)) {
            case .needMore: return nil
            case .framing(let count): position += count
            case .data(let count):
                precondition(count > 0 && position + count <= bytes.count)
                data += bytes[position..<position + count]
                reader.didTake(count)
                position += count
            case .end: return (data, position)
            }
        }
    }
}

/// The server, started once, with limits that an input of a few kilobytes can reach.
final class FuzzHTTPServer: Sendable {
    private let authority: FuzzAuthority
    private let limits: ServerLimits
    private let endpoint = Locked<Endpoint?>(nil)

    init(_ authority: FuzzAuthority, _ change: (inout ServerLimits) -> Void = { _ in }) {
        self.authority = authority
        var limits = FuzzServer.limits
        change(&limits)
        self.limits = limits
    }

    private struct NoLog: LogSink { func write(_ line: String) {} }

    private func started() -> Endpoint {
        endpoint.withLock { endpoint in
            if let endpoint { return endpoint }
            let path = "/tmp/assay-fuzz-http-\(SystemClock.monotonicNanoseconds).sock"
            let app = AppEntry(
                verifier: Verifier(trust: authority.trust), policy: FuzzAuthority.policy)
            let configuration = ServerConfiguration(
                listen: [.unixHTTP(path: path)], apps: ["": app], defaultApp: "", workers: 2,
                limits: limits, log: NoLog(), clock: { FuzzAuthority.now })
            guard let server = try? Server(configuration), let bound = server.endpoints.first else {
                preconditionFailure("no server")
            }
            endpoint = bound
            return bound
        }
    }

    func check(_ bytes: Span<UInt8>) {
        guard bytes.count > 4 else { return }
        let stream = bytes.array(4..<bytes.count)
        let cuts = (0..<4).map { Int(bytes[$0]) * 8 + 1 }
        let whole = responses(to: stream, cuts: [stream.count])
        precondition(whole.hasPrefix("HTTP/1.1 ") || whole.isEmpty, "no response: \(whole)")
        let cut = responses(to: stream, cuts: cuts)
        precondition(whole == cut, "chunks change the responses:\n\(whole)\n\(cut)")
        precondition(!whole.contains("HTTP/1.1 500"), whole)
    }

    private func responses(to stream: [UInt8], cuts: [Int]) -> String {
        String(decoding: answers(to: stream, cuts: cuts), as: UTF8.self)
    }

    /// Writes the stream in slices, ends it, and reads until the server closes.
    func answers(to stream: [UInt8], cuts: [Int]) -> [UInt8] {
        do {
            let client = try BlockingClient(started())
            var (position, index) = (0, 0)
            while position < stream.count {
                let end = min(position + cuts[index % cuts.count], stream.count)
                // The server closes after a fault.
                do { try client.send(Array(stream[position..<end])) } catch { break }
                (position, index) = (end, index + 1)
            }
            client.finishWriting()
            return try client.receiveToEnd()
        } catch {
            preconditionFailure("\(error)")
        }
    }
}
