import Assay
import AssayClient
import AssayMint
import AssayServer
import Foundation
import GRDB
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing

@testable import Backend

/// Drives the backend as an app and as Apple do, in both forms.
@Suite("Backend", .timeLimit(.minutes(5)))
struct BackendTests {
    enum Form: CaseIterable { case inProcess, sidecar }

    private static let product = "com.example.game.premium.monthly"
    private static let day: Int64 = 86_400_000
    private static let start = Timestamp(milliseconds: 1_800_000_000_000)

    /// An authority of the test, and what it signs for two customers.
    private final class Shop: Sendable {
        let minter: Minter
        let verifier: Verifier
        let now = Mutex(BackendTests.start)
        let policy = Policy(bundleId: "com.example.game", appAppleId: 1)

        init() throws {
            let authority = try DevelopmentCA.make(at: BackendTests.start)
            minter = Minter(authority.chain)
            verifier = Verifier(
                trust: try .empty.pinning(authority.rootCertificate, development: false))
        }

        func token(
            _ index: Int = 1, _ kind: EvidenceKind = .transaction, days: Int64 = 0,
            bundleId: String = "com.example.game"
        ) throws -> String {
            let date = Timestamp(
                milliseconds: BackendTests.start.milliseconds + days * BackendTests.day)
            let bytes = try minter.mint(
                kind, index: index, bundleId: bundleId, appAppleId: 1, environment: .production,
                signedDate: date)
            return String(decoding: bytes, as: UTF8.self)
        }

        /// The account that the samples of an index are of.
        func user(_ index: Int) throws -> String {
            let answer = verifier.verify(
                try token(index).utf8.span, as: .transaction, policy: policy, at: BackendTests.start
            )
            return try #require(EvidenceIdentifiers(of: answer.evidence).appAccountToken)
        }
    }

    private func withBackend(
        _ form: Form, _ shop: Shop,
        _ test:
            @Sendable (any TestClientProtocol, _ stop: @escaping @Sendable () -> Void) async throws
            ->
            Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var server: Server?
        let assay: any Decider
        switch form {
        case .inProcess: assay = InProcess(verifier: shop.verifier, policy: shop.policy)
        case .sidecar:
            let clock: @Sendable () -> Timestamp = { shop.now.withLock(\.self) }
            let started = try Server(
                ServerConfiguration(
                    listen: [.unix(path: folder.path + "/a.sock")],
                    apps: ["game": AppEntry(verifier: shop.verifier, policy: shop.policy)],
                    defaultApp: "game", workers: 1, log: Silence(), clock: clock))
            server = started
            assay = Sidecar(client: try AssayClient(address: started.endpoints[0]))
        }
        let stop: @Sendable () -> Void = { [server] in
            server?.drain()
            server?.wait()
        }
        defer { stop() }
        var backend = try Backend(assay, DatabaseQueue(path: folder.path + "/backend.sqlite"))
        backend.clock = { shop.now.withLock(\.self) }
        let application = Application(router: backend.router())
        try await application.test(.router) { try await test($0, stop) }
    }

    private struct Silence: LogSink { func write(_ line: String) {} }

    private struct Answer {
        let status: Int
        let body: String

        var products: [String]? {
            (try? JSONDecoder().decode(Grants.self, from: Data(body.utf8)))?.products
        }
    }

    private func ask(
        _ client: any TestClientProtocol, _ method: HTTPRequest.Method, _ path: String,
        session: String? = nil, _ body: String = ""
    ) async throws -> Answer {
        var headers: HTTPFields = [.contentType: "application/json"]
        if let session { headers[.authorization] = "Bearer " + session }
        return try await client.execute(
            uri: path, method: method, headers: headers, body: ByteBuffer(string: body)
        ) { Answer(status: $0.status.code, body: String(buffer: $0.body)) }
    }

    private func logIn(_ client: any TestClientProtocol, _ user: String) async throws -> String {
        let answer = try await ask(client, .post, "/sessions", "{\"user\": \"\(user)\"}")
        let session = try JSONDecoder().decode(Session.self, from: Data(answer.body.utf8))
        return session.session
    }

