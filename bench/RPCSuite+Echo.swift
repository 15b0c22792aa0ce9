import AssayIO
import Foundation

/// Calls by h2load to Assay, and to gRPC's own server for C++, which answers with the same number
/// of bytes without looking at the request.
extension RPCSuite {
    static func echo(_ ca: String, rounds: Int) throws -> [Row] {
        let token = try AssayProcess.run(processors: nil, ["mint", "transaction", "--ca", ca])
        // Whatever the machine does meanwhile, nothing is refused.
        let message = RPCMessages.frame(
            RPCMessages.request(Array(token.dropLast()), call, mayWait: true))
        let file = ca + "/request"
        try Data(message).write(to: URL(fileURLWithPath: file))
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: ca + "/root.pem")
        defer { server.stop() }
        let client = try HTTP2Client(to: try Endpoint(server.httpAddress))
        let request = try client.begin(.grpc(RPCMessages.verify), message)
        try client.flush()
        while !request.isClosed { try client.receive() }
        let answer = request.received.count
        let echo = try EchoServer(ca, answerBytes: answer - RPCMessages.prefixBytes)
        defer { echo.stop() }
        let address = server.httpAddress.replacing("http://", with: "")
        func rate(_ address: String, _ process: Int32) throws -> Double {
            try H2Load.answersPerProcessorSecond(
                address, process, file, answer, count: rounds > 1 ? 60_000 : 10_000)
        }
        // The server builds the table of the leaf's key.
        _ = try rate(address, server.process.processIdentifier)
        var (assay, echoes): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            echoes.append(try rate("127.0.0.1:\(echo.port)", echo.process.processIdentifier))
            assay.append(try rate(address, server.process.processIdentifier))
        }
        let ratios = zip(assay, echoes).map { $0 / $1 }
        return [
            Row(
                name: "h2load, gRPC's server, which verifies nothing", value: echoes.median,
                spread: echoes.spread, unit: "/s", isMoreBetter: true, rounds: rounds),
            Row(
                name: "h2load, Assay, verifying", value: assay.median, spread: assay.spread,
                unit: "/s", ratio: ratios.median, ratioSpread: ratios.spread, isMoreBetter: true,
                rounds: rounds),
        ]
    }
}

/// `bench/echo.cc`, built and running on the server's processor.
private final class EchoServer {
    let process = Process()
    let port: String

    init(_ folder: String, answerBytes: Int) throws {
        let program = folder + "/echo"
        let build = "g++ -O2 -std=c++17 -o \(program) bench/echo.cc $(pkg-config --libs grpc++)"
        do {
            _ = try Command.run("/bin/sh", ["-c", build])
        } catch {
            throw AssayProcess.Failed(
                description: "bench/echo.cc was not built: apt-get install g++ libgrpc++-dev "
                    + "(\(error))")
        }
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
        process.arguments = [
            "--pdeathsig", "TERM", "taskset", "-c", AssayProcess.serverProcessor, program,
            "\(answerBytes)",
        ]
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        port = line.trimmingCharacters(in: .whitespacesAndNewlines)
        guard !port.isEmpty else {
            throw AssayProcess.Failed(description: "bench/echo.cc did not start")
        }
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }
}

/// nghttp2's generator of load.
private enum H2Load {
    /// Makes calls with the message of a file, and returns how many are answered for each second of
    /// a process's processor time. Throws unless every answer has this many bytes: a refusal has
    /// none.
    static func answersPerProcessorSecond(
        _ address: String, _ process: Int32, _ file: String, _ answerBytes: Int, count: Int
    ) throws -> Double {
        let before = ProcessorTime.of(process: process) ?? 0
        let output = try run(address, file, count: count)
        let spent = (ProcessorTime.of(process: process) ?? 0) - before
        // "traffic: 58.18MB (61006520) total, 0B (0) headers (space savings 0.00%), 57.22MB
        // (60000000) data"
        guard output.contains("\(count) succeeded"),
            output.contains("(\(count * answerBytes)) data")
        else { throw AssayProcess.Failed(description: "h2load, not all answered: \(output)") }
        return Double(count) * 1e9 / Double(max(spent, 1))
    }

    private static func run(_ address: String, _ file: String, count: Int) throws -> String {
        do {
            return try Command.run(
                "/usr/bin/taskset",
                [
                    "-c", AssayProcess.clientProcessor, "h2load", "-t", "1",
                    "-c", "\(HTTPSuite.connections)", "-m", "\(HTTPSuite.depth)", "-n", "\(count)",
                    "-H", "content-type: application/grpc", "-H", "te: trailers",
                    "-H", "grpc-timeout: 20S", "-d", file,
                    "http://\(address)\(RPCMessages.verify)",
                ])
        } catch {
            throw AssayProcess.Failed(
                description: "no h2load: apt-get install nghttp2-client (\(error))")
        }
    }
}
