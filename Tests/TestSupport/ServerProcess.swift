import Foundation
import Glibc

/// A process that runs `assay serve`, or another command that serves; ends with its owner.
package final class ServerProcess: @unchecked Sendable {
    /// The path of the built tool. The package manager puts it beside the test runner.
    package static let tool = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("assay").path

    /// The ready line that the process printed; empty when it did not start.
    package private(set) var ready = ""
    private let process = Process()
    private let logFile: URL

    /// Passes a socket as descriptor 3, like a service manager (`LISTEN_FDS`).
    private static let passing = """
        exec 3<&0 0</dev/null
        LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=assay exec "$0" "$@"
        """

    /// Limits the descriptors to the first argument, and closes those inherited from this
    /// process.
    private static let limiting = """
        for open in /proc/self/fd/*; do
            open=${open##*/}; if [ "$open" -gt 2 ]; then eval "exec $open>&-"; fi
        done
        ulimit -n "$0"; exec "$@"
        """

    /// - Parameter socket: a listening socket to pass to the process.
    /// - Parameter descriptors: the limit of open descriptors.
    package init(
        _ options: [String], command: String = "serve", environment: [String: String] = [:],
        passing socket: Int32? = nil, descriptors: Int? = nil
    ) throws {
        logFile = FileManager.default.temporaryDirectory
            .appendingPathComponent("assay-log-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: logFile.path, contents: nil)
        let output = Pipe()
        if let socket {
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", Self.passing, Self.tool, "serve"] + options
            process.standardInput = FileHandle(fileDescriptor: socket, closeOnDealloc: false)
        } else if let descriptors {
            process.executableURL = URL(fileURLWithPath: "/bin/bash")
            process.arguments =
                ["-c", Self.limiting, "\(descriptors)", Self.tool, "serve"] + options
        } else {
            process.executableURL = URL(fileURLWithPath: Self.tool)
            process.arguments = [command] + options
        }
        // The sanitizer options apply to the tool, too.
        let sanitizers = ProcessInfo.processInfo.environment.filter {
            $0.key.hasSuffix("SAN_OPTIONS")
        }
        process.environment = environment.merging(sanitizers) { own, _ in own }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: logFile)
        try process.run()
        var line = Data()
        // Empty at the end of the stream: the process did not start.
        while !line.contains(10), case let more = output.fileHandleForReading.availableData,
            !more.isEmpty
        {
            line += more
        }
        ready = String(decoding: line, as: UTF8.self)
    }

    package func address(_ scheme: String) -> String {
        ready.split { $0 == " " || $0 == "\n" }.first { $0.hasPrefix(scheme) }.map(String.init)
            ?? "none"
    }

    package var tcp: String { address("tcp://") }

    package var isRunning: Bool { process.isRunning }

    /// The process's identifier.
    package var number: Int32 { process.processIdentifier }

    /// The size of the process's address space.
    package var addressBytes: Int? { AddressSpace.bytes(of: process.processIdentifier) }

    /// The resident memory of the process.
    package var residentBytes: Int? { AddressSpace.residentBytes(of: process.processIdentifier) }

    /// The number of open descriptors.
    package var descriptors: Int {
        let folder = "/proc/\(process.processIdentifier)/fd"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    package func limitAddresses(to bytes: Int) throws {
        try AddressSpace.limit(process.processIdentifier, to: bytes)
    }

    package func signal(_ number: Int32) { _ = kill(process.processIdentifier, number) }

    /// Waits for the end of the process. Returns its exit status, or the negated signal that
    /// ended it.
    package func wait() -> Int32 { process.waitForExit() }

    /// Sends SIGTERM and returns the exit status.
    package func end() -> Int32 {
        signal(SIGTERM)
        return wait()
    }

    package var log: String {
        (try? String(contentsOf: logFile, encoding: .utf8)) ?? ""
    }

    /// Waits until the log contains the text `times` times.
    package func logs(_ text: String, times: Int = 1, seconds: Int = 20) -> Bool {
        for _ in 0..<seconds * 100 {
            if log.components(separatedBy: text).count > times { return true }
            usleep(10_000)
        }
        return false
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: logFile)
    }
}
