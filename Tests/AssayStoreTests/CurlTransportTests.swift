import AssayIO
import AssayModels
import TestSupport
import Testing

@testable import AssayStore

@Suite("Transfers by libcurl")
struct CurlTransportTests {
    private static let fixture = StoreFixture.shared
    private static let proof = Array(#"{"ok":true}"#.utf8)

    private static func transport(
        proxy: String? = "", authorities: String? = nil
    ) throws -> CurlTransport {
        try CurlTransport(
            CurlSettings(
                proxy: proxy, certificateAuthorities: authorities, usesHTTP2: false))
    }

    private static func send(
        _ transport: CurlTransport, _ url: String, _ method: String = "GET",
        body: [UInt8]? = nil, timeout: UInt64 = 200_000
    ) async -> TransferResult {
        let request = TransportRequest(
            method: method, url: url, token: "token.of.test", body: body,
            contentType: "application/json", timeout: timeout)
        do throws(StoreTransportError) {
            return .success(try await transport.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// Sends one GET to a server with this script; returns the result and what the server saw.
    private static func ask(
        timeout: UInt64 = 200_000, _ script: @escaping ScriptedStore.Script
    ) async throws -> (result: TransferResult, seen: [ScriptedStore.Request]) {
        let store = try ScriptedStore(script)
        let transport = try transport()
        let result = await send(transport, "http://127.0.0.1:\(store.port)/path", timeout: timeout)
        transport.close()
        return (result, store.requests)
    }

    @Test("an answer has its status, body, date and pause; the request its token")
    func answers() async throws {
        let (result, seen) = try await Self.ask { _, _ in
            .answer(
                status: 429, fields: ["retry-after:  17684352\t", "Date: D", "X: y"],
                body: Self.proof)
        }
        #expect(
            try result.get()
                == TransportAnswer(
                    status: 429, body: Self.proof, retryAfter: "17684352\t", date: "D"))
        #expect(seen.count == 1 && seen[0].method == "GET" && seen[0].target == "/path")
        #expect(seen[0].fields["authorization"] == "Bearer token.of.test")
        #expect(seen[0].fields["accept"] == "application/json")
        #expect(seen[0].fields["user-agent"]?.hasPrefix("assay/") == true)
        #expect(seen[0].fields["content-type"] == nil)
    }

    @Test(
        "methods and bodies arrive as they are",
        arguments: [
            ("POST", Array(#"{"a":1}"#.utf8)), ("PUT", [UInt8](repeating: 0x20, count: 100_000)),
            ("PUT", [0, 255, 0]), ("POST", nil), ("DELETE", nil), ("PUT", []),
        ] as [(String, [UInt8]?)])
    func methods(method: String, body: [UInt8]?) async throws {
        let store = try ScriptedStore { _, _ in .answer(status: 200, body: []) }
        let transport = try Self.transport()
        defer { transport.close() }
        let result = await Self.send(
            transport, "http://127.0.0.1:\(store.port)/x", method, body: body)
        #expect(try result.get() == TransportAnswer(status: 200))
        let seen = try #require(store.requests.first)
        #expect(seen.method == method && seen.body == body ?? [])
        #expect(seen.fields["expect"] == nil)
        #expect(seen.fields["content-length"] == "\(body?.count ?? 0)")
        let type = body.map { $0.isEmpty } == false ? "application/json" : nil
        #expect(seen.fields["content-type"] == type)
    }

    @Test("many transfers share connections")
    func concurrent() async throws {
        let store = try ScriptedStore { request, _ in
            .answer(status: 200, body: Array(request.target.utf8))
        }
        let transport = try Self.transport()
        defer { transport.close() }
        let answers = await withTaskGroup(of: (Int, TransferResult).self) { group in
            for number in 0..<100 {
                group.addTask {
                    (
                        number,
                        await Self.send(transport, "http://127.0.0.1:\(store.port)/\(number)")
                    )
                }
            }
            var answers: [Int: TransferResult] = [:]
            for await (number, result) in group { answers[number] = result }
            return answers
        }
        for (number, result) in answers {
            #expect(try result.get().body == Array("/\(number)".utf8))
        }
        #expect(answers.count == 100)
        // Not those ever opened: libcurl replaces one that a busy machine left idle for long.
        #expect((1...StoreLimits.requestsInFlight).contains(store.mostConnections))
    }

    @Test("a redirect is not followed: another host must not get the token")
    func redirect() async throws {
        let other = try ScriptedStore { _, _ in .answer(status: 200, body: []) }
        let (result, _) = try await Self.ask { _, _ in
            .answer(
                status: 302, fields: ["Location: http://127.0.0.1:\(other.port)/"], body: [])
        }
        #expect(try result.get().status == 302 && other.requests.isEmpty)
    }

    @Test("an answer has a bounded size, with and without a length")
    func large() async throws {
        let limit = StoreLimits.answerBytes
        for (count, isFine) in [(limit, true), (limit + 1, false)] {
            let body = [UInt8](repeating: 0x20, count: count)
            let (result, _) = try await Self.ask { _, _ in .answer(status: 200, body: body) }
            let (ended, _) = try await Self.ask { _, _ in
                .bytesAndEnd(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + body)
            }
            for result in [result, ended] {
                if isFine {
                    #expect(try result.get().body.count == count)
                } else {
                    #expect(result == .failure(.answerTooLarge(limit: limit)))
                }
            }
        }
        let header = "X: " + String(repeating: "y", count: 40_000)
        let (result, _) = try await Self.ask { _, _ in
            .answer(status: 200, fields: [header], body: [])
        }
        #expect(result == .failure(.answerTooLarge(limit: limit)))
    }

    @Test("a server that dribbles, or answers nothing, ends with the time of the request")
    func slow() async throws {
        for reply in [
            ScriptedStore.Reply.dribble(
                Array("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n".utf8)),
            .silence,
        ] {
            let (result, _) = try await Self.ask(timeout: 300) { _, _ in reply }
            #expect(result == .failure(.timedOut(isSent: true)))
        }
    }

    @Test("connections that end early")
    func lost() async throws {
        func isLost(_ reply: ScriptedStore.Reply) async throws -> Bool {
            let (result, _) = try await Self.ask { _, _ in reply }
            if case .failure(.connectionLost) = result { return true }
            return false
        }
        #expect(try await isLost(.reset))
        #expect(try await isLost(.bytesAndEnd([])))
        #expect(
            try await isLost(
                .bytesAndEnd(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".utf8))))
        #expect(try await isLost(.bytesAndEnd(Array("HTTP/1.1 200 OK\r\n".utf8))) == false)
        #expect(try await !isLost(.answer(status: 200, body: [])))
    }

    @Test("nobody listens; unknown hosts; other protocols")
    func unreachable() async throws {
        let transport = try Self.transport()
        defer { transport.close() }
        let port = try ScriptedStore { _, _ in .silence }.port
        // The server above is gone by now, or goes soon.
        let gone = await Self.send(transport, "http://127.0.0.1:\(port + 1)/", timeout: 2000)
        guard case .failure(let error) = gone else { return #expect(Bool(false)) }
        #expect(error.isUnsent, "\(error)")
        let unknown = await Self.send(transport, "http://host.invalid/", timeout: 200_000)
        guard case .failure(.hostNotFound(let text)) = unknown else {
            return #expect(Bool(false), "\(unknown)")
        }
        #expect(text.contains("host.invalid") && !text.contains("token.of.test"))
        let file = await Self.send(transport, "file:///etc/hostname")
        guard case .failure(.other) = file else { return #expect(Bool(false)) }
    }

    @Test("a proxy is asked instead of the host")
    func proxy() async throws {
        let store = try ScriptedStore { _, _ in .answer(status: 200, body: Self.proof) }
        let transport = try Self.transport(proxy: "http://127.0.0.1:\(store.port)")
        defer { transport.close() }
        let result = await Self.send(transport, "http://api.invalid/path")
        #expect(try result.get().body == Self.proof)
        #expect(store.requests.first?.target == "http://api.invalid/path")
    }

    @Test("a cancelled task and a closed transport end their transfers")
    func cancelled() async throws {
        let arrived = [Latch(), Latch()]
        let store = try ScriptedStore { _, number in
            // A third request would be that of the task that is cancelled before it sends.
            if number <= arrived.count { arrived[number - 1].open() }
            return .silence
        }
        let transport = try Self.transport()
        let url = "http://127.0.0.1:\(store.port)/"
        let task = Task { await Self.send(transport, url) }
        #expect(await arrived[0].opens())
        task.cancel()
        #expect(await task.value == .failure(.cancelled))
        let early = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await Self.send(transport, url)
        }
        #expect(await early.value == .failure(.cancelled))
        let other = Task { await Self.send(transport, url) }
        #expect(await arrived[1].opens())
        transport.close()
        #expect(await other.value == .failure(.cancelled))
        #expect(await Self.send(transport, url) == .failure(.cancelled))
        #expect(store.requests.count == 2)
    }

    // MARK: TLS

    /// Makes a self-signed certificate for a name; returns the paths of certificate and key.
    private static func certificate(
        _ openssl: OpenSSLTool, _ name: String, _ alternative: String
    ) throws -> (certificate: String, key: String) {
        let certificate = try openssl.file(name + ".pem", [])
        let key = try openssl.file(name + ".key", [])
        let answer = try openssl.run(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-days", "2", "-subj", "/CN=" + name, "-addext", "subjectAltName=" + alternative,
            "-keyout", key, "-out", certificate)
        try #require(answer.status == 0, "\(answer.output)")
        return (certificate, key)
    }

    @Test("TLS: trusted by a file, untrusted without, refused for another name and for plain text")
    func tls() async throws {
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        let own = try Self.certificate(openssl, "own", "IP:127.0.0.1")
        let other = try Self.certificate(openssl, "other", "DNS:example.com")
        func ask(
            _ files: (certificate: String, key: String), trusting authority: String?
        ) async throws -> TransferResult {
            let context = try TLSContext(
                server: TLSServerSettings(
                    certificate: files.certificate, key: files.key, allowsTLS12: true))
            let store = try ScriptedStore(tls: context) { _, _ in
                .answer(status: 200, body: Self.proof)
            }
            let transport = try Self.transport(authorities: authority)
            defer { transport.close() }
            return await Self.send(transport, "https://127.0.0.1:\(store.port)/", timeout: 200_000)
        }
        func isUntrusted(_ result: TransferResult) -> Bool {
            if case .failure(.untrusted) = result { true } else { false }
        }
        #expect(try await ask(own, trusting: own.certificate).get().body == Self.proof)
        #expect(isUntrusted(try await ask(own, trusting: nil)))
        #expect(isUntrusted(try await ask(own, trusting: other.certificate)))
        #expect(isUntrusted(try await ask(other, trusting: other.certificate)))
        #expect(isUntrusted(try await ask(own, trusting: "/nonexistent.pem")))
        let plain = try ScriptedStore { _, _ in .answer(status: 200, body: []) }
        let transport = try Self.transport()
        defer { transport.close() }
        let result = await Self.send(
            transport, "https://127.0.0.1:\(plain.port)/", timeout: 1000)
        guard case .failure(let error) = result else { return #expect(Bool(false)) }
        #expect(error.isUnsent || error == .timedOut(isSent: true), "\(error)")
    }

    // MARK: Client

    @Test("a client asks over a real connection: retry, pages and verification")
    func client() async throws {
        let pages = try (0..<3).map { index in
            StoreFixture.page(
                [try Self.fixture.transaction(index)], revision: "r\(index)", hasMore: index < 2)
        }
        let store = try ScriptedStore { _, number in
            switch number {
            case 1: .answer(status: 200, body: pages[0])
            case 2: .reset
            default: .answer(status: 200, body: pages[number - 2])
            }
        }
        var configuration = Self.fixture.configuration()
        configuration.productionURL = "http://127.0.0.1:\(store.port)"
        configuration.proxy = ""
        // A busy machine runs all tests at once.
        configuration.timeout = .seconds(300)
        let client = try AppStoreClient(configuration, verifier: Self.fixture.verifier())
        var count = 0
        for try await page in client.pages(try .history(of: "1")) {
            count += page.signed?.transactions.count ?? 0
        }
        client.close()
        #expect(count == 3 && store.requests.count == 4)
        #expect(
            store.requests.map(\.target) == [
                "/inApps/v2/history/1", "/inApps/v2/history/1?revision=r0",
                "/inApps/v2/history/1?revision=r0", "/inApps/v2/history/1?revision=r1",
            ])
        let tokens = Set(store.requests.compactMap { $0.fields["authorization"] })
        #expect(tokens.count == 1 && tokens.first?.hasPrefix("Bearer eyJ") == true)
    }
}
