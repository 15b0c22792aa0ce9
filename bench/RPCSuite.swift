import AssayIO
import AssayModels
import AssayWire
import Foundation

/// gRPC and Connect against the binary protocol: the same server, the same evidence, in turns; and
/// against gRPC's own server, which verifies nothing.
enum RPCSuite {
    static func run(only part: String?, isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let rounds = isQuick ? 1 : 7
        let parts: [(String, () throws -> [Row])] = [
            ("answers", { try answers(ca, rounds: rounds) }),
            ("h2load", { try echo(ca, rounds: rounds) }),
            ("receipts", { try receipts(ca, rounds: rounds) }),
            ("memory", { try memory(ca, megabytes: isQuick ? 1 : 16) }),
        ]
        return parts.filter { part == nil || part == $0.0 }.flatMap { name, measure in
            Row.measuring("\(name) over gRPC", measure)
        }
    }

    static let call = VerifyCall(kind: .transaction)

    // MARK: Answers

    private static func answers(_ ca: String, rounds: Int) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        let tokens = try HTTPSuite.tokens(ca, "transaction")
        let messages = tokens.map { RPCMessages.request($0, call) }
        let numbered = tokens.enumerated().map { index, token in
            RPCMessages.request(token, call, id: UInt64(index + 1))
        }
        let loads = [
            ("gRPC", try RPCLoad.load(server, .grpc, messages)),
            ("a stream of gRPC", try RPCLoad.load(server, .stream, numbered)),
            ("Connect", try connect(server, messages)),
            ("Connect and HTTP/2", try RPCLoad.load(server, .connect, messages)),
            ("Connect's JSON", try connectJSON(server, tokens)),
        ]
        // The server builds the table of the leaf's key.
        _ = try loads[0].1.answersPerProcessorSecond(seconds: 1)
        var frames: [Double] = []
        var rates = loads.map { _ in [Double]() }
        for _ in 0..<rounds {
            frames.append(try HTTPSuite.framesPerProcessorSecond(server, ca))
            for (index, (_, load)) in loads.enumerated() {
                rates[index].append(try load.answersPerProcessorSecond(seconds: 2))
            }
        }
        let base = Row(
            name: "answers over frames", value: frames.median, spread: frames.spread, unit: "/s",
            isMoreBetter: true, rounds: rounds)
        let rows = loads.indices.map { index in
            let ratios = zip(rates[index], frames).map { $0 / $1 }
            return Row(
                name: "answers over \(loads[index].0)", value: rates[index].median,
                spread: rates[index].spread, unit: "/s", ratio: ratios.median,
                ratioSpread: ratios.spread, isMoreBetter: true, rounds: rounds)
        }
        return [base] + rows
    }

    /// Connect over HTTP/1.1, with pipelining as the suite `http` has.
    private static func connect(
        _ server: AssayProcess.Server, _ messages: [[UInt8]]
    ) throws -> PipelinedLoad {
        try .http(
            server, requests: messages.map { post("application/proto", $0) },
            isRight: RPCMessages.isValid)
    }

    private static func connectJSON(
        _ server: AssayProcess.Server, _ tokens: [[UInt8]]
    ) throws -> PipelinedLoad {
        let requests = tokens.map { token in
            let text = #"{"call":{"kind":"EVIDENCE_KIND_TRANSACTION"},"evidence":""#
            let evidence = Data(token).base64EncodedString()
            return post("application/json", Array((text + evidence + "\"}").utf8))
        }
        return try .http(
            server, requests: requests, body: #"{"verification":{"verdict":"VERDICT_VALID""#)
    }

    private static func post(_ type: String, _ body: [UInt8]) -> [UInt8] {
        Array(
            ("POST \(RPCMessages.verify) HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n"
                + "Content-Length: \(body.count)\r\n\r\n").utf8) + body
    }

    // MARK: Receipts

    private static func receipts(_ ca: String, rounds: Int) throws -> [Row] {
        let receipt = try ReceiptWireSuite.mint(ca, 4)
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/receipt-root.pem")
        defer { server.stop() }
        let frames = try ReceiptClient(to: try Endpoint(server.address))
        let frame = frames.frame(receipt, .none)
        let client = try RPCReceiptClient(to: try Endpoint(server.httpAddress))
        let message = RPCReceiptClient.message(receipt)
        let process = server.process.processIdentifier
        var (base, grpc): ([Times], [Times]) = ([], [])
        // The first round meets new memory, an unknown chain and a TCP connection that has not
        // learned its capacity yet.
        for round in 0...rounds {
            let first = try times(of: process) { try frames.verify(frame) }
            let second = try times(of: process) { try client.verify(message) }
            guard round > 0 else { continue }
            base.append(first)
            grpc.append(second)
        }
        func row(_ name: String, _ value: (Times) -> Double, ratio: Bool) -> Row {
            let samples = (ratio ? grpc : base).map(value)
            let ratios = zip(samples, base).map { $0 / value($1) }
            return Row(
                name: name, value: samples.median, spread: samples.spread, unit: "µs",
                ratio: ratio ? ratios.median : nil, ratioSpread: ratio ? ratios.spread : nil,
                rounds: rounds)
        }
        return [
            row("4 MB receipt over frames", \.processor, ratio: false),
            row("4 MB receipt over gRPC", \.processor, ratio: true),
            row("4 MB receipt over frames, wall clock", \.wall, ratio: false),
            row("4 MB receipt over gRPC, wall clock", \.wall, ratio: true),
        ]
    }

    /// Microseconds for each receipt, by the clock and of the server's processor.
    private typealias Times = (wall: Double, processor: Double)

    /// Enough for the resolution of a process's time, a hundredth of a second.
    private static let receiptsAtATime = 60

    private static func times(of process: Int32, _ body: () throws -> Void) throws -> Times {
        let before = ProcessorTime.of(process: process) ?? 0
        let wall = try ContinuousClock().measure {
            for _ in 0..<receiptsAtATime { try body() }
        }
        let spent = (ProcessorTime.of(process: process) ?? 0) - before
        let count = Double(receiptsAtATime)
        return (wall.microseconds / count, Double(spent) / 1000 / count)
    }

    /// Measures the server's growth in memory per receipt that has arrived except for its end.
    private static func memory(_ ca: String, megabytes: Int) throws -> [Row] {
        let message = RPCReceiptClient.message(try ReceiptWireSuite.mint(ca, megabytes))
        let server = try AssayProcess.Server(
            processors: nil, workers: 1, root: ca + "/receipt-root.pem")
        defer { server.stop() }
        let address = try Endpoint(server.httpAddress)
        let count = 12
        let clients = try (0..<count).map { _ in try RPCReceiptClient(to: address) }
        // What a connection keeps does not count.
        for client in clients { try client.verify(message) }
        let before = server.residentMegabytes
        for client in clients { try client.begin(message) }
        // Waits until the server has read the data from the sockets.
        Thread.sleep(forTimeInterval: 0.5)
        let growth = (server.residentMegabytes - before) * 1000 / Double(count)
        for client in clients { try client.end() }
        return [
            Row(
                name: "memory of a receipt in flight over gRPC", value: max(0, growth), spread: 0,
                unit: "KB")
        ]
    }
}

