import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayStore

/// A fake of Apple's two hosts that answers as reports say: what is sent, and the text at the end.
@Suite("The client where reports show that people get stuck")
struct ForgivingClientTests {
    private static let fixture = StoreFixture.shared

    /// What one environment answers.
    enum Host: Sendable {
        /// An environment without a release of the app, or any fault of the token.
        case unauthorized
        /// The transaction is another environment's.
        case unknown
        case known
        case broken
        case unreachable

        func reply(_ body: [UInt8]) -> ScriptedTransport.Reply {
            switch self {
            case .unauthorized: .status(401)
            case .unknown: .error(4_040_010, "Transaction id not found.")
            case .known: .body(body)
            case .broken: .error(4_000_006, "Invalid transaction id.")
            case .unreachable: .failure(.untrusted("no"))
            }
        }
    }

    struct Case: Sendable {
        var production: Host
        var sandbox: Host
        var choice = StoreEnvironmentChoice.automatic
        /// The environments that are asked.
        var asked: [StoreEnvironment]
        /// The text of the error; nil for an answer.
        var text: String?
    }

    private static let check =
        "check that key, key id and issuer id belong together, and that the key is one for "
        + "In-App Purchase"

    /// What to check after 4040010.
    private static let lost =
        "check the id, the bundle id and the environment; an order id goes to 'assay api order'"

    private static let cases: [Case] = [
        Case(production: .known, sandbox: .known, asked: [.production]),
        Case(production: .unauthorized, sandbox: .known, asked: [.production, .sandbox]),
        Case(production: .unknown, sandbox: .known, asked: [.production, .sandbox]),
        Case(
            production: .unauthorized, sandbox: .unauthorized, asked: [.production, .sandbox],
            text: "the App Store (Production and Sandbox) answered HTTP 401; " + check),
        Case(
            production: .unauthorized, sandbox: .unknown, asked: [.production, .sandbox],
            text: "the App Store (Sandbox) refused with 4040010: Transaction id not found.; "
                + "Production answered HTTP 401, as it does for an app without a release there; "
                + lost),
        Case(
            production: .unknown, sandbox: .unauthorized, asked: [.production, .sandbox],
            text: "the App Store (Production) refused with 4040010: Transaction id not found.; "
                + "Sandbox answered HTTP 401, though the key is good: Production accepted it; "
                + lost),
        Case(
            production: .unauthorized, sandbox: .broken, asked: [.production, .sandbox],
            text: "the App Store (Sandbox) refused with 4000006: Invalid transaction id.; "
                + "Production answered HTTP 401, as it does for an app without a release there"),
        Case(
            production: .unknown, sandbox: .broken, asked: [.production, .sandbox],
            text: "the App Store (Sandbox) refused with 4000006: Invalid transaction id.; "
                + "Production refused with 4040010: Transaction id not found."),
        Case(
            production: .unauthorized, sandbox: .unreachable, asked: [.production, .sandbox],
            text: "the server is not trusted: no"),
        Case(
            production: .broken, sandbox: .known, asked: [.production],
            text: "the App Store (Production) refused with 4000006: Invalid transaction id."),
        Case(
            production: .unauthorized, sandbox: .known, choice: .production,
            asked: [.production],
            text: "the App Store (Production) answered HTTP 401; " + check
                + "; production answers the same for an app without a release there: ask the "
                + "sandbox for that"),
        Case(
            production: .known, sandbox: .unauthorized, choice: .sandbox, asked: [.sandbox],
            text: "the App Store (Sandbox) answered HTTP 401; " + check
                + "; production, which takes the same keys, was not asked, and would say whether "
                + "the key is good"),
    ]

    @Test(
        "401 and 4040010 of production go on to the sandbox; the end names both", arguments: cases)
    func environments(expected: Case) async throws {
        let production = try Self.body(.production)
        let sandbox = try Self.body(.sandbox)
        let transport = ScriptedTransport { request, _ in
            request.url.contains("sandbox")
                ? expected.sandbox.reply(sandbox) : expected.production.reply(production)
        }
        var configuration = Self.fixture.configuration()
        configuration.environment = expected.choice
        let client = try Self.fixture.client(configuration, FakeClock(), transport)
        let error = await failure { try await client.answer(to: .transaction("470001500000003")) }
        #expect(error?.description == expected.text)
        let asked: [StoreEnvironment] = transport.urls.map {
            $0.contains("sandbox") ? .sandbox : .production
        }
        #expect(asked == expected.asked)
    }