    private func purchase(_ token: String) -> String { "{\"token\": \"\(token)\"}" }
    private func notification(_ token: String) -> String { "{\"signedPayload\": \"\(token)\"}" }

    @Test(
        "a purchase unlocks for its account alone, also when it comes twice",
        arguments: Form.allCases)
    func purchases(form: Form) async throws {
        let shop = try Shop()
        try await withBackend(form, shop) { client, _ in
            let owner = try await logIn(client, try shop.user(1))
            let other = try await logIn(client, try shop.user(2))
            let token = try shop.token(1)
            var forged = Array(token)
            forged[forged.count - 20] = forged[forged.count - 20] == "A" ? "B" : "A"
            let cases: [(session: String?, token: String, status: Int, products: [String]?)] = [
                (nil, token, 401, nil), ("no session", token, 401, nil),
                (other, token, 400, nil), (owner, String(forged), 400, nil),
                (owner, "a.b.c", 400, nil),
                (owner, try shop.token(1, bundleId: "com.example.other"), 400, nil),
                (owner, token, 200, [Self.product]), (owner, token, 200, [Self.product]),
            ]
            for (index, one) in cases.enumerated() {
                let answer = try await ask(
                    client, .post, "/purchases", session: one.session, purchase(one.token))
                #expect(answer.status == one.status, "case \(index): \(answer.body)")
                #expect(answer.products == one.products, "case \(index)")
            }
            let owned = try await ask(client, .get, "/grants", session: owner)
            #expect(owned.products == [Self.product])
            let others = try await ask(client, .get, "/grants", session: other)
            #expect(others.products == [])
        }
    }

    @Test("a notification extends what ends; nobody else's does", arguments: Form.allCases)
    func notifications(form: Form) async throws {
        let shop = try Shop()
        try await withBackend(form, shop) { client, _ in
            let user = try shop.user(1)
            let session = try await logIn(client, user)
            _ = try await ask(
                client, .post, "/purchases", session: session, purchase(try shop.token(1)))
            func move(toDay days: Int64) {
                shop.now.withLock {
                    $0 = Timestamp(milliseconds: Self.start.milliseconds + days * Self.day)
                }
            }
            move(toDay: 29)
            let cases: [(body: String, status: Int)] = [
                (notification(try shop.token(2, .notification, days: 29)), 200),
                (notification("a.b.c"), 400), ("{}", 400),
                (
                    notification(try shop.token(1, .notification, bundleId: "com.example.other")),
                    503
                ),
            ]
            for (index, one) in cases.enumerated() {
                let answer = try await ask(client, .post, "/notifications", one.body)
                #expect(answer.status == one.status, "case \(index): \(answer.body)")
            }
            // The session has ended, and the month as well.
            move(toDay: 40)
            let late = try await ask(client, .get, "/grants", session: session)
            #expect(late.status == 401)
            let again = try await logIn(client, user)
            let lapsed = try await ask(client, .get, "/grants", session: again)
            #expect(lapsed.products == [])
            let renewal = try await ask(
                client, .post, "/notifications",
                notification(try shop.token(1, .notification, days: 29)))
            #expect(renewal.status == 200, "\(renewal.body)")
            let renewed = try await ask(client, .get, "/grants", session: again)
            #expect(renewed.products == [Self.product])
        }
    }

    @Test("without the sidecar there is no verdict: Apple and the app send again")
    func withoutServer() async throws {
        let shop = try Shop()
        try await withBackend(.sidecar, shop) { client, stop in
            let session = try await logIn(client, try shop.user(1))
            stop()
            let bought = try await ask(
                client, .post, "/purchases", session: session, purchase(try shop.token(1)))
            #expect(bought.status == 503, "\(bought.body)")
            let noticed = try await ask(
                client, .post, "/notifications", notification(try shop.token(1, .notification)))
            #expect(noticed.status == 503)
            let owned = try await ask(client, .get, "/grants", session: session)
            #expect(owned.products == [])
        }
    }
}
