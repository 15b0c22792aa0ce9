import AssayIO
import AssayModels
import AssayWire
import Foundation

/// App receipts over TCP on the loopback interface, compared with the same bytes sent to a
/// process that only hashes them. The server runs on one processor, the client on another.
enum ReceiptWireSuite {
    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        var rows: [Row] = []
        for megabytes in isQuick ? [1] : [1, 4, 16] {
            let receipt = try mint(ca, megabytes)
            rows += Row.measuring("\(megabytes) MB over TCP") {
                try arrival(ca, receipt, megabytes, rounds: (isQuick ? 20 : 160) / megabytes)
            }
            rows += Row.measuring("\(megabytes) MB, openssl") {
                try openssl(ca, receipt, megabytes, rounds: isQuick ? 3 : 7)
            }
        }
        rows += Row.measuring("memory of a receipt in flight") {
            try memory(ca, try mint(ca, isQuick ? 1 : 16))
        }
        return rows
    }

    static func mint(_ ca: String, _ megabytes: Int) throws -> [UInt8] {
        [UInt8](
            try AssayProcess.run(
                processors: nil,
                ["mint", "receipt", "--ca", ca, "--size", "\(megabytes)MB", "--base64", "none"]))
    }

    // MARK: Time

    private static func arrival(
        _ ca: String, _ receipt: [UInt8], _ megabytes: Int, rounds: Int
    ) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/receipt-root.pem")
        defer { server.stop() }
        let sink = try HashingSink.Child(processors: AssayProcess.serverProcessor)
        defer { sink.stop() }
        let message = HashingSink.Child.frame(receipt)
        func row(_ name: String, _ samples: [Double], to base: [Double]) -> Row {
            // Microseconds per megabyte. The ratio is the row ÷ copying and hashing; less is
            // better.
            let scale = 1000 / Double(megabytes)
            let ratios = zip(samples, base).map { $0 / $1 }
            return Row(
                name: "\(megabytes) MB over TCP, \(name)", value: samples.median * scale,
                spread: samples.spread * scale, unit: "µs", ratio: ratios.median,
                ratioSpread: ratios.spread)
        }
        var rows: [Row] = []
        for (name, inApp) in [("no records", .none), ("latest records", .latest)]
            as [(String, InAppSelection)]
        {
            // Each selection gets its own connection, as the sink has: TCP paces a sender by the
            // connection's earlier traffic, and the connection with records in its answers
            // carries less.
            let client = try ReceiptClient(to: try Endpoint(server.address))
            let frame = client.frame(receipt, inApp)
            let (hashed, verified) = try inTurns(
                rounds, { try sink.hash(message) }, { try client.send(frame) },
                check: { try client.expectValid() })
            if rows.isEmpty { rows.append(row("copied and hashed", hashed, to: hashed)) }
            rows.append(row(name, verified, to: hashed))
        }
        return rows
    }

    /// Runs both in turn and returns their times in milliseconds, without that of `check`.
    static func inTurns(
        _ rounds: Int, _ first: () throws -> Void, _ second: () throws -> Void,
        check: () throws -> Void = {}
    ) throws -> ([Double], [Double]) {
        var (firsts, seconds): ([Double], [Double]) = ([], [])
        try onProcessor(AssayProcess.clientProcessor) {
            for round in -rounds / 4 - 2..<rounds {
                let times = (try milliseconds(first), try milliseconds(second))
                try check()
                // The first rounds meet new memory, an unknown chain and a TCP connection that
                // has not learned its capacity yet.
                guard round >= 0 else { continue }
                firsts.append(times.0)
                seconds.append(times.1)
            }
        }
        return (firsts, seconds)
    }

    private static func milliseconds(_ body: () throws -> Void) throws -> Double {
        let clock = ContinuousClock()
        return try clock.measure(body).microseconds / 1000
    }

    /// Runs `body` with the calling thread, which has to be the main thread, on the given
    /// processor.
    private static func onProcessor(_ processor: String, _ body: () throws -> Void) throws {
        try move(to: processor)
        defer { try? move(to: "0-\(ProcessInfo.processInfo.processorCount - 1)") }
        try body()
    }

    private static func move(to processors: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/taskset")
        process.arguments = ["-cp", processors, "\(ProcessInfo.processInfo.processIdentifier)"]
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
    }

    /// Measures OpenSSL's own commands on the same file, as the processor time of their
    /// processes. That includes reading the file. They verify and hash, but decode nothing.
    private static func openssl(
        _ ca: String, _ receipt: [UInt8], _ megabytes: Int, rounds: Int
    ) throws -> [Row] {
        let file = ca + "/receipt-\(megabytes)"
        try Data(receipt).write(to: URL(fileURLWithPath: file))
        let commands = [
            (
                "openssl cms -verify",
                [
                    "cms", "-verify", "-inform", "DER", "-in", file, "-CAfile",
                    ca + "/receipt-root.pem", "-purpose", "any", "-out", "/dev/null",
                ]
            ),
            ("openssl dgst -sha256", ["dgst", "-sha256", file]),
        ]
        return try commands.map { name, arguments in
            var samples: [Double] = []
            for _ in 0..<rounds {
                let before = childrensMicroseconds
                let process = Process()
                process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
                process.arguments = arguments
                process.standardOutput = FileHandle.nullDevice
                process.standardError = FileHandle.nullDevice
                try process.run()
                process.waitUntilExit()
                samples.append((childrensMicroseconds - before) / Double(megabytes))
                guard process.terminationStatus == 0 else {
                    throw AssayProcess.Failed(description: "\(name) failed")
                }
            }
            return Row(
                name: "\(megabytes) MB, \(name)", value: samples.median, spread: samples.spread,
                unit: "µs")
        }
    }

    private static var childrensMicroseconds: Double {
        var usage = rusage()
        unsafe getrusage(__rusage_who_t(RUSAGE_CHILDREN.rawValue), &usage)
        let (user, system) = (usage.ru_utime, usage.ru_stime)
        return Double(user.tv_sec + system.tv_sec) * 1e6 + Double(user.tv_usec + system.tv_usec)
    }

    // MARK: Memory

    /// Measures the server's growth in memory per receipt that has arrived except for its end.
    private static func memory(_ ca: String, _ receipt: [UInt8]) throws -> [Row] {
        let server = try AssayProcess.Server(
            processors: nil, workers: 1, root: ca + "/receipt-root.pem")
        defer { server.stop() }
        let address = try Endpoint(server.address)
        let count = 12
        let clients = try (0..<count).map { _ in try ReceiptClient(to: address) }
        // Each connection first carries a complete receipt, so that the memory that a connection
        // keeps does not count.
        let frame = clients[0].frame(receipt, .none)
        for client in clients { try client.verify(frame) }
        let before = server.residentMegabytes
        for client in clients { try client.begin(frame) }
        // Waits until the server has read the data from the sockets.
        Thread.sleep(forTimeInterval: 0.5)
        let growth = (server.residentMegabytes - before) * 1000 / Double(count)
        for client in clients { try client.end() }
        return [
            Row(
                name: "memory of a receipt in flight, no records", value: max(0, growth), spread: 0,
                unit: "KB")
        ]
    }
}

