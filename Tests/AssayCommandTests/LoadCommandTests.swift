import Assay
import AssayIO
import AssayModels
import AssayServer
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("assay load", .serialized)
struct LoadCommandTests {
    private let folder = TemporaryFolder()
    private let server: ServerProcess

    init() throws {
        try MintedAuthority.write(to: folder)
        server = try ServerProcess(
            [
                "--listen", "tcp://127.0.0.1:0", "--listen", "http://127.0.0.1:0", "--root",
                folder("ca") + "/root.pem", "--root",
                folder("ca") + "/receipt-root.pem",
            ])
        try #require(server.tcp != "none")
    }

    /// Runs a short load, with a timeout that suits a slow machine.
    private func load(_ options: String...) throws -> Tool.Result {
        try Tool.run(
            [
                "load", server.tcp, "--ca", folder("ca"), "--duration", "0.4", "--warm-up", "0.1",
                "--timeout", "20",
            ] + options)
    }

    private func json(_ path: String) throws -> [String: Any] {
        let object = try JSONSerialization.jsonObject(
            with: Data(contentsOf: URL(fileURLWithPath: path)))
        return try #require(object as? [String: Any])
    }

    @Test("shares of kinds, sizes and forgeries; all three reports")
    func reports() throws {
        let files = ["out.json", "out.html", "out.hgrm"].map { folder($0) }
        let result = try load(
            "--rate", "100", "--arrivals", "poisson", "--mix",
            "transaction=70,notification=10,app-receipt:16KB=20,resolve:5=20", "--forged", "20",
            "--unseen", "10", "--json", files[0], "--report", files[1], "--hgrm", files[2])
        // Status 1 if this machine was too slow to send in time. The output then says FAILED.
        #expect(result.status == 0 || result.output.contains("FAILED"), "\(result.output)")
        let object = try json(files[0])
        #expect(object["loop"] as? String == "open" && object["arrivals"] as? String == "poisson")
        #expect(object["sent"] as? Int == object["correct"] as? Int)
        let groups = try #require(object["groups"] as? [[String: Any]])
        #expect(
            groups.compactMap { $0["name"] as? String } == [
                "transaction", "forged transaction", "unknown-chain transaction", "notification",
                "forged notification", "unknown-chain notification", "app-receipt 16KB",
                "forged app-receipt 16KB", "resolve 5", "forged resolve 5",
            ])
        let page = try String(contentsOfFile: files[1], encoding: .utf8)
        #expect(page.contains("--forged 20") && page.contains("app-receipt 16KB"))
        #expect(try String(contentsOfFile: files[2], encoding: .utf8).contains("Total count"))
        // Existing reports are never overwritten.
        let again = try load("--json", files[0])
        #expect(again.status == 2 && again.error.contains("already exists"))
    }

    @Test("a closed loop, and evidence from a file")
    func closed() throws {
        let token = try Tool.run("mint", "transaction", "--ca", folder("ca"))
        let path = folder.write("token.jws", token.output)
        // The chain is known then. A closed loop sends nothing while the first answers are awaited.
        let first = try Tool.run(
            "verify", path, "--kind", "transaction", "--server", server.tcp, "--timeout", "30")
        #expect(first.status == 0, "\(first.error)")
        let result = try Tool.run(
            "load", server.tcp, "--file", "transaction=\(path)", "--closed", "-c", "2", "--depth",
            "4", "--threads", "2", "--duration", "2", "--warm-up", "0.1", "--json", "-",
            "--timeout", "20")
        #expect(result.status == 0, "\(result.error)")
        #expect(try result.json["loop"] as? String == "closed")
        #expect(try #require(try result.json["correct"] as? Int) > 8)
        #expect(result.error.contains("closed loop"), "the summary goes beside the JSON")
    }

    @Test("several protocols run one after the other, and the report compares them")
    func protocols() throws {
        let (page, file) = (folder("compared.html"), folder("compared.json"))
        let result = try Tool.run(
            "load", server.tcp, server.address("http://"), "--ca", folder("ca"), "--protocol",
            "frames,http,grpc", "--rate", "50", "--duration", "0.4", "--warm-up", "0.1",
            "--timeout", "20", "--report", page, "--json", file)
        #expect(result.status == 0 || result.output.contains("FAILED"), "\(result.output)")
        let runs = try #require(try json(file)["runs"] as? [[String: Any]])
        #expect(runs.compactMap { $0["protocol"] as? String } == ["frames", "http", "grpc"])
        #expect(runs.allSatisfy { $0["sent"] as? Int == $0["correct"] as? Int })
        let text = try String(contentsOfFile: page, encoding: .utf8)
        #expect(text.contains("How protocols") && text.contains("grpc, in detail"))
        #expect(result.output.contains("99 % within"))
    }

    @Test("an address of HTTP is enough for JSON")
    func http() throws {
        let result = try Tool.run(
            "load", server.address("http://"), "--ca", folder("ca"), "--closed", "--duration",
            "0.4", "--warm-up", "0", "--timeout", "20", "--json", "-")
        #expect(result.status == 0, "\(result.error)")
        #expect(try result.json["protocol"] as? String == "http")
    }

    @Test(
        "a protocol that an address or an option does not fit is refused",
        arguments: [
            (["tcp://a:1", "--protocol", "grpc"], "grpc needs an address such as http://"),
            (["http://a:1", "--protocol", "frames"], "frames needs an address such as tcp://"),
            (["tcp://a:1", "http://a:2", "--protocol", "grpc"], "tcp://a:1 is not used"),
            (["http://a:1", "--protocol", "grpcc"], "grpc"),
            (["http://a:1", "--protocol", "grpc,grpc"], "occurs twice"),
            (["http://a:1", "--protocol", ""], "--protocol"),
            (["http://a:1", "--may-wait"], "http has no --may-wait"),
            (["http://a:1", "--mix", "resolve:5=1"], "http has no resolve"),
            (["http://a:1", "--protocol", "http,h2", "--hgrm", "x"], "one protocol"),
            (["http://a:1", "--tls-name", "a"], "https://"),
            (["systemd:a"], "an address for servers"),
        ])
    func misfit(options: [String], reason: String) throws {
        let result = try Tool.run(["load", "--ca", folder("ca")] + options)
        #expect(result.status == 2 && result.error.contains(reason), "\(result.error)")
    }

    @Test("a search reports the highest rate within the bound")
    func sweep() throws {
        let result = try load("--sweep", "--rate", "20", "--p99", "60000", "--quiet")
        // Every rate meets this bound, so the generator or the timeout ends the search.
        #expect(result.output.contains("requests per second with p99 within"), "\(result.error)")
        #expect(result.error.contains("/s: p99"))
    }

    @Test("Ctrl-C ends a run early and prints the results so far")
    func interrupted() throws {
        let (output, messages) = (Pipe(), Pipe())
        let arguments = [
            "load", server.tcp, "--ca", folder("ca"), "--rate", "50", "--duration", "600",
            "--warm-up", "0", "--timeout", "20", "--json", folder("out.json"),
        ]
        let process = try ChildProcess(
            Tool.path, arguments, output: .pipe(output), error: .pipe(messages))
        var said = ""
        while !said.contains("correct"),
            case let more = messages.fileHandleForReading.availableData, !more.isEmpty
        {
            said += String(decoding: more, as: UTF8.self)
        }
        process.signal(SIGINT)
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        #expect(process.wait() >= 0)
        let text = String(decoding: printed, as: UTF8.self)
        #expect(text.contains("interrupted: these are the results so far"), "\(text)")
        let object = try json(folder("out.json"))
        #expect(object["interrupted"] as? Bool == true)
        #expect(try #require(object["correct"] as? Int) > 0)
    }

    /// A server whose only worker takes 10 ms for each request, and which refuses requests that
    /// would wait for 50 ms.
    private func slowServer() throws -> Server {
        let root = try Data(contentsOf: URL(fileURLWithPath: folder("ca") + "/root.pem"))
        let trust = try TrustStore.empty.pinning([UInt8](root), development: false)
        let policy = Policy(bundleId: nil, environments: [.production])
        let app = AppEntry(verifier: Verifier(trust: trust), policy: policy)
        var configuration = ServerConfiguration(
            listen: [.unix(path: folder("slow"))], apps: ["game": app], defaultApp: "game",
            workers: 1, log: NoLog(),
            clock: {
                usleep(10_000)
                return ServerConfiguration.systemClock()
            })
        configuration.handsOver = true
        configuration.limits.requestsPerSlice = 1
        configuration.limits.queueDelayMilliseconds = 50
        return try Server(configuration)
    }

    private struct NoLog: LogSink {
        func write(_ line: String) {}
    }

    @Test("--may-wait: requests are queued where others are refused")
    func mayWait() throws {
        let server = try slowServer()
        defer {
            server.drain()
            server.wait()
        }
        func run(_ options: String...) throws -> [String: Any] {
            let result = try Tool.run(
                [
                    "load", "\(server.endpoints[0])", "--ca", folder("ca"), "--closed", "--depth",
                    "64", "--duration", "1", "--warm-up", "0", "--timeout", "20", "--json", "-",
                ] + options)
            return try result.json
        }
        let refused = try run()
        #expect(try #require(refused["refused"] as? Int) > 0, "\(refused)")
        let queued = try run("--may-wait")
        #expect(queued["refused"] as? Int == 0, "\(queued)")
        // The first requests. A busy machine may send no more within the second.
        #expect(try #require(queued["correct"] as? Int) >= 64, "\(queued)")
        #expect(queued["correct"] as? Int == queued["sent"] as? Int)
    }

    @Test(
        "wrong usage is reported before anything is sent",
        arguments: [
            (["--closed", "--rate", "5"], "--closed has no rate"),
            (["--closed", "--sweep"], "--closed has no rate"),
            (["--mix", "nonsense=1"], "--mix"), (["--mix", "resolve=1"], "number of items"),
            (["--mix", "resolve:4097=1"], "number of items"),
            (["--mix", "resolve:20=0"], "above 0"),
            (["--mix", "resolve:5=1", "--unseen", "5"], "--mix has none"),
            (["--mix", "app-receipt=1"], "--mix"),
            (["--mix", "transaction:64KB=1"], "--mix"), (["--mix", "transaction=-1"], "--mix"),
            (["--mix", "app-receipt:300MB=1"], "--mix"), (["--forged", "101"], "percentages"),
            (["--forged", "60", "--unseen", "60"], "together at most 100"),
            (["--mix", "app-receipt:1KB=1", "--unseen", "5"], "--mix has none"),
            (["--rate", "0"], "above 0"), (["--depth", "1025"], "--depth"),
            (["--connections", "0"], "--connections"), (["--threads", "65"], "--threads"),
            (["--longest-wait", "0"], "--longest-wait"), (["--timeout", "31"], "30 s"),
            (["--file", "transaction=x"], "either --ca"),
            (["--report", "/nonexistent/a.html"], "can't write /nonexistent/a.html: no such"),
            (["--json", "/nonexistent/a.json"], "can't write /nonexistent/a.json"),
            (["--hgrm", "/tmp"], "/tmp already exists"),
        ])
    func usage(options: [String], reason: String) throws {
        let result = try Tool.run(["load", "tcp://127.0.0.1:1", "--ca", folder("ca")] + options)
        #expect(result.status == 2 && result.error.contains(reason), "\(result.error)")
        #expect(result.output.isEmpty)
    }

    @Test("a missing server is reported")
    func unreachable() throws {
        let result = try Tool.run(
            "load", "unix:" + folder("nobody"), "--ca", folder("ca"), "--quiet", "--report",
            folder("never.html"))
        #expect(result.status == 2 && result.error.contains("no connection"), "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: folder("never.html")))
    }
}
