import Foundation
import Glibc

/// A process that runs `assay serve`, or another command that serves; ends with its owner.
package final class ServerProcess: @unchecked Sendable {
    /// The path of the built tool. The package manager puts it beside the test runner.
    package static let tool = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appendingPathComponent("assay").path

    /// The ready line that the process printed; empty when it did not start.
    package private(set) var ready = ""
    private let process: ChildProcess
    private let logFile: URL

    /// Passes a socket as descriptor 3, like a service manager (`LISTEN_FDS`).
    private static let passing = """
        exec 3<&0 0</dev/null
        LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=assay exec "$0" "$@"
        """

    /// Limits the descriptors to the first argument.
    private static let limiting = """
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
        let output = Pipe()
        var (program, arguments) = (Self.tool, [command] + options)
        if socket != nil {
            (program, arguments) = ("/bin/sh", ["-c", Self.passing, program] + arguments)
        } else if let descriptors {
            (program, arguments) =
                ("/bin/sh", ["-c", Self.limiting, "\(descriptors)", program] + arguments)
        }
        // The sanitizer options apply to the tool, too.
        let sanitizers = ProcessInfo.processInfo.environment.filter {
            $0.key.hasSuffix("SAN_OPTIONS")
        }
        process = try ChildProcess(
            program, arguments, environment: environment.merging(sanitizers) { own, _ in own },
            input: socket.map { .descriptor($0) } ?? .none, output: .pipe(output),
            error: .file(logFile.path))
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
    package var number: Int32 { process.number }

    /// The size of the process's address space.
    package var addressBytes: Int? { AddressSpace.bytes(of: process.number) }

    /// The resident memory of the process.
    package var residentBytes: Int? { AddressSpace.residentBytes(of: process.number) }

    /// The number of open descriptors.
    package var descriptors: Int {
        let folder = "/proc/\(process.number)/fd"
        return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.count ?? 0
    }

    package func limitAddresses(to bytes: Int) throws {
        try AddressSpace.limit(process.number, to: bytes)
    }

    package func signal(_ number: Int32) { process.signal(number) }

    /// Waits for the end of the process. Returns its exit status, or the negated signal that
    /// ended it.
    package func wait() -> Int32 { process.wait() }

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
        // Begun before the log is read, so that no change is missed.
        let changes = inotify_init1(Int32(IN_CLOEXEC))
        defer { close(changes) }
        unsafe inotify_add_watch(changes, logFile.path, UInt32(IN_MODIFY))
        let end = ContinuousClock.now + .seconds(seconds)
        while log.components(separatedBy: text).count <= times {
            let left = (end - .now) / .milliseconds(1)
            var waiting = pollfd(fd: changes, events: Int16(POLLIN), revents: 0)
            guard left > 0, unsafe poll(&waiting, 1, Int32(left)) > 0 else { return false }
            var events = [UInt8](repeating: 0, count: 4_096)
            _ = unsafe read(changes, &events, events.count)
        }
        return true
    }

    deinit {
        try? FileManager.default.removeItem(at: logFile)
    }
}