/// Sends receipts and waits for their answers, without an event loop.
final class ReceiptClient {
    private let socket: LoopbackSocket
    private let codec = MessageCodec()
    private let decoder = FrameDecoder(limits: .response)
    private var received: [UInt8] = []
    private var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    private var rest: ArraySlice<UInt8> = []

    init(to address: Endpoint) throws { socket = try .connected(to: address) }

    func frame(_ receipt: [UInt8], _ inApp: InAppSelection) -> [UInt8] {
        let call = VerifyCall(
            kind: .appReceipt, expectations: Expectations(environments: [.sandbox, .production]),
            inApp: inApp)
        var frame: [UInt8] = []
        codec.encodeFrame(
            RequestHead(id: 1, call: .verify(call), timeoutMilliseconds: 20_000), body: receipt,
            into: &frame)
        return frame
    }

    func verify(_ frame: [UInt8]) throws {
        try send(frame)
        try expectValid()
    }

    /// Sends a receipt, and waits for the last byte of its answer.
    func send(_ frame: [UInt8]) throws {
        try socket.send(frame)
        try receive()
    }

    /// Sends all but the last 100 bytes.
    func begin(_ frame: [UInt8]) throws {
        rest = frame.suffix(100)
        try socket.send(Array(frame.dropLast(100)))
    }

    func end() throws {
        try socket.send(Array(rest))
        try receive()
        try expectValid()
    }

    /// Decodes the answer that was received.
    func expectValid() throws {
        let received = received
        switch decoder.next(in: received.span) {
        case .frame(let frame):
            let head = try? codec.decodeResponse(received.span.extracting(frame.head))
            guard case .verification(let answer) = head?.result, answer.verdict == .valid else {
                throw AssayProcess.Failed(
                    description: "the receipt was not VALID: \(String(describing: head))")
            }
        case .needMore, .head, .fault: throw AssayProcess.Failed(description: "no answer")
        }
    }

    private func receive() throws {
        received.removeAll(keepingCapacity: true)
        while true {
            switch decoder.next(in: received.span) {
            case .frame: return
            case .needMore:
                let count = socket.receive(into: &buffer)
                guard count > 0 else {
                    throw AssayProcess.Failed(description: "the server closed the connection")
                }
                received += buffer[..<count]
            case .head, .fault:
                throw AssayProcess.Failed(description: "the answer is not a frame")
            }
        }
    }
}
