import Foundation

/// The tool of this build as a child process.
struct AssayProcess {
    /// Beside this program.
    static let tool = URL(fileURLWithPath: CommandLine.arguments[0])
        .resolvingSymlinksInPath().deletingLastPathComponent().appendingPathComponent("assay").path

    struct Failed: Error, CustomStringConvertible {
        let description: String
    }

    /// Runs to its end; its standard output. Its messages go nowhere.
    static func run(
        processors: String?, allowing statuses: Set<Int32> = [0], _ arguments: [String]
    ) throws -> Data {
        let (process, output) = make(processors, arguments)
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard statuses.contains(process.terminationStatus) else {
            throw Failed(
                description: "assay \(arguments.joined(separator: " ")) ended with "
                    + "\(process.terminationStatus): \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }

    /// `taskset` sets the processors, where any are named, and becomes the tool.
    private static func make(_ processors: String?, _ arguments: [String]) -> (Process, Pipe) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: processors == nil ? tool : "/usr/bin/taskset")
        process.arguments = (processors.map { ["-c", $0, tool] } ?? []) + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        return (process, output)
    }

    /// One that runs beside others until it is stopped; its messages are read.
    final class Background {
        private let process: Process
        private let messages = Pipe()

        init(processors: String?, _ arguments: [String]) throws {
            (process, _) = AssayProcess.make(processors, arguments)
            process.standardOutput = FileHandle.nullDevice
            process.standardError = messages
            try process.run()
        }

        /// Later lines are few, and the pipe has room for them.
        func waitForLine(containing text: String) throws {
            var seen = ""
            while !seen.contains(text) {
                let more = messages.fileHandleForReading.availableData
                guard !more.isEmpty else { throw Failed(description: "it ended: \(seen)") }
                seen += String(decoding: more, as: UTF8.self)
            }
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }
    }

    /// A server that is ready, with an authority that it trusts.
    final class Server {
        let process: Process
        let address: String
        /// From its start until it said that it listens, in milliseconds.
        let readyMilliseconds: Double

        init(processors: String?, workers: Int, root: String) throws {
            let (process, output) = AssayProcess.make(
                processors,
                [
                    "serve", "--listen", "tcp://127.0.0.1:0", "--workers", "\(workers)", "--root",
                    root,
                ])
            let clock = ContinuousClock()
            let start = clock.now
            try process.run()
            let line = String(
                decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            readyMilliseconds = start.duration(to: clock.now).microseconds / 1000
            guard let address = line.split(whereSeparator: \.isWhitespace).last,
                line.hasPrefix("assay ready")
            else { throw Failed(description: "the server did not start: \(line)") }
            self.process = process
            self.address = String(address)
        }

        var residentMegabytes: Double {
            let path = "/proc/\(process.processIdentifier)/statm"
            let fields = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(
                separator: " ")
            let pages = fields.count > 1 ? Double(fields[1]) ?? 0 : 0
            return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1e6
        }

        func stop() {
            process.terminate()
            process.waitUntilExit()
        }
    }

    /// A folder with an authority; removed by the caller.
    static func authority() throws -> String {
        let folder =
            NSTemporaryDirectory()
            + "assay-bench-\(ProcessInfo.processInfo.processIdentifier)-\(Int.random(in: 0..<1_000_000))"
        _ = try run(processors: nil, ["mint", "ca", folder])
        return folder
    }
}
