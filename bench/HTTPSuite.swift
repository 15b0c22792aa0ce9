import AssayIO
import AssayModels
import Foundation

/// HTTP against the binary protocol: the same server, the same evidence, in turns.
enum HTTPSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        var rows = Row.measuring("answers over HTTP") {
            try answers(ca, rounds: isQuick ? 1 : 7)
        }
        rows += Row.measuring("receipts over HTTP") {
            try receipts(ca, rounds: isQuick ? 20 : 160)
        }
        rows += Row.measuring("retention answer over HTTP") {
            try retention(ca, rounds: isQuick ? 1 : 7)
        }
        return rows
    }

    // MARK: Answers

    /// The load of both: connections, and requests in flight on each.
    static let (connections, depth) = (16, 64)

    private static func answers(_ ca: String, rounds: Int) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        let client = try HTTPLoad(
            server,
            requests: try tokens(ca, "transaction").map { token in
                Array(
                    ("POST /v1/verify?kind=transaction HTTP/1.1\r\nHost: localhost\r\n"
                        + "Content-Type: application/jose\r\n"
                        + "Content-Length: \(token.count)\r\n\r\n").utf8) + token
            })
        // The server builds the table of the leaf's key.
        _ = try client.answersPerProcessorSecond(seconds: 1)
        var (frames, http): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            let load = try server.load(
                ca, processors: AssayProcess.clientProcessor, isLenient: true,
                [
                    "--closed", "--connections", "\(connections)", "--depth", "\(depth)",
                    "--duration", "2",
                ])
            frames.append(load.answersPerProcessorSecond)
            http.append(try client.answersPerProcessorSecond(seconds: 2))
        }
        let ratios = zip(http, frames).map { $0 / $1 }
        return [
            Row(
                name: "answers over frames", value: frames.median, spread: frames.spread,
                unit: "/s", isMoreBetter: true, rounds: rounds),
            Row(
                name: "answers over HTTP", value: http.median, spread: http.spread, unit: "/s",
                ratio: ratios.median, ratioSpread: ratios.spread, isMoreBetter: true,
                rounds: rounds),
        ]
    }

    static func tokens(_ ca: String, _ kind: String) throws -> [[UInt8]] {
        let lines = try AssayProcess.run(
            processors: nil, ["mint", kind, "--ca", ca, "--count", "\(depth)"])
        return lines.split(separator: UInt8(ascii: "\n")).map { [UInt8]($0) }
    }

    /// Keeps the connections full of requests from one thread.
    final class HTTPLoad {
        private let server: AssayProcess.Server
        private let sockets: [LoopbackSocket]
        /// One request for each place in flight on a connection.
        private let requests: [UInt8]

        /// The beginning of the body of each answer.
        private let body: String

        init(
            _ server: AssayProcess.Server, connections: Int = connections, requests: [[UInt8]],
            body: String = #"{"verdict":"VALID""#
        ) throws {
            self.server = server
            self.body = body
            let address = try Endpoint(server.httpAddress)
            sockets = try (0..<connections).map { _ in try .connected(to: address) }
            self.requests = Array(requests.joined())
        }

        /// Answers for each second of the server's processor.
        func answersPerProcessorSecond(seconds: Double) throws -> Double {
            let process = server.process.processIdentifier
            let clock = ContinuousClock()
            let end = clock.now + .seconds(seconds)
            for socket in sockets { try socket.send(requests) }
            let before = ProcessorTime.of(process: process) ?? 0
            var count = 0
            while clock.now < end {
                for socket in sockets {
                    count += try receive(from: socket)
                    try socket.send(requests)
                }
            }
            let spent = (ProcessorTime.of(process: process) ?? 0) - before
            for socket in sockets { _ = try receive(from: socket) }
            return Double(count) * 1e9 / Double(max(spent, 1))
        }

        private var buffer = [UInt8](repeating: 0, count: 1 << 20)

        /// Receives the responses to all requests of a connection. Returns the number of verdicts:
        /// a busy machine makes the server refuse some.
        private func receive(from socket: LoopbackSocket) throws -> Int {
            var scan = HTTPScan(body: body)
            while scan.responses + scan.refused < depth {
                let received = socket.receive(into: &buffer)
                guard received > 0, scan.take(buffer[..<received]) else {
                    throw AssayProcess.Failed(description: "an answer over HTTP: \(scan.last)")
                }
            }
            return scan.responses
        }
    }

    // MARK: Receipts

    private static func receipts(_ ca: String, rounds: Int) throws -> [Row] {
        let receipt = try ReceiptWireSuite.mint(ca, 1)
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/receipt-root.pem")
        defer { server.stop() }
        let frames = try ReceiptClient(to: try Endpoint(server.address))
        let frame = frames.frame(receipt, .none)
        let socket = try LoopbackSocket.connected(to: try Endpoint(server.httpAddress))
        let request =
            Array(
                ("POST /v1/verify?kind=app-receipt&in-app=none&environment=Sandbox"
                    + "&environment=Production&timeout=20 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/pkcs7-mime\r\n"
                    + "Content-Length: \(receipt.count)\r\n\r\n").utf8) + receipt
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let (base, http) = try ReceiptWireSuite.inTurns(rounds) {
            try frames.verify(frame)
        } _: {
            try socket.send(request)
            var scan = HTTPScan()
            while scan.responses == 0 {
                let received = socket.receive(into: &buffer)
                guard received > 0, scan.take(buffer[..<received]) else {
                    throw AssayProcess.Failed(description: "the receipt over HTTP is not VALID")
                }
            }
        }
        let ratios = zip(http, base).map { $0 / $1 }
        return [
            Row(
                name: "1 MB receipt over frames", value: base.median * 1000,
                spread: base.spread * 1000, unit: "µs"),
            Row(
                name: "1 MB receipt over HTTP", value: http.median * 1000,
                spread: http.spread * 1000, unit: "µs", ratio: ratios.median,
                ratioSpread: ratios.spread),
        ]
    }
}

/// Counts responses in received bytes, and checks how the body of each begins.
private struct HTTPScan {
    private(set) var responses = 0
    /// Responses with status 429.
    private(set) var refused = 0
    /// The beginning of a response that is neither, for the message.
    private(set) var last = "nothing"
    private var rest: [UInt8] = []
    private var start = 0

    private static let lengthField = Array("Content-Length: ".utf8)
    private static let endOfHead = Array("\r\n\r\n".utf8)
    private static let refusal = Array("HTTP/1.1 429 ".utf8)
    private let body: [UInt8]

    init(body: String = #"{"verdict":"VALID""#) { self.body = Array(body.utf8) }

    /// Returns false for a response with another body.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> Bool {
        rest += bytes
        defer {
            rest.removeFirst(start)
            start = 0
        }
        while true {
            let unread = rest[start...]
            // A head has about 150 bytes.
            guard let end = unread.prefix(512).firstRange(of: Self.endOfHead) else { return true }
            guard let field = unread[..<end.lowerBound].firstRange(of: Self.lengthField) else {
                return false
            }
            var length = 0
            for digit in rest[field.upperBound...].prefix(while: { $0 >= 0x30 && $0 <= 0x39 }) {
                length = length * 10 + Int(digit - 0x30)
            }
            guard rest.count >= end.upperBound + length else { return true }
            if rest[end.upperBound...].starts(with: body) {
                responses += 1
            } else if unread.starts(with: Self.refusal) {
                refused += 1
            } else {
                last = String(decoding: unread.prefix(400), as: UTF8.self)
                return false
            }
            start = end.upperBound + length
        }
    }
}
