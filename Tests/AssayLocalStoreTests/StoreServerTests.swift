import Assay
import AssayBytes
import AssayIO
import AssayLocks
import AssayMint
import AssayModels
import TestSupport
import Testing

@testable import AssayLocalStore

/// A store on a socket, and a backend that answers its notifications with fixed bytes.
private final class StoreHarness {
    let server: LocalStoreServer
    private let loop: EventLoop
    let received = Locked<[UInt8]>([])

    /// - Parameter answer: what the backend writes; empty: it closes; nil: it stays silent.
    init(
        _ scenarios: String..., answer: String? = "HTTP/1.1 200 OK\r\n\r\n",
        sendsAgainAfter400: Bool = true
    ) throws {
        let loop = try EventLoop(name: "backend")
        self.loop = loop
        try loop.start()
        let received = received
        let backend = try loop.call { () throws(LoopError) in
            let listener = try Listener(on: loop, at: .tcp(host: "127.0.0.1", port: 0)) { stream in
                var isAnswered = false
                stream.setHandler { event in
                    guard case .received = event, let unread = stream.received.unread else {
                        return
                    }
                    let bytes = unread.span
                    let text = (0..<bytes.count).map { bytes[$0] }
                    stream.received.skip(unread.count)
                    received.withLock { $0 += text }
                    guard !isAnswered, let answer else { return }
                    isAnswered = true
                    stream.write(Array(answer.utf8))
                    stream.finish()
                }
                stream.resumeReading()
            }
            return listener.endpoint
        }
        let url = "\(backend)".replacing("tcp://", with: "http://") + "/apple?a=b"
        let target = try NotificationTarget(url)
        server = try LocalStoreServer(
            StoreSettings(
                authority: TestStore.authority.get(), start: TestStore.start, production: target,
                limitsRates: false, sendsAgainAfter400: sendsAgainAfter400),
            at: .http(host: "127.0.0.1", port: 0),
            initialCustomers: scenarios.compactMap(Scenario.builtInSource).map {
                .init($0, isSandbox: false)
            })
    }

    deinit {
        server.stop()
        loop.stop()
        loop.join()
    }

    func client() throws -> BlockingClient { try BlockingClient(server.endpoint) }

    /// Sends bytes on a new connection, and returns what comes until it ends.
    func exchange(_ bytes: [UInt8]) throws -> String {
        let client = try client()
        try client.send(bytes)
        return try Self.rest(of: client)
    }

    static func rest(of client: BlockingClient) throws -> String {
        var all: [UInt8] = []
        while case let more = try client.receive(upTo: 64 << 10), !more.isEmpty { all += more }
        return String(decoding: all, as: UTF8.self)
    }

    func request(_ method: String, _ path: String, _ body: String = "", _ fields: String = "")
        throws -> String
    {
        try exchange(
            Array(
                """
                \(method) \(path) HTTP/1.1\r
                Host: 127.0.0.1\r
                Connection: close\r
                Content-Length: \(body.utf8.count)\r
                \(fields)\r
                \(body)
                """.utf8))
    }
}

@Suite("local store: server", .timeLimit(.minutes(2)))
struct StoreServerTests {
    @Test("a notification is posted as Apple posts it, and its result is in the answer")
    func post() throws {
        let harness = try StoreHarness("subscribe")
        let answer = try harness.request("POST", "/advance", "{\"duration\":\"0d\"}")
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        let text = harness.received.withLock { String(decoding: $0, as: UTF8.self) }
        #expect(text.hasPrefix("POST /apple?a=b HTTP/1.1\r\nHost: 127.0.0.1:"))
        #expect(text.contains("\r\nContent-Type: application/json\r\n"))
        let body = text.split(separator: "\r\n\r\n").last.map { Array($0.utf8) } ?? []
        #expect(try notification(body)["notificationType"]?.string == "SUBSCRIBED")
        let log = try harness.request("GET", "/notifications")
        #expect(log.contains("\"result\":\"SUCCESS\""))
    }