    private static func body(_ environment: StoreEnvironment) throws -> [UInt8] {
        let token = try fixture.transaction(1, environment: environment)
        return Array(#"{"signedTransactionInfo":"\#(token)"}"#.utf8)
    }

    @Test("a list whose first page came from the sandbox asks the sandbox alone for the next")
    func pagesAfterUnauthorized() async throws {
        let token = try Self.fixture.transaction(1, environment: .sandbox)
        let transport = ScriptedTransport { request, number in
            guard request.url.contains("sandbox") else { return .status(401) }
            return .body(
                StoreFixture.page(
                    [token], revision: "r\(number)", hasMore: number < 3, environment: "Sandbox"))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        var pages = 0
        for try await page in client.pages(try .history(of: "1")) {
            pages += 1
            #expect(page.environment == .sandbox)
        }
        #expect(pages == 2)
        #expect(transport.targets.map { $0.contains("sandbox") } == [false, true, true])
    }

    @Test("Apple's clock 1 to 60 s behind accepts our tokens, as they are dated a minute back")
    func clockAhead() throws {
        let source = StoreTokenSource(Self.fixture.key, bundleId: StoreFixture.bundleId)
        let now = StoreFixture.now / 1000
        let claims = StoreClaims(issuerId: "i", bundleId: "b", signedAt: now)
        for behind in [1, 30, 60] as [Int64] { #expect(claims.issuedAt <= now - behind) }
        #expect(claims.issuedAt > now - 61)
        #expect(try source.token(at: now).expiresAt == claims.expiresAt)
    }

    @Test(
        "a refusal for the rate says when to try again, whatever the form of Retry-After",
        arguments: [
            (429, "1768435300000", true), (429, "1768435300", true), (429, "100", true),
            (429, "Thu, 15 Jan 2026 00:01:40 GMT", true), (503, "100", true), (429, "later", false),
            (404, "100", false),
        ])
    func retryAfter(status: Int, value: String, isNamed: Bool) {
        let refusal = ErrorBody.refusal(
            TransportAnswer(status: status, retryAfter: value), in: .production,
            at: Timestamp(milliseconds: StoreFixture.now))
        #expect(
            refusal.description == "the App Store (Production) answered HTTP \(status)"
                + (isNamed ? "; try again at 2026-01-15T00:01:40Z" : ""))
    }

    @Test("an order is not asked of the sandbox, which has none")
    func sandboxOrder() async throws {
        let transport = ScriptedTransport { _, _ in .body(Array(#"{"status":1}"#.utf8)) }
        var configuration = Self.fixture.configuration()
        configuration.environment = .sandbox
        var client = try Self.fixture.client(configuration, FakeClock(), transport)
        let error = await failure { try await client.answer(to: .order("MVWXYZ1234")) }
        #expect(error?.description.contains("the sandbox has no orders") == true)
        #expect(transport.count == 0)
        configuration.environment = .automatic
        client = try Self.fixture.client(configuration, FakeClock(), transport)
        _ = try await client.answer(to: .order("MVWXYZ1234"))
        #expect(transport.count == 1)
    }

    // MARK: A transaction without a bundle

    private func transaction(
        bundle: String?, environment: String = "Production"
    ) throws -> String {
        var writer = JSONWriter()
        writer.object { payload in
            payload.member("transactionId", "8")
            payload.member("originalTransactionId", "8")
            payload.member("bundleId", bundle)
            payload.member("productId", "world.2")
            payload.member("purchaseDate", StoreFixture.now - 1000)
            payload.member("type", "Non-Consumable")
            payload.member("signedDate", StoreFixture.now)
            payload.member("environment", environment)
        }
        return String(decoding: try Self.fixture.minter.sign(writer.text), as: UTF8.self)
    }

    @Test("a page is used without a transaction that verifies but names no bundle, with a warning")
    func withoutBundle() async throws {
        let good = try Self.fixture.transaction(1)
        let bare = try transaction(bundle: nil)
        var forged = bare
        let last = forged.removeLast()
        forged.append(last == "A" ? "Q" : "A")
        let other = try transaction(bundle: "com.example.other")
        let sandbox = try transaction(bundle: nil, environment: "Sandbox")
        for (tokens, expected) in [
            ([good, bare], "1 TRANSACTION_WITHOUT_BUNDLE signedTransactions[1]"),
            ([bare, good, good], "2 TRANSACTION_WITHOUT_BUNDLE signedTransactions[0]"),
            ([bare], "0 TRANSACTION_WITHOUT_BUNDLE signedTransactions[0]"),
            ([good, try transaction(bundle: "")], "unverified"), ([good, other], "unverified"),
            ([good, forged], "unverified"), ([good, sandbox], "unverified"),
        ] {
            let body = StoreFixture.page(tokens, revision: "r", hasMore: false)
            let transport = ScriptedTransport { _, _ in .body(body) }
            let client = try Self.fixture.client(nil, FakeClock(), transport)
            do {
                let signed = try #require(try await client.answer(to: .history(of: "1")).signed)
                let warning = signed.warnings.first
                #expect(
                    expected == "\(signed.transactions.count) \(warning?.code.rawValue ?? "") "
                        + (warning?.member ?? ""))
                #expect(signed.dedupKeys.count == signed.transactions.count)
                #expect(signed.warnings.count == 1)
            } catch let error as StoreError {
                #expect(error.reason == .unverified && expected == "unverified", "\(error)")
            }
        }
    }

    @Test("a single transaction without a bundle is refused as before")
    func singleWithoutBundle() async throws {
        let token = try transaction(bundle: nil)
        let transport = ScriptedTransport { _, _ in
            .body(Array(#"{"signedTransactionInfo":"\#(token)"}"#.utf8))
        }
        let client = try Self.fixture.client(nil, FakeClock(), transport)
        let error = await failure { try await client.answer(to: .transaction("8")) }
        #expect(error?.verdict == .wrongBundle)
    }
}
