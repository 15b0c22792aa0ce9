import Foundation
import TestSupport
import Testing

/// Runs `assay verify --server` with many items.
@Suite("assay verify of many items by a server")
struct BulkServerTests {
    private let folder = TemporaryFolder()
    private let root: String
    private let file: String
    private let tokens: [Substring]

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/root.pem"
        let minted = try Tool.run("mint", "transaction", "--ca", folder("ca"), "--count", "300")
        tokens = minted.output.split(separator: "\n")
        file = folder.write("tokens", minted.output + "x.y.z\n")
        try #require(tokens.count == 300)
    }

    private var socket: String { "unix:" + folder("socket") }

    private func serve(_ limits: String = "") throws -> ServerProcess {
        let configuration = folder.write(
            "assay.toml",
            """
            listen = ["\(socket)"]
            [limits]
            \(limits)
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            environments = ["Production"]
            roots = ["\(root)"]
            default = true
            """)
        let server = try ServerProcess(["--config", configuration])
        try #require(server.ready.hasPrefix("assay ready "), "\(server.log)")
        return server
    }

    private func verify(_ options: String...) throws -> Tool.Result {
        try Tool.run(["verify", "--kind", "transaction"] + options)
    }

    @Test("the records are those of a verification in process")
    func same() throws {
        let server = try serve()
        let here = try verify("--root", root, "--lines", file)
        let there = try verify("--server", socket, "--lines", file)
        #expect(there.status == 1 && here.status == 1)
        #expect(there.output == here.output)
        #expect(there.error.hasPrefix("VALID 300\nMALFORMED 1\ntotal 301 in "), "\(there.error)")
        #expect(server.end() == 0)
    }

    @Test(
        "no more requests are in flight than the server has memory for")
    func limits() throws {
        let server = try serve("evidence-bytes = 1048576")
        let there = try verify("--server", socket, "--lines", file)
        #expect(there.error.hasPrefix("VALID 300\nMALFORMED 1\ntotal 301 in "), "\(there.error)")
        #expect(server.end() == 0)
    }

    @Test("what a busy server refuses is retried, as work that may wait, and keeps its order")
    func busy() throws {
        let server = try BusyServer(at: folder("busy"))
        defer { server.stop() }
        let items = (1...20).map { "item \($0)" } + ["never", "last"]
        let lines = folder.write("items", items.joined(separator: "\n"))
        let answer = try verify("--server", server.address, "--lines", lines)
        #expect(answer.status == 2)
        #expect(
            answer.error.hasPrefix("VALID 21\nNO_ANSWER 1\ntotal 22 in "), "\(answer.error)")
        let records = answer.output.split(separator: "\n")
        #expect(records.count == 22)
        for (index, record) in records.enumerated() {
            #expect(record.hasPrefix("{\"line\":\(index + 1),"))
            let isRetried = record.hasSuffix("\"payload\":{\"attempt\":3}}")
            #expect(isRetried == (index != 20), "\(record)")
        }
        #expect(records[20].hasSuffix("\"error\":\"NO_ANSWER\",\"detail\":\"busy\"}"))
    }

    @Test("a server that restarts gets the rest")
    func restart() throws {
        var server = try serve()
        let (output, errors) = (folder.write("out", ""), folder.write("err", ""))
        let input = Pipe()
        let process = try ChildProcess(
            Tool.path, ["verify", "--kind", "transaction", "--server", socket, "--lines", "-"],
            input: .pipe(input), output: .file(output), error: .file(errors))
        func write(_ tokens: ArraySlice<Substring>) throws {
            let text = tokens.joined(separator: "\n") + "\n"
            try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
        }
        func lines() throws -> Int {
            try String(contentsOfFile: output, encoding: .utf8).count { $0 == "\n" }
        }
        try write(tokens[..<100])
        for _ in 0..<3000 where try lines() < 100 { usleep(10_000) }
        #expect(try lines() == 100)
        #expect(server.end() == 0)
        try write(tokens[100..<150])
        server = try serve()
        try write(tokens[150...])
        try input.fileHandleForWriting.close()
        let status = process.wait()
        let error = try String(contentsOfFile: errors, encoding: .utf8)
        #expect(status == 0, "\(error)")
        #expect(error.hasPrefix("VALID 300\ntotal 300 in "), "\(error)")
        #expect(try lines() == 300)
        #expect(server.end() == 0)
    }

    @Test("what the server does not verify has its reason; no server at all is a failure at once")
    func noAnswer() throws {
        let missing = try verify("--server", socket, "--lines", file)
        #expect(missing.status == 2 && missing.output.isEmpty)
        #expect(missing.error.contains("no such file"), "\(missing.error)")
        let server = try serve()
        let unknown = try verify("--server", socket, "--app", "other", "--lines", file)
        #expect(unknown.status == 2)
        #expect(unknown.error.hasPrefix("NO_ANSWER 301\n"), "\(unknown.error)")
        let line = try #require(unknown.output.split(separator: "\n").first)
        #expect(line.hasPrefix("{\"line\":1,\"error\":\"NO_ANSWER\",\"detail\":\""))
        #expect(line.contains("no such app entry"), "\(line)")
        #expect(server.end() == 0)
    }
}