    @Test(
        "the result of a notification is what the backend did",
        arguments: [
            ("HTTP/1.1 200 OK\r\n\r\n", "SUCCESS"),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", "SUCCESS"),
            ("HTTP/1.0 206\r\n\r\n", "SUCCESS"),
            ("HTTP/1.1 207 Multi-Status\r\n\r\n", "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
            ("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "UNSUCCESSFUL_HTTP_RESPONSE_CODE"),
            ("SMTP ready, how are you?\r\n\r\n", "INVALID_RESPONSE"),
            ("HTTP/1.1 200 OK\r\n", "PREMATURE_CLOSE"), ("", "NO_RESPONSE"),
        ])
    func results(answer: String, result: String) throws {
        let harness = try StoreHarness("subscribe", answer: answer)
        _ = try harness.request("POST", "/advance", "{\"duration\":\"0d\"}")
        let log = try harness.request("GET", "/notifications")
        #expect(log.contains("\"result\":\"\(result)\""), "\(log)")
    }

    @Test(
        "after 400 a notification is sent again or not, as the setting says; after others it is",
        arguments: [
            ("400 Bad Request", true, 2), ("400 Bad Request", false, 1),
            ("401 Unauthorized", false, 2), ("404 Not Found", false, 2),
            ("500 Internal Server Error", false, 2), ("503 Service Unavailable", false, 2),
            ("200 OK", true, 1), ("200 OK", false, 1),
        ])
    func attempts(status: String, sendsAgain: Bool, attempts: Int) throws {
        let harness = try StoreHarness(
            "subscribe", answer: "HTTP/1.1 \(status)\r\n\r\n", sendsAgainAfter400: sendsAgain)
        _ = try harness.request("POST", "/advance", "{\"duration\":\"1h\"}")
        let log = try harness.request("GET", "/notifications")
        #expect(log.split(separator: "\"result\":").count - 1 == attempts, "\(log)")
    }

    @Test(
        "faults of the delivery delay, dribble and cut an answer",
        .enabled(if: TimedTests.areEnabled)
    )
    func delivery() throws {
        let harness = try StoreHarness()
        let path = "/inApps/v1/transactions/1"
        _ = try harness.request("POST", "/faults", "{\"status\":503,\"body\":\"slow\",\"cut\":5}")
        #expect(try harness.request("GET", path) == "HTTP/")
        _ = try harness.request("POST", "/faults", "{\"status\":503,\"body\":\"slow\",\"cut\":0}")
        #expect(try harness.request("GET", path) == "")
        _ = try harness.request(
            "POST", "/faults", "{\"status\":503,\"body\":\"slow\",\"dribble\":1,\"delay\":30}")
        let clock = ContinuousClock()
        let start = clock.now
        #expect(try harness.request("GET", path).hasSuffix("\r\n\r\nslow"))
        #expect(clock.now - start > .milliseconds(100))
    }

    @Test("several requests on one connection, byte by byte, with chunks and an interim answer")
    func reading() throws {
        let harness = try StoreHarness()
        let client = try harness.client()
        let text = """
            GET /customers HTTP/1.1\r\nHost: localhost\r\n\r\n\
            HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n\
            POST /advance HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\
            Expect: 100-continue\r\n\r\n8\r\n{"durati\r\n9\r\non":"1d"}\r\n0\r\n\r\n\
            GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n
            """
        for byte in text.utf8 { try client.send([byte]) }
        let answers = try StoreHarness.rest(of: client)
        let statuses = answers.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
        #expect(statuses == ["200", "200", "100", "200", "404"])
        #expect(!answers.contains("<!doctype"), "HEAD has no body")
    }

    @Test("hostile requests are refused, and the store goes on")
    func hostile() throws {
        let harness = try StoreHarness("subscribe")
        let large = LocalStoreLimits.bodyBytes + 1
        for (bytes, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "400"), ("\0\0\0\u{8}abc", "400"),
            ("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"),
            ("PATCH / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
            ("GET /?a=%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"),
            (
                "GET /" + String(repeating: "a", count: 9000) + " HTTP/1.1\r\nHost: localhost\r\n"
                    + "\r\n", "414"
            ),
            ("POST /faults HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(large)\r\n\r\n", "413"),
            (
                "POST /advance HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
                    + "Content-Length: 0\r\n\r\n", "403"
            ),
            ("GET /inApps/v1/transactions/1 HTTP/1.0\r\n\r\n", "401"),
            ("DELETE /advance HTTP/1.0\r\n\r\n", "405"),
        ] {
            let answer = try harness.exchange(Array(bytes.utf8))
            #expect(
                answer.hasPrefix("HTTP/1.1 \(status) "), "\(bytes.prefix(40)): \(answer.prefix(90))"
            )
        }
        #expect(try harness.request("GET", "/customers").hasPrefix("HTTP/1.1 200"))
    }

    @Test("131: a page of another site can't use the store under a name of its own")
    func rebinding() throws {
        let harness = try StoreHarness("subscribe")
        func status(_ line: String, _ fields: String) throws -> Substring {
            let answer = try harness.exchange(
                Array("\(line) HTTP/1.1\r\n\(fields)Connection: close\r\n\r\n".utf8))
            return answer.dropFirst("HTTP/1.1 ".count).prefix(3)
        }
        for (host, expected) in [
            ("127.0.0.1:7450", "200"), ("localhost", "200"), ("[::1]:7450", "200"),
            ("evil.example", "421"), ("evil.example:7450", "421"), ("localhost.evil", "421"),
            ("10.0.0.1", "421"),
        ] {
            let fields = "Host: \(host)\r\n"
            #expect(try status("GET /customers", fields) == expected, "\(host)")
            // The rebound page's origin is its own: Origin and Host agree.
            let own = fields + "Origin: http://\(host)\r\n"
            #expect(try status("DELETE /faults", own) == expected, "\(host)")
            let site = fields + "Sec-Fetch-Site: cross-site\r\n"
            #expect(try status("GET /customers", site) == expected, "a link to \(host)")
            #expect(try status("DELETE /faults", site) == (expected == "200" ? "403" : expected))
        }
    }

    @Test("a body that does not end fills a bounded memory, and is refused")
    func endlessBody() throws {
        let harness = try StoreHarness()
        let client = try harness.client()
        try client.send(
            Array(
                ("POST /faults HTTP/1.1\r\nHost: localhost\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n").utf8))
        let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0x20, count: 65_536) + [13, 10]
        var sent = 0
        // The store closes: a later write fails.
        while sent < 4 * LocalStoreLimits.bodyBytes, (try? client.send(chunk)) != nil {
            sent += chunk.count
        }
        let answer = (try? StoreHarness.rest(of: client)) ?? ""
        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 413"))
        #expect(try harness.request("GET", "/customers").hasPrefix("HTTP/1.1 200"))
    }

