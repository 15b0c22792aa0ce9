import AssayIO
import Foundation
import TestSupport
import Testing

/// Tests `assay serve` when resources run out or a signal ends it.
@Suite("Hostile conditions of the process", .serialized)
struct HostileProcessTests {
    private let folder = TemporaryFolder()

    /// Starts a server from a shell, with the shell's limits.
    private func start(_ limits: String, backtraces: Bool = false) throws -> ChildProcess {
        let output = Pipe()
        let command = "\(limits) exec \(Tool.path) serve --listen unix:\(folder("s"))"
        let process = try ChildProcess(
            "/bin/bash", ["-c", command],
            environment: ["SWIFT_BACKTRACE": backtraces ? "enable=yes" : "enable=no"],
            output: .pipe(output), error: .file(folder("log")))
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        try #require(line.hasPrefix("assay ready"))
        return process
    }

    /// The frame of a ping with the id 1.
    private static let ping: [UInt8] = [0, 0, 0, 8, 0, 0, 0, 4, 0x08, 1, 0x42, 0]

    @Test("line 63: without free descriptors open connections are served, later the waiting ones")
    func descriptors() throws {
        let server = try start("ulimit -n 40;")
        defer { server.signal(SIGTERM) }
        let clients = try (0..<60).map { _ in try BlockingClient(.unix(path: folder("s"))) }
        for client in clients { try client.send(Self.ping) }
        var served: Set<Int> = []
        for round in 0..<2000 where served.count < clients.count {
            for (index, client) in clients.enumerated() where !served.contains(index) {
                guard client.hasMore(milliseconds: 0) else { continue }
                let answer = try client.receive(upTo: 100)
                #expect(!answer.isEmpty)
                served.insert(index)
                // The first connections stay open until it is clear that no more are accepted.
                if round >= 100 { client.close() }
            }
            if round == 99 {
                #expect((1...24).contains(served.count), "\(served.count)")
                // The server still answers them.
                for index in served {
                    try clients[index].send(Self.ping)
                    let answer = try clients[index].receive(upTo: 100)
                    #expect(!answer.isEmpty)
                    clients[index].close()
                }
            }
            usleep(5_000)
        }
        #expect(served.count == clients.count)
        #expect(server.isRunning)
    }

    /// Environments differ in whether the runtime's backtraces are on.
    @Test(
        "line 70: a defect ends the process with a last line that reports it",
        arguments: [false, true])
    func crashReport(backtraces: Bool) throws {
        for (signal, name) in [(SIGILL, "SIGILL"), (SIGSEGV, "SIGSEGV"), (SIGABRT, "SIGABRT")] {
            let server = try start("", backtraces: backtraces)
            server.signal(signal)
            #expect(server.wait() == -signal)
            let log = try String(contentsOfFile: folder("log"), encoding: .utf8)
            let last = log.split(separator: "\n").last ?? ""
            #expect(last.hasPrefix("assay: ended by") && last.contains(name), "\(last)")
            #expect(!last.contains("memory;"), "\(last)")
        }
    }
}
