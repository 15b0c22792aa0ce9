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
        let client = try PipelinedLoad.http(
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
            frames.append(try framesPerProcessorSecond(server, ca))
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

    /// The same load by frames.
    static func framesPerProcessorSecond(
        _ server: AssayProcess.Server, _ ca: String
    ) throws -> Double {
        let load = try server.load(
            ca, processors: AssayProcess.clientProcessor, isLenient: true,
            [
                "--closed", "--connections", "\(connections)", "--depth", "\(depth)",
                "--duration", "2",
            ])
        return load.answersPerProcessorSecond
    }

    static func tokens(_ ca: String, _ kind: String) throws -> [[UInt8]] {
        let lines = try AssayProcess.run(
            processors: nil, ["mint", kind, "--ca", ca, "--count", "\(depth)"])
        return lines.split(separator: UInt8(ascii: "\n")).map { [UInt8]($0) }
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
            var scan = HTTPScan { $0.starts(with: Array(PipelinedLoad.validBody.utf8)) }
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
