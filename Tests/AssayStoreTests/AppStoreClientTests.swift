import AssayEntitlements
import AssayIO
import AssayModels
import TestSupport
import Testing

@testable import AssayStore

@Suite("Client of the App Store Server API")
struct AppStoreClientTests {
    private static let fixture = StoreFixture.shared

    private static func single(_ environment: StoreEnvironment = .production) throws -> [UInt8] {
        let token = try fixture.transaction(1, environment: environment)
        return Array(#"{"signedTransactionInfo":"\#(token)"}"#.utf8)
    }

    private static func ask(
        _ client: AppStoreClient, timeout: Duration? = nil
    ) async throws(StoreError) -> StoreAnswer {
        try await client.answer(to: .transaction("470001500000003"), timeout: timeout)
    }

    // MARK: Environments

    @Test("production first, and the sandbox for a transaction that it does not know")
    func environments() async throws {
        let production = try Self.single()
        let sandbox = try Self.single(.sandbox)
        let unknown = ScriptedTransport { request, _ in
            request.url.contains("sandbox") ? .body(sandbox) : .error(4_040_010)
        }
        var client = try Self.fixture.client(nil, FakeClock(), unknown)
        #expect(try await Self.ask(client).environment == .sandbox)
        let path = "/inApps/v1/transactions/470001500000003"
        #expect(
            unknown.targets == [
                "api.storekit.apple.com" + path, "api.storekit-sandbox.apple.com" + path,
            ])
        let known = ScriptedTransport { _, _ in .body(production) }
        client = try Self.fixture.client(nil, FakeClock(), known)
        let answer = try await Self.ask(client)
        #expect(answer.environment == .production && known.count == 1)
        #expect(answer.signed?.transactions.count == 1 && answer.body == production)
    }

    @Test("4040010 in both environments names both; other codes end at the first")
    func unknownInBoth() async throws {
        let transport = ScriptedTransport { _, _ in .error(4_040_010, "Transaction id not found.") }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let error = await failure { try await Self.ask(client) }
        guard let refusal = error?.refusal else { return #expect(Bool(false)) }
        #expect(refusal.environments == [.production, .sandbox])
        #expect(refusal.httpStatus == 404 && refusal.code == 4_040_010)
        #expect(
            refusal.description == "the App Store (Production and Sandbox) refused with 4040010: "
                + "Transaction id not found.; check the id, the bundle id and the environment; an "
                + "order id goes to 'assay api order'")
        let other = ScriptedTransport { _, _ in .error(4_040_001) }
        let second = try Self.fixture.client(nil, FakeClock(), other)
        _ = await failure { try await Self.ask(second) }
        #expect(other.count == 1)
    }

    @Test(
        "a chosen environment is asked alone",
        arguments: [
            (StoreEnvironmentChoice.production, "api.storekit.apple.com"),
            (.sandbox, "api.storekit-sandbox.apple.com"),
        ])
    func chosen(choice: StoreEnvironmentChoice, host: String) async throws {
        var configuration = Self.fixture.configuration()
        configuration.environment = choice
        let transport = ScriptedTransport { _, _ in .error(4_040_010) }
        let client = try Self.fixture.client(configuration, FakeClock(), transport)
        let error = await failure { try await Self.ask(client) }
        #expect(transport.targets.map { $0.split(separator: "/")[0] } == [host[...]])
        #expect("\(error!)".contains("no other environment was asked"))
    }

