import Assay
import AssayIO
import AssayModels
import AssayWire
import Glibc
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct ReloadTests {
    /// Accepted requests keep the app entry that they were accepted with.
    @Test func acceptedRequestsKeepTheirEntry() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        var first: ServerConfiguration?
        let test = try TestServer(heldBy: clock) {
            first = $0
        }
        var second = try #require(first)
        second.apps["other"] = second.apps["game"]
        second.apps["game"] = second.apps["game"]?.with(Policy(bundleId: "com.example.other"))
        second.limits.requestsInFlight = 7
        let client = try RawClient(test.unix)
        try client.expectPong()
        clock.arm()
        try client.send(RawClient.verify(1, .transaction, token))
        clock.isHeld.wait()
        #expect(test.server.reload(second) == [])
        #expect(test.log.count(of: "\"event\":\"trusted_root\"") >= 2)
        try client.send(
            RawClient.verify(2, .transaction, token, app: "game")
                + RawClient.verify(3, .transaction, token, app: "other"))
        clock.release.open()
        var verdicts: [UInt64: Verdict] = [:]
        for _ in 0..<3 {
            guard let head = try client.receive()?.head,
                case .verification(let answer) = head.result
            else { continue }
            verdicts[head.id] = answer.verdict
        }
        #expect(verdicts == [1: .valid, 2: .wrongBundle, 3: .valid])
        try client.send(RawClient.frame(RequestHead(id: 4, call: .info)))
        guard case .info(let info)? = try client.receive()?.head.result else {
            Issue.record("no info")
            return
        }
        #expect(info.limits.requestsInFlight == 7)
        test.server.drain()
        test.server.wait()
    }

    @Test func changesThatNeedARestartAreReported() throws {
        var first: ServerConfiguration?
        let test = try SocketServer { first = $0 }
        var other = try #require(first)
        other.listen.append(.unix(path: "/nowhere"))
        other.workers += 1
        other.backlog += 1
        other.socketAccess.mode = 0o600
        other.admin = .unix(path: "/nowhere")
        let names = ["listen", "backlog", "workers", "unix", "admin"]
        #expect(try test.server.reload(other) == names)
        #expect(test.log.count(of: "\"event\":\"restart_needed\"") == names.count)
        // An unusable configuration changes nothing.
        for (change, error) in [
            ({ $0.apps = [:] }, ServerError.noApp),
            ({ $0.defaultApp = "none" }, .unknownDefaultApp("none")),
        ] as [((inout ServerConfiguration) -> Void, ServerError)] {
            var bad = other
            change(&bad)
            #expect(throws: error) { try test.server.reload(bad) }
        }
        let client = try RawClient(test.unix)
        try client.send(RawClient.verify(1, .transaction, try Minted.transaction.get()))
        #expect(try client.receive()?.head.status == .ok)
        test.server.drain()
        test.server.wait()
        #expect(throws: ServerError.system(.cancelled)) { try test.server.reload(other) }
    }

    /// A new setting that only a restart changes has to be reported, unless it comes from the
    /// process and not from the configuration file.
    @Test func everyFixedSettingIsReported() throws {
        let ofTheFile = ["listen", "backlog", "workers", "socketAccess", "admin"]
        let ofTheProcess = [
            "inherited", "background", "handsOver", "log", "logsDebug", "monitor", "clock",
        ]
        let fixed = ServerConfiguration(listen: [], apps: [:]).fixed
        let names = Mirror(reflecting: fixed).children.compactMap(\.label)
        #expect(Set(names) == Set(ofTheFile + ofTheProcess))
        var other = fixed
        other.listen = [.unix(path: "/nowhere")]
        other.backlog += 1
        other.workers += 1
        other.socketAccess.mode = 0o600
        other.admin = .unix(path: "/nowhere")
        #expect(fixed.differences(from: other).count == ofTheFile.count)
        #expect(fixed.differences(from: fixed) == [])
    }

    /// A frame in transit completes after a reload lowers the frame limit, so that its refusal
    /// does not close the connection.
    @Test func anArrivingFrameCompletes() throws {
        var first: ServerConfiguration?
        // One worker: an answer on another connection shows that it has read the bytes before.
        let test = try TestServer {
            $0.workers = 1
            first = $0
        }
        let receipt = try Minted.receipt(bytes: 60_000)
        let frame = RawClient.verify(5, .appReceipt, receipt)
        let client = try RawClient(test.unix)
        try client.send(Array(frame[..<20_000]))
        try client.expectPongOnAnother(test.unix)
        var smaller = try #require(first)
        smaller.limits.frameBytes = 30_000
        #expect(test.server.reload(smaller) == [])
        try client.send(Array(frame[20_000...]))
        let answer = try client.receive()?.head
        #expect(answer?.id == 5 && answer?.status == .resourceExhausted)
        try client.expectPong()
        try client.send(frame)
        try client.expectEnd(.resourceExhausted)
        test.server.drain()
        test.server.wait()
    }

    @Test("SIGHUP reloads the file; an invalid one changes nothing and is reported as at start")
    func hangUp() throws {
        let root = temporaryPath("root"), config = temporaryPath("config")
        try Present.writeRoot(root)
        let socket = temporaryPath("hup")
        func write(_ text: String) throws {
            _ = unsafe unlink(config)
            try SystemFile.create(config, Array(text.utf8), mode: 0o600)
        }
        func app(_ name: String) -> String {
            """
            [[app]]
            name = "\(name)"
            bundle-id = "\(Minted.bundleId)"
            environments = ["Sandbox"]
            development-roots = ["\(root)"]

            """
        }
        let listen = "listen = [\"unix:\(socket)\"]\n"
        try write(listen + app("one"))
        let server = try ServerProcess(["--config", config])
        try #require(!server.ready.isEmpty, "\(server.log)")
        let client = try RawClient(.unix(path: socket))
        var id: UInt64 = 0
        func status(_ name: String) throws -> AssayWire.Status? {
            id += 1
            try client.send(
                RawClient.verify(id, .transaction, try Present.token.get(), app: name))
            return try client.receive()?.head.status
        }
        #expect(try status("one") == .ok)
        #expect(try status("two") == .notFound)
        try write(listen + app("one") + app("two"))
        server.signal(SIGHUP)
        #expect(server.logs("\"event\":\"reloaded\",\"apps\":2"))
        #expect(try status("one") == .ok)
        #expect(try status("two") == .ok)

        try write(listen + app("one") + "bundle = 3\n")
        server.signal(SIGHUP)
        #expect(server.logs("\"event\":\"reload_failed\""))
        let start = try ServerProcess(["--config", config])
        #expect(start.ready.isEmpty && start.wait() == 2)
        let reason = start.log.split(separator: "\n")[0].dropFirst("assay: ".count)
        #expect(server.log.contains(reason.replacing("\"", with: "\\\"")), "\(start.log)")
        #expect(try status("two") == .ok)

        let admin = "[admin]\nlisten = \"unix:/nowhere/admin\"\n"
        try write("workers = 7\n" + listen + admin + app("two"))
        server.signal(SIGHUP)
        #expect(server.logs("\"restart_needed\",\"setting\":\"admin\""))
        #expect(server.logs("\"restart_needed\",\"setting\":\"workers\""))
        #expect(try status("one") == .notFound)
        #expect(try status("two") == .ok)
        client.socket.close()
        #expect(server.end() == 0)
    }
}

extension RawClient {
    /// Expects a pong on another connection: the server has had a turn since.
    func expectPongOnAnother(_ address: TestAddress) throws {
        try RawClient(address).expectPong()
    }
}
