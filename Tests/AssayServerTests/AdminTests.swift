import AssayAdmin
import AssayClient
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Admin", .ownThread, .serialized, .timeLimit(.minutes(3))) struct AdminTests {
    @Test("each path with each method") func paths() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        let table: [(request: String, status: Int, type: String, text: String)] = [
            ("GET / HTTP/1.1", 200, "text/plain", "/healthz"),
            ("GET /healthz HTTP/1.1", 200, "text/plain", "ok"),
            ("GET /readyz HTTP/1.1", 200, "text/plain", "ready"),
            ("GET /readyz?verbose HTTP/1.1", 200, "text/plain", "ready"),
            ("GET /metrics HTTP/1.1", 200, "version=0.0.4", "# TYPE assay_ready gauge"),
            ("GET /status HTTP/1.1", 200, "text/html", "<title>Assay: serving</title>"),
            ("GET /healthz HTTP/1.0", 200, "text/plain", "ok"),
            ("GET /healthz/ HTTP/1.1", 404, "text/plain", "no such path"),
            ("GET /../etc/passwd HTTP/1.1", 404, "text/plain", "no such path"),
            ("GET /metrics%00 HTTP/1.1", 404, "text/plain", "no such path"),
            ("GET /metrics%00/status HTTP/1.1", 404, "text/plain", "no such path"),
            ("GET /metrics?%00 HTTP/1.1", 200, "version=0.0.4", "# TYPE assay_ready gauge"),
            ("GET /%6Detrics HTTP/1.1", 404, "text/plain", "no such path"),
            ("POST /nothing HTTP/1.1", 404, "text/plain", "no such path"),
            ("POST /metrics HTTP/1.1", 405, "text/plain", "only GET and HEAD"),
            ("PUT /healthz HTTP/1.1", 405, "text/plain", "only GET and HEAD"),
            ("DELETE / HTTP/1.1", 405, "text/plain", "only GET and HEAD"),
            ("get /healthz HTTP/1.1", 405, "text/plain", "only GET and HEAD"),
        ]
        for (request, status, type, text) in table {
            let answer = try admin.ask(request + "\r\n")
            #expect(answer.status == status, "\(request)")
            #expect(answer.head.contains(type), "\(request): \(answer.head)")
            #expect(answer.body.contains(text), "\(request): \(answer.body)")
            #expect(answer.head.contains("Connection: close"), "\(request)")
            let head = try admin.ask(
                request.replacing("GET ", with: "HEAD ", maxReplacements: 1) + "\r\n")
            if request.hasPrefix("GET ") {
                #expect(head.status == status && head.body.isEmpty, "\(request)")
            }
        }
        #expect(try admin.ask("PUT / HTTP/1.1\r\n").head.contains("Allow: GET, HEAD"))
    }

    @Test("exact counts after known traffic") func counts() throws {
        let clock = Atomic(SystemClock.monotonicNanoseconds)
        let admin = try AdminTest(monitor: ServerMonitor { clock.load(ordering: .relaxed) })
        defer { admin.end() }
        let token = try Minted.transaction.get()
        let client = try RawClient(admin.test.unix)
        var sent = RawClient.ping(77).count
        for id in 1...20 as ClosedRange<UInt64> {
            let request = RawClient.verify(id, .transaction, token)
            try client.send(request)
            sent += request.count
            #expect(try client.receive()?.head.id == id)
        }
        let others =
            RawClient.verify(21, .transaction, Minted.tampered(token))
            + RawClient.verify(22, .renewalInfo, token)
            + RawClient.verify(23, .transaction, token, app: "none")
            + RawClient.verify(24, .transaction, Array(repeating: 65, count: 70_000))
        try client.send(others)
        sent += others.count
        for _ in 21...24 { _ = try client.receive() }
        try client.expectPong()
        let verify =
            #"{grpc_type="unary",grpc_service="assay.v1.Assay",grpc_method="Verify"}"#
        func handled(_ code: String) -> String {
            "grpc_server_handled_total" + verify.dropLast() + ",grpc_code=\"\(code)\"}"
        }
        let verdicts = "assay_verifications_total{kind="
        let expected: [String: Double] = [
            "grpc_server_started_total" + verify: 24, handled("OK"): 23, handled("NotFound"): 1,
            "grpc_server_handling_seconds_count" + verify: 23,
            "assay_queue_delay_seconds_count": 23, "assay_batch_size_sum": 23,
            verdicts + #""transaction",verdict="VALID",environment="Sandbox",app="game"}"#: 20,
            verdicts
                + #""transaction",verdict="INVALID_SIGNATURE",environment="none",app="game"}"#: 1,
            verdicts + #""transaction",verdict="MALFORMED",environment="none",app="game"}"#: 1,
            verdicts + #""renewal-info",verdict="WRONG_KIND",environment="none",app="game"}"#: 1,
            #"assay_refused_requests_total{reason="unknown_app"}"#: 1,
            #"assay_refused_requests_total{reason="too_large"}"#: 0,
            #"assay_known_chain_lookups_total{result="miss"}"#: 2,
            #"assay_known_chain_lookups_total{result="hit"}"#: 21,
            "assay_known_chains": 1, "assay_refused_chains": 0, "assay_ready": 1,
            #"assay_frames_total{direction="received"}"#: 25,
            #"assay_frames_total{direction="sent"}"#: 25,
            "assay_connections": 1, "assay_requests_in_flight": 0,
            #"assay_bytes_total{direction="received"}"#: Double(sent),
            #"assay_connections_total{result="accepted"}"#: 1,
            #"assay_connections_total{result="refused"}"#: 0,
            #"assay_build_info{version="test"}"#: 1,
        ]
        var metrics: [String: Double] = [:]
        try admin.eventually {
            metrics = try admin.metrics()
            return metrics[#"assay_frames_total{direction="sent"}"#] == 25
        }
        for (name, value) in expected { #expect(metrics[name] == value, "\(name)") }
        #expect(metrics.keys.contains { $0.hasPrefix("assay_root_seconds_left{name=\"Apple Root") })
        #expect(metrics["assay_chain_seconds_left"] ?? 0 > 0)
        #expect(metrics["process_resident_memory_bytes"] ?? 0 > 1e6)
        #expect(metrics["process_start_time_seconds"] ?? 0 > 1.6e9)
        #expect(metrics["process_open_fds"] ?? 0 > 3)
        let page = admin.get("/status").body
        #expect(page.contains("INVALID_SIGNATURE") && page.contains("MALFORMED"))
        #expect(page.contains("game <small>app</small>"))
        // The history notes the refusals with its next sample.
        clock.add(UInt64(History.seconds) * 1_000_000_000, ordering: .relaxed)
        admin.eventually { admin.get("/status").body.contains("serving, 1 refused in the") }
        client.socket.close()
    }

    @Test("bytes are counted once, as they pass the socket", arguments: [false, true])
    func bytes(overTLS: Bool) async throws {
        let pki = try TestPKI()
        let tls = try pki.server(ofClients: false)
        let admin = try AdminTest {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = tls
        }
        defer { admin.end() }
        let receipt = try Minted.receipt(bytes: 300_000)
        let client = try AssayClient(
            address: overTLS ? admin.test.server.endpoints[2] : admin.test.tcp,
            options: ClientOptions(timeout: .seconds(30), tls: pki.client()))
        defer { client.close() }
        let call = VerifyCall(kind: .appReceipt, returnsTypedPayload: false, inApp: .none)
        let answer = try await client.verify(receipt, call)
        #expect(answer.verification.verdict == .valid)
        var metrics: [String: Double] = [:]
        try admin.eventually {
            metrics = try admin.metrics()
            return metrics[#"assay_frames_total{direction="sent"}"#] == 1
        }
        let received = Int(metrics[#"assay_bytes_total{direction="received"}"#] ?? 0)
        // A head; with TLS also a handshake, and 22 bytes for each record of up to 16 KB.
        #expect((1...5_000).contains(received - receipt.count), "\(received)")
        let sent = Int(metrics[#"assay_bytes_total{direction="sent"}"#] ?? 0)
        #expect((1...5_000).contains(sent), "\(sent)")
    }

    @Test("readiness ends with a drain, like the health call") func draining() throws {
        let admin = try AdminTest()
        let client = try RawClient(admin.test.unix)
        func isServing() throws -> Bool {
            try client.send(RawClient.frame(RequestHead(id: 5, call: .health)))
            while let head = try client.receive()?.head {
                if case .health(let serving) = head.result { return serving }
            }
            return false
        }
        #expect(try isServing())
        // A drain waits for a peer within a frame.
        let half = try RawClient(admin.test.unix)
        try half.send(Array(RawClient.ping(1).prefix(6)))
        admin.test.eventually { $0.bufferedBytes == 6 }
        admin.test.server.drain()
        admin.eventually { admin.get("/readyz").body == "draining\n" }
        #expect(admin.get("/readyz").status == 503)
        #expect(admin.get("/healthz").status == 200)
        #expect(admin.get("/status").body.contains("draining"))
        #expect(try admin.metrics()["assay_ready"] == 0)
        client.socket.close()
        half.socket.close()
        admin.test.server.wait()
        #expect(admin.get("/readyz").body == "stopped\n")
        admin.admin.stop()
        #expect(throws: BlockingClient.Failure.self) { try BlockingClient(admin.admin.endpoint) }
    }

    @Test("a starting server is alive and not ready") func starting() throws {
        let path = temporaryPath("admin")
        let admin = try AdminServer(at: .unix(path: path), of: ServerMonitor())
        defer { admin.stop() }
        func get(_ path: String) throws -> AdminTest.Answer {
            let client = try BlockingClient(admin.endpoint)
            try client.send(Array("GET \(path) HTTP/1.0\r\n\r\n".utf8))
            return AdminTest.answer(try client.receiveToEnd())
        }
        #expect(try get("/healthz").status == 200)
        for path in ["/readyz", "/metrics", "/status"] {
            #expect(try get(path).status == 503 && get(path).body == "starting\n")
        }
    }

    @Test("a server that has started is ready, without a wait") func started() throws {
        for _ in 0..<5 {
            let monitor = ServerMonitor()
            let test = try SocketServer { $0.monitor = monitor }
            #expect(monitor.latest?.state.phase == .serving)
            test.server.drain()
            test.server.wait()
        }
    }

    @Test(
        "all paths report a blocked event loop at once",
        .enabled(if: TimedTests.areEnabled)
    )
    func stuck() throws {
        let clock = HeldClock()
        let passed = Atomic<UInt64>(0)
        let monitor = ServerMonitor {
            SystemClock.monotonicNanoseconds + passed.load(ordering: .relaxed)
        }
        let admin = try AdminTest({ $0.hold(by: clock) }, monitor: monitor)
        // The loop calls the clock when it publishes; the test holds that call.
        clock.arm()
        clock.isHeld.wait()
        passed.store(3_000_000_000, ordering: .relaxed)
        #expect(admin.get("/healthz").status == 503)
        #expect(admin.get("/healthz").body.contains("has not run"))
        #expect(admin.get("/readyz").status == 503)
        let before = ContinuousClock.now
        #expect(admin.get("/status").body.contains("not responding"))
        #expect(try admin.metrics()["assay_state_age_seconds"] ?? 0 > 2)
        #expect(ContinuousClock.now - before < .seconds(5))
        passed.store(0, ordering: .relaxed)
        clock.release.open()
        admin.eventually { admin.get("/healthz").status == 200 }
        admin.end()
    }

    @Test("curves and quantiles") func distribution() {
        var sizes = Distribution(bounds: [10, 20, 40])
        #expect(sizes.quantile(0.5) == nil)
        for value in [1, 10, 11, 20, 40] as [UInt64] { sizes.add(value) }
        let earlier = sizes
        sizes.add(41)
        sizes.add(.max >> 1)
        #expect(sizes.counts == [2, 2, 1, 2] && sizes.count == 7)
        #expect(sizes.since(earlier).counts == [0, 0, 0, 2])
        #expect(earlier.quantile(0.4) == 10 && earlier.quantile(0.8) == 20)
        #expect(earlier.quantile(1) == 40 && sizes.quantile(1) == 40)
    }
}
