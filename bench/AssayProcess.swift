import Assay
import AssayIO
import Foundation

/// Runs this build's `assay` tool as a child process.
struct AssayProcess {
    /// The path of the tool, in the same folder as this program.
    static let tool = URL(fileURLWithPath: CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("assay").path

    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs the tool to its end and returns its standard output. Discards its messages.
    ///
    /// - Parameter isLenient: Also accepts exit status 1 with output, which `assay load` returns
    ///   if the generator was late.
    static func run(
        processors: String?, _ arguments: [String], isLenient: Bool = false
    ) throws -> Data {
        let (process, output) = make(processors, arguments)
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let status = process.terminationStatus
        guard status == 0 || isLenient && status == 1 && !data.isEmpty else {
            // The report of `assay load` is long, and its counts say why.
            let reason =
                (try? JSONDecoder().decode(Load.self, from: data))?.counts
                ?? String(decoding: data, as: UTF8.self)
            Bench.progress("  assay \(arguments.joined(separator: " ")) ended with \(status)")
            throw Failed(description: "\(reason) (assay \(arguments[0]))")
        }
        return data
    }

    /// Creates the process. If `processors` is given, `setpriv` ends the tool together with this
    /// process, even if this one is killed, and `taskset` sets the processors.
    private static func make(_ processors: String?, _ arguments: [String]) -> (Process, Pipe) {
        let process = Process()
        let output = Pipe()
        if let processors {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            process.arguments =
                ["--pdeathsig", "TERM", "taskset", "-c", processors, tool] + arguments
        } else {
            process.executableURL = URL(fileURLWithPath: tool)
            process.arguments = arguments
        }
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        return (process, output)
    }

    /// A tool process that runs in the background until it is stopped, with readable messages.
    final class Background {
        private let process: Process
        private let messages = Pipe()

        init(processors: String?, _ arguments: [String]) throws {
            (process, _) = AssayProcess.make(processors, arguments)
            process.standardOutput = FileHandle.nullDevice
            process.standardError = messages
            try process.run()
        }

        /// Waits for a message. Later messages are few and fit the pipe's buffer.
        func waitForLine(containing text: String) throws {
            var seen = ""
            while !seen.contains(text) {
                let more = messages.fileHandleForReading.availableData
                guard !more.isEmpty else { throw Failed(description: "the process ended: \(seen)") }
                seen += String(decoding: more, as: UTF8.self)
            }
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }
    }

    /// A server that is ready on TCP, on a Unix socket and for HTTP.
    final class Server {
        let process: Process
        let address: String
        let unixAddress: String
        let httpAddress: String
        /// The time from the process start until the ready line, in milliseconds.
        let readyMilliseconds: Double

        /// - Parameter configuration: A file; nil to trust `root` alone.
        init(
            processors: String?, workers: Int, root: String, engine: SignatureEngine = .best,
            configuration: String? = nil
        ) throws {
            unixAddress =
                "unix:" + NSTemporaryDirectory()
                + "assay-bench-\(ProcessInfo.processInfo.processIdentifier)"
                + "-\(Int.random(in: 0..<1_000_000)).sock"
            let (process, output) = AssayProcess.make(
                processors,
                [
                    "serve", "--listen", "tcp://127.0.0.1:0", "--listen", unixAddress,
                    "--listen", "http://127.0.0.1:0",
                    "--workers", "\(workers)", "--engine", engine.rawValue,
                ] + (configuration.map { ["--config", $0] } ?? ["--root", root]))
            let clock = ContinuousClock()
            let start = clock.now
            try process.run()
            let line = String(
                decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            readyMilliseconds = start.duration(to: clock.now).microseconds / 1000
            let words = line.split(whereSeparator: \.isWhitespace)
            guard words.count == 5, line.hasPrefix("assay ready") else {
                throw Failed(description: "the server did not start: \(line)")
            }
            self.process = process
            address = String(words[2])
            httpAddress = String(words[4])
        }

        var residentMegabytes: Double { Self.residentMegabytes(of: process.processIdentifier) }

        /// Returns 0 if the process does not exist.
        static func residentMegabytes(of process: Int32) -> Double {
            Double(ProcessorTime.residentBytes(of: process) ?? 0) / 1e6
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }

        /// Runs `assay load` against the server. Throws if a verdict is wrong.
        ///
        /// - Parameter timeout: The request timeout in seconds.
        func load(
            _ ca: String, processors: String?, overUnix: Bool = false, warmUp: Double = 1,
            timeout: Double = 10, isLenient: Bool = false, _ options: [String]
        ) throws -> Load {
            let data = try AssayProcess.run(
                processors: processors,
                [
                    "load", overUnix ? unixAddress : address, "--ca", ca, "--server-pid",
                    "\(process.processIdentifier)", "--json", "-", "--quiet", "--warm-up",
                    "\(warmUp)", "--timeout", "\(timeout)",
                ] + options, isLenient: isLenient)
            let load = try JSONDecoder().decode(Load.self, from: data)
            guard load.wrong == 0 else { throw Failed(description: "wrong verdicts") }
            return load
        }
    }

    /// The output of `assay load --json`.
    struct Load: Decodable {
        var throughput: Double
        var wrong: Int
        var refused: Int
        var errors: Int
        var unanswered: Int
        var processorsServer: Double
        var processorsGenerator: Double
        var latency: [String: Double]
        var percentiles: [Curve.Point]
        var late: Bool

        /// The latency at a percentile, `p50` or `p99`, in milliseconds.
        func milliseconds(_ percentile: String) -> Double { latency[percentile] ?? .nan }

        /// The requests that a strict run does not allow.
        var counts: String {
            "\(refused) refused, \(errors) failed, \(unanswered) without an answer, \(wrong) wrong"
        }

        /// Answers per second of the server's processor time: the throughput of a server with a
        /// processor of its own. Other load on the machine does not affect it.
        var answersPerProcessorSecond: Double { throughput / processorsServer }
    }

    /// Creates a folder with a certificate authority. The caller removes it.
    static func authority() throws -> String {
        let folder =
            NSTemporaryDirectory()
            + "assay-bench-\(ProcessInfo.processInfo.processIdentifier)"
            + "-\(Int.random(in: 0..<1_000_000))"
        _ = try run(processors: nil, ["mint", "ca", folder])
        return folder
    }

    /// One processor each for server and client, if the machine has two.
    static let serverProcessor = "0"
    static let clientProcessor = ProcessInfo.processInfo.activeProcessorCount > 1 ? "1" : "0"
}