    @Test("calls about the app, and orders, ask production alone")
    func appCalls() async throws {
        let transport = ScriptedTransport { _, _ in .error(4_040_010) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        for call in [StoreCall.testNotification(), try .order("M1")] {
            _ = await failure { try await client.answer(to: call) }
        }
        #expect(transport.count == 2)
    }

    @Test("evidence of the other environment is refused")
    func foreignEnvironment() async throws {
        let sandbox = try Self.single(.sandbox)
        let transport = ScriptedTransport { _, _ in .body(sandbox) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let error = await failure { try await Self.ask(client) }
        guard error?.verdict == .wrongEnvironment else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
    }

    // MARK: Failures

    @Test("retryable failures are tried again, with pauses, until an answer")
    func retries() async throws {
        let body = try Self.single()
        let clock = FakeClock()
        let transport = ScriptedTransport { _, number in
            switch number {
            case 1: .error(4_040_002)
            case 2: .failure(.connectFailed("refused"))
            case 3: .status(503, "<html>busy</html>")
            default: .body(body)
            }
        }
        let client = try Self.fixture.client(nil, clock, transport)
        _ = try await Self.ask(client)
        #expect(transport.count == 4)
        #expect(clock.slept == 3_500_000_000)
        let metrics = client.metrics
        #expect(metrics.retries == 3)
        func count(_ outcome: StoreMetrics.Outcome) -> UInt64? {
            metrics.requests[StoreMetrics.Row(endpoint: "transaction", outcome: outcome)]
        }
        #expect(count(.refused) == 1 && count(.transport) == 1 && count(.serverError) == 1)
        #expect(count(.answered) == 1 && count(.notFound) == nil)
    }

    @Test("the deadline ends retries, and the error names the last failure")
    func deadline() async throws {
        let clock = FakeClock()
        let transport = ScriptedTransport { request, _ in
            #expect(request.timeout <= 3000)
            clock.advance(milliseconds: 400)
            return .failure(.connectionLost("reset"))
        }
        let client = try Self.fixture.client(nil, clock, transport)
        let error = await failure {
            try await Self.ask(client, timeout: .seconds(3))
        }
        #expect(error?.reason == .deadlineExceeded)
        #expect(error?.message.contains("reset") == true && transport.count == 3)
    }

    @Test(
        "a 429 waits for the time of its answer, in milliseconds or seconds",
        arguments: ["1768435205000", "1768435205", "5"])
    func rateLimited(retryAfter: String) async throws {
        let body = try Self.single()
        let clock = FakeClock()
        let transport = ScriptedTransport { _, number in
            number == 1 ? .status(429, retryAfter: retryAfter) : .body(body)
        }
        let client = try Self.fixture.client(nil, clock, transport)
        _ = try await Self.ask(client)
        #expect(clock.slept == 5_000_000_000 && transport.count == 2)
    }

    @Test("a 429 until after the deadline is reported as what it is")
    func rateLimitedForLong() async throws {
        let clock = FakeClock()
        let transport = ScriptedTransport { _, _ in
            .status(
                429, #"{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}"#,
                retryAfter: "1768435300000")
        }
        let client = try Self.fixture.client(nil, clock, transport)
        let error = await failure { try await Self.ask(client) }
        guard let refusal = error?.refusal else { return #expect(Bool(false)) }
        #expect(refusal.code == 4_290_000 && refusal.retryAt?.milliseconds == 1_768_435_300_000)
        // The class of calls waits as a whole; another one does not.
        let next = await failure { try await Self.ask(client) }
        #expect(next?.reason == .deadlineExceeded)
        #expect(next?.message.contains("rate limit") == true && transport.count == 1)
        _ = await failure {
            try await client.answer(to: .order("M1"))
        }
        #expect(transport.count == 2)
    }

    @Test("a bare 401 of both environments is not repeated, and names the clock's difference")
    func unauthorized() async throws {
        for (date, hint) in [
            (nil, "key id and issuer id belong together"),
            ("Thu, 15 Jan 2026 00:00:30 GMT", "key id and issuer id belong together"),
            ("Thu, 15 Jan 2026 00:00:01 GMT", "clock is 1 s behind the App Store's"),
            ("Wed, 14 Jan 2026 23:59:00 GMT", "Purchase; this machine's clock is 60 s ahead of"),
            ("Wed, 14 Jan 2026 23:58:59 GMT", "; this machine's clock is 61 s ahead of the App"),
            ("Wed, 14 Jan 2026 23:58:30 GMT", "clock is 90 s ahead of the App Store's: set it"),
            ("Wed, 14 Jan 2026 23:30:00 GMT", "clock is 1800 s ahead of"),
            ("Thu, 15 Jan 2026 02:00:00 GMT", "clock is 7200 s behind"),
        ] as [(String?, String)] {
            let transport = ScriptedTransport { _, _ in .status(401, date: date) }
            let client = try Self.fixture.client(nil, FakeClock(), transport)
            let error = await failure { try await Self.ask(client) }
            #expect(transport.count == 2)
            #expect("\(error!)".contains("HTTP 401") && "\(error!)".contains(hint), "\(error!)")
        }
    }

    @Test("a 401 for an older token is answered with a fresh one, once")
    func staleToken() async throws {
        let body = try Self.single()
        let clock = FakeClock()
        let transport = ScriptedTransport { _, number in
            [2, 4, 5].contains(number) ? .status(401) : .body(body)
        }
        var configuration = Self.fixture.configuration()
        configuration.environment = .production
        let client = try Self.fixture.client(configuration, clock, transport)
        _ = try await Self.ask(client)
        clock.advance(milliseconds: 60_000)
        _ = try await Self.ask(client)
        #expect(transport.count == 3 && Set(transport.tokens).count == 2)
        #expect(transport.tokens[0] == transport.tokens[1])
        clock.advance(milliseconds: 60_000)
        let error = await failure { try await Self.ask(client) }
        guard let refusal = error?.refusal else { return #expect(Bool(false)) }
        #expect(refusal.httpStatus == 401 && transport.count == 5)
    }

    @Test("an extension that may have arrived is not sent again")
    func notRepeated() async throws {
        let clock = FakeClock()
        let replies: [ScriptedTransport.Reply] = [
            .failure(.connectFailed("refused")), .failure(.connectionLost("reset")), .body([]),
        ]
        let transport = ScriptedTransport { _, number in replies[number - 1] }
        let client = try Self.fixture.client(nil, clock, transport)
        let error = await failure {
            try await client.answer(
                to: .extend("1", byDays: 1, reason: .other, request: "r"))
        }
        #expect(error == .transport(.connectionLost("reset")) && transport.count == 2)
    }

    @Test(
        "what is no answer of the App Store is an error",
        arguments: [
            "", "{", "[]", "<html>", "{}", #"{"signedTransactionInfo":5}"#,
            #"{"signedTransactionInfo":"x","data":[]}"#, "\u{FEFF}{}",
        ])
    func malformed(body: String) async throws {
        let transport = ScriptedTransport { _, _ in .body(Array(body.utf8)) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let error = await failure { try await Self.ask(client) }
        #expect(error?.reason == .malformedAnswer)
        #expect(transport.count == 1)
    }

    @Test("one member with a bad signature refuses the answer, and its detail names the member")
    func badSignature() async throws {
        var forged = try Self.fixture.transaction(2)
        let last = forged.removeLast()
        forged.append(last == "A" ? "Q" : "A")
        let body = StoreFixture.page(
            [try Self.fixture.transaction(1), forged], revision: "r", hasMore: false)
        let transport = ScriptedTransport { _, _ in .body(body) }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let error = await failure {
            try await client.answer(to: .history(of: "1"))
        }
        #expect(error?.reason == .unverified)
        #expect(error?.message.contains("signedTransactions[1]") == true)
    }

    @Test("error bodies of any form keep status, code and message")
    func errorBodies() async throws {
        let long = String(repeating: "m", count: 2000)
        for (status, body, code, message) in [
            (400, #"{"errorCode":4000006,"errorMessage":"Invalid id."}"#, 4_000_006, "Invalid id."),
            (400, #"{"errorCode":"4000006"}"#, nil, ""),
            (403, "<html>", nil, ""), (404, "", nil, ""), (302, "", nil, ""),
            (404, #"{"errorCode":4040001,"errorMessage":"a\nb"}"#, 4_040_001, "a b"),
            (
                404, #"{"errorCode":4040001,"errorMessage":"\#(long)"}"#, 4_040_001,
                String(long.prefix(500)) + "…"
            ),
        ] as [(Int, String, Int64?, String)] {
            let transport = ScriptedTransport { _, _ in .status(status, body) }
            let client = try Self.fixture.client(nil, FakeClock(), transport)
            let error = await failure { try await Self.ask(client) }
            guard let refusal = error?.refusal else { return #expect(Bool(false)) }
            #expect(refusal.httpStatus == status && refusal.code == code)
            #expect(refusal.message == message)
        }
    }

    @Test("requests beyond the rate wait, are counted, and share the limit of their class")
    func rates() async throws {
        let body = try Self.single()
        let clock = FakeClock()
        let transport = ScriptedTransport { _, _ in .body(body) }
        let client = try Self.fixture.client(nil, clock, transport)
        for _ in 0..<60 { _ = try await Self.ask(client) }
        #expect(client.metrics.rateWaits == 10)
        #expect(client.metrics.rateWaitNanoseconds == 200_000_000 && clock.slept == 200_000_000)
    }

    @Test("settings that can't work are refused")
    func settings() {
        func error(_ change: (inout StoreConfiguration) -> Void) -> StoreError? {
            var configuration = Self.fixture.configuration()
            change(&configuration)
            do throws(StoreError) {
                try configuration.check()
                return nil
            } catch {
                return error
            }
        }
        for url in ["https://a", "http://127.0.0.1:8080", "https://a/b/", "https://[::1]:1"] {
            #expect(error { $0.productionURL = url } == nil)
        }
        for url in [
            "", "a", "ftp://a", "https://", "https:///x", "https://a?b", "https://u@a",
            "https://a b", "https://a#b",
        ] {
            #expect(error { $0.sandboxURL = url } != nil, "\(url)")
        }
        #expect(error { $0.bundleId = "" } != nil)
        #expect(error { $0.pageLimit = 0 } != nil)
        #expect(error { $0.timeout = .zero } != nil)
        var configuration = Self.fixture.configuration()
        configuration.productionURL = "https://a/b/"
        #expect(configuration.baseURL(of: .production) == "https://a/b")
    }

    @Test(
        "a server in place of Apple's: a local App Store has its sandbox below /sandbox",
        arguments: [
            ("http://127.0.0.1:7450", "http://127.0.0.1:7450", "http://127.0.0.1:7450/sandbox"),
            ("http://127.0.0.1:7450/", "http://127.0.0.1:7450", "http://127.0.0.1:7450/sandbox"),
            ("http://store:7450/sandbox", "http://store:7450", "http://store:7450/sandbox"),
            ("http://store:7450/sandbox/", "http://store:7450", "http://store:7450/sandbox"),
            ("http://store/path", "http://store/path", "http://store/path/sandbox"),
            ("http://store/mysandbox", "http://store/mysandbox", "http://store/mysandbox/sandbox"),
            // A proxy before Apple's hosts, or an older name of one.
            ("https://proxy/apple/", "https://proxy/apple", "https://proxy/apple"),
            ("https://proxy/sandbox", "https://proxy/sandbox", "https://proxy/sandbox"),
        ])
    func baseURL(url: String, production: String, sandbox: String) {
        var configuration = Self.fixture.configuration()
        configuration.ask(url)
        #expect(configuration.baseURL(of: .production) == production)
        #expect(configuration.baseURL(of: .sandbox) == sandbox)
    }

    @Test("http:///sandbox is no base URL") func noHost() {
        var configuration = Self.fixture.configuration()
        configuration.ask("http:///sandbox")
        #expect(throws: StoreError.self) { try configuration.check() }
    }
}