    @Test("connections above the limit wait, and are served once others close")
    func connectionLimit() throws {
        let harness = try StoreHarness()
        var clients: [BlockingClient] = []
        for _ in 0..<LocalStoreLimits.connections + 20 { clients.append(try harness.client()) }
        let waiting = try harness.client()
        try waiting.send(
            Array("GET /faults HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8))
        #expect(!waiting.hasMore(milliseconds: 50))
        for client in clients { client.close() }
        #expect(try StoreHarness.rest(of: waiting).hasPrefix("HTTP/1.1 200"))
    }

    @Test("the address is HTTP on the loopback interface unless it is allowed otherwise")
    func addresses() throws {
        let settings = StoreSettings(
            authority: try TestStore.authority.get(), start: TestStore.start)
        for (endpoint, error) in [
            (Endpoint.tcp(host: "127.0.0.1", port: 0), LocalStoreError.notHTTP),
            (.https(host: "127.0.0.1", port: 0), .notHTTP),
            (.http(host: "0.0.0.0", port: 0), .notLocal),
        ] {
            #expect(throws: error) { try LocalStoreServer(settings, at: endpoint) }
        }
        let open = try LocalStoreServer(
            settings, at: .http(host: "0.0.0.0", port: 0), allowsAnyAddress: true)
        open.stop()
    }

    @Test("the page escapes what a scenario says, and has no script")
    func page() throws {
        let harness = try StoreHarness("grace-period")
        let own = """
            {"scenario":{"name":"own","summary":"<script>alert(1)</script>","steps":[{"at":"0d",
            "title":"<b>&\\"buys\\"","transactions":{"5":{"productId":"world.2"}},"expect":{}}]}}
            """
        #expect(try harness.request("POST", "/customers", own).hasPrefix("HTTP/1.1 201"))
        let page = try harness.request("GET", "/")
        #expect(page.contains("&lt;script&gt;") && !page.contains("<script"))
        #expect(page.contains("&lt;b&gt;&amp;&quot;buys&quot;"))
        #expect(page.contains("default-src 'none'"))
        #expect(page.contains("for development only"))
        #expect(page.contains("470001000000100"))
    }
}

@Suite("local store: addresses and answers of a backend")
struct NotificationPostTests {
    @Test("an http:// URL is split into address, host and path")
    func targets() throws {
        for (url, address, path) in [
            ("http://127.0.0.1:8080/a/b?c=d", "tcp://127.0.0.1:8080", "/a/b?c=d"),
            ("http://localhost", "tcp://localhost:80", "/"),
            ("http://localhost?a", "tcp://localhost:80", "/?a"),
            ("http://[::1]:8080", "tcp://[::1]:8080", "/"),
            ("http://[::1]/x", "tcp://[::1]:80", "/x"),
        ] {
            let target = try NotificationTarget(url)
            #expect("\(target.endpoint)" == address && target.path == path, "\(url)")
        }
        #expect(throws: NotificationTarget.Problem.https) {
            try NotificationTarget("https://a/b")
        }
        for url in [
            "", "a", "ftp://a", "http://", "http:///a", "http://a b", "http://a/\r\nHost: b",
            "http://a:b@c/", "http://a/#b", "http://a:99999/", "http://ü/",
            "http://a/" + String(repeating: "a", count: 2048),
        ] {
            #expect(throws: NotificationTarget.Problem.invalid(url), "\(url)") {
                try NotificationTarget(url)
            }
        }
    }

    @Test("the status of an answer does not depend on how it arrives")
    func heads() {
        let whole: [(String, AnswerHead)] = [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", .status(200)),
            ("HTTP/1.0 503\r\n\r\n", .status(503)),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n\r\n", .status(201)),
            ("HTTP/1.1 100 Continue\r\n\r\nHTTP/2 201\r\n\r\nabc", .invalid),
            ("HTTP/1.1 2000 OK\r\n\r\n", .invalid), ("HTTP/1.1 099 OK\r\n\r\n", .invalid),
            ("HTTP/1.2 200 OK\r\n\r\n", .invalid), ("HTTP/1.1  200\r\n\r\n", .invalid),
        ]
        for (text, expected) in whole {
            let bytes = Array(text.utf8)
            #expect(AnswerHead(bytes.span) == expected, "\(text)")
            for count in 0..<bytes.count {
                let part = Array(bytes[..<count])
                let head = AnswerHead(part.span)
                #expect(head == .needMore || head == expected, "\(text), \(count) bytes")
            }
        }
        let long = Array("HTTP/1.1 200 OK\r\n".utf8) + [UInt8](repeating: 0x61, count: 20_000)
        #expect(AnswerHead(long.span) == .invalid)
    }
}