/// Verifies receipts by calls of gRPC, one at a time.
private final class RPCReceiptClient {
    private let client: HTTP2Client
    private var request: HTTP2Client.Request?
    private var rest: [UInt8] = []

    init(to address: Endpoint) throws { client = try HTTP2Client(to: address) }

    /// A request with a receipt, none of whose records the answer has.
    static func message(_ receipt: [UInt8]) -> [UInt8] {
        let call = VerifyCall(
            kind: .appReceipt, expectations: Expectations(environments: [.sandbox, .production]),
            inApp: .none)
        return RPCMessages.frame(RPCMessages.request(receipt, call))
    }

    func verify(_ message: [UInt8]) throws {
        request = try client.begin(.grpc(RPCMessages.verify), message)
        try client.flush()
        try expectValid()
    }

    /// Sends all but the last 100 bytes, as the server takes them.
    func begin(_ message: [UInt8]) throws {
        rest = message.suffix(100)
        let request = try client.begin(
            .grpc(RPCMessages.verify), message.dropLast(100), isLast: false)
        self.request = request
        try client.flush()
        while !client.hasSent(request) { try client.receive() }
    }

    func end() throws {
        guard let request else { return }
        client.append(rest, to: request, isLast: true)
        try client.flush()
        try expectValid()
    }

    private func expectValid() throws {
        guard let request else { return }
        while !request.isClosed { try client.receive() }
        let answer = request.received.dropFirst(RPCMessages.prefixBytes)
        guard request.grpcStatus == "0", RPCMessages.isValid(answer) else {
            throw RPCLoad.failed(
                "the receipt is not VALID: HTTP \(request.status), "
                    + "grpc-status \(request.grpcStatus)")
        }
    }
}
