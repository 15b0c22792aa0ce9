import AssayAdmin
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Hostile: admin", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct HostileAdminTests {
    @Test("68: an address that other machines reach is refused unless allowed") func addresses()
        throws
    {
        let table: [(address: String, any: Bool, error: AdminError?)] = [
            ("tcp://127.0.0.1:0", false, nil),
            ("tcp://127.9.8.7:0", false, nil),
            ("tcp://localhost:0", false, nil),
            ("unix:" + temporaryPath("admin"), false, nil),
            ("tcp://0.0.0.0:0", true, nil),
            (
                "tls://127.0.0.1:0", false, .notOffered(.tls(host: "127.0.0.1", port: 0))
            ),
            ("tcp://0.0.0.0:0", false, .notLocal(.tcp(host: "0.0.0.0", port: 0))),
            ("tcp://[::]:0", false, .notLocal(.tcp(host: "::", port: 0))),
            ("tcp://10.0.0.1:0", false, .notLocal(.tcp(host: "10.0.0.1", port: 0))),
            ("tcp://1.127.0.0:0", false, .notLocal(.tcp(host: "1.127.0.0", port: 0))),
            (
                "tcp://[::ffff:127.0.0.1]:0", false,
                .notLocal(.tcp(host: "::ffff:127.0.0.1", port: 0))
            ),
            (
                "tcp://localhost.example:0", false,
                .notLocal(.tcp(host: "localhost.example", port: 0))
            ),
            (
                "tcp://localhost.example:0", true,
                .notLiteral(.tcp(host: "localhost.example", port: 0))
            ),
        ]
        for (address, any, expected) in table {
            var found: AdminError?
            do throws(AdminError) {
                try AdminServer(
                    at: Endpoint(literal: address), of: ServerMonitor(), allowsAnyAddress: any
                ).stop()
            } catch { found = error }
            #expect(found == expected, "\(address)")
        }
    }

    @Test("68: a page of another site can't use its own host name") func rebinding() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        for host in ["localhost", "127.0.0.1:9", "[::1]:80", "[::1]", "127.9.8.7"] {
            #expect(try admin.ask("GET /status HTTP/1.1\r\n", host: host).status == 200, "\(host)")
        }
        for (host, status) in [
            ("evil.example", 421), ("evil.example:80", 421), ("localhost.evil.example", 421),
            ("10.1.2.3", 421),
            // No hosts.
            ("a b", 400), ("::1", 400),
        ] {
            let answer = try admin.ask("GET /status HTTP/1.1\r\n", host: host)
            #expect(answer.status == status, "\(host)")
        }
    }

    @Test("68: metrics, page and log contain nothing that a client chose")
    func noClientData() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        let client = try RawClient(admin.test.unix)
        func answers(_ requests: [[UInt8]]) throws {
            for request in requests {
                try client.send(request)
                _ = try client.receive()
            }
        }
        let mark = "XxSECRETxX"
        func requests(_ number: Int) throws -> [[UInt8]] {
            let name = "\(mark)\(number)\"}\n<script>"
            let foreign = try Minted.token(.transaction, bundleId: "com.\(mark)\(number)")
            var expectations = Expectations.none
            expectations.bundleId = name
            let id = UInt64(number * 10 + 1)
            return [
                RawClient.verify(id, .transaction, foreign, app: name),
                RawClient.verify(id + 1, .transaction, foreign),
                RawClient.verify(id + 2, .transaction, Array(name.utf8)),
                RawClient.verify(
                    id + 3, .transaction, try Minted.transaction.get(), expecting: expectations),
                RawClient.verify(
                    id + 4, .transaction,
                    try Minted.token(
                        .transaction, environment: StoreEnvironment(rawValue: name))),
                [0, 0, 0, UInt8(4 + mark.utf8.count), 0, 0, 0, UInt8(mark.utf8.count)]
                    + mark.utf8,
            ]
        }
        try answers(requests(0))
        let first = try stableMetrics(admin, frames: 6)
        for number in 1...20 { try answers(requests(number)) }
        let last = try stableMetrics(admin, frames: 21 * 6)
        #expect(Set(last.keys) == Set(first.keys), "more traffic of the kind makes no new series")
        #expect(last.count < 400)
        for (location, text) in [
            ("metrics", admin.get("/metrics").body), ("status", admin.get("/status").body),
        ] {
            #expect(!text.contains(mark), "\(location)")
            #expect(!text.contains("<script"), "\(location)")
        }
        try client.send(Array("GET /\(mark) HTTP/1.1\r\nHost: \(mark)\r\n\r\n".utf8))
        _ = try client.receive()
        client.socket.close()
        admin.test.eventually { $0.connections == 0 }
        #expect(admin.test.log.count(of: "listening") == 2)
        #expect(admin.test.log.count(of: mark) == 0)
        let token = String(decoding: try Minted.transaction.get().prefix(40), as: UTF8.self)
        #expect(admin.test.log.count(of: token) == 0)
    }

    private func stableMetrics(_ admin: AdminTest, frames: Double) throws -> [String: Double] {
        var metrics: [String: Double] = [:]
        try admin.eventually {
            metrics = try admin.metrics()
            return metrics[#"assay_frames_total{direction="received"}"#] == frames
        }
        return metrics
    }

    @Test("68: oversized, malformed and endless requests affect only themselves")
    func requests() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        let table: [(what: String, bytes: String)] = [
            ("a long line", "GET /" + String(repeating: "a", count: 20_000) + " HTTP/1.1\r\n\r\n"),
            (
                "a long header",
                "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 20_000) + "\r\n\r\n"
            ),
            (
                "many headers",
                "GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 5_000) + "\r\n"
            ),
            ("no HTTP", String(repeating: "\0\u{1}\u{2}", count: 1_000) + "\r\n\r\n"),
            ("a body", "GET / HTTP/1.1\r\nHost: a b\r\nContent-Length: 99999999999\r\n\r\nx"),
            ("another", "POST / HTTP/1.1\r\nHost: [::1]\r\nTransfer-Encoding: chunked\r\n\r\nz"),
        ]
        for (what, bytes) in table {
            let client = try BlockingClient(admin.admin.endpoint)
            // The listener can close during the write.
            try? client.send(Array(bytes.utf8))
            let answer = AdminTest.answer((try? client.receiveToEnd()) ?? [])
            #expect(answer.status == 0 || (400..<500).contains(answer.status), "\(what)")
        }
        #expect(admin.get("/healthz").status == 200)
    }

    @Test(
        "68: a connection has ten seconds, also byte by byte",
        .enabled(if: TimedTests.areEnabled)
    )
    func slowloris() throws {
        let clock = Atomic<UInt64>(100_000_000_000)
        let admin = try AdminTest(clock: { clock.load(ordering: .relaxed) })
        defer { admin.end() }
        let slow = try (0..<100).map { _ in try BlockingClient(admin.admin.endpoint) }
        // 100 ms a letter, and one turn of the listener at least: the first answer can be written
        // before the turn checks its connections.
        for letter in "GET /metrics HTTP/1.1\r\nX: " + String(repeating: "a", count: 70) {
            for client in slow { try client.send(Array(String(letter).utf8)) }
            for _ in 0..<2 {
                #expect(admin.get("/healthz").status == 200, "others are served")
            }
            clock.add(100_000_000, ordering: .relaxed)
        }
        for client in slow { #expect(!client.hasMore(milliseconds: 0)) }
        clock.add(600_000_000, ordering: .relaxed)
        for client in slow { #expect(try client.receiveToEnd().isEmpty) }
        #expect(admin.get("/healthz").status == 200)
    }

    @Test(
        "68: 200 scrapes at once delay no verification",
        .enabled(if: TimedTests.areEnabled)
    )
    func scrapes() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        let client = try RawClient(admin.test.unix)
        let token = try Minted.transaction.get()
        try client.send(RawClient.verify(1, .transaction, token))
        try client.expectAnswers(1...1)
        let scrapers = try (0..<200).map { _ in try BlockingClient(admin.admin.endpoint) }
        for scraper in scrapers {
            try scraper.send(Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
        }
        try client.send(
            (2...65).flatMap { RawClient.verify($0, .transaction, token, timeout: 30_000) })
        try client.expectAnswers(2...65)
        let answers = try scrapers.map { AdminTest.answer(try $0.receiveToEnd()) }
        for answer in answers { #expect(answer.status == 200) }
        // Concurrent scrapes share a page for a moment.
        let pages = Set(answers.map(\.body))
        #expect(pages.count < 100)
        for page in pages { #expect(throws: Never.self) { try Scrape(page) } }
        client.socket.close()
    }
}

extension Endpoint {
    fileprivate init(literal text: String) {
        do throws(EndpointError) { try self.init(text) } catch { preconditionFailure("\(error)") }
    }
}
