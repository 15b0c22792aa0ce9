import AssayMint
import AssayStore
import Hummingbird
import HummingbirdTesting
import InMemoryTracing
import Logging
import ServiceLifecycle
import Testing
import Tracing

@Suite("AssayStore on a server in Swift", .timeLimit(.minutes(2)))
struct StoreTests {
    init() { Recorders.areInstalled }

    /// Answers as the App Store does, to one call, and refuses another.
    private func withStore(_ test: @Sendable (AppStoreClient, Log) async throws -> Void)
        async throws
    {
        let router = Router()
        router.post("/inApps/v1/notifications/test") { _, _ in
            "{\"testNotificationToken\": \"ce3af791-365e-4c60-841b-1674b43c1609_1656711526000\"}"
        }
        router.get("/inApps/v2/history/:id") { _, _ in
            Response(
                status: .notFound,
                body: .init(
                    byteBuffer: ByteBuffer(
                        string:
                            "{\"errorCode\":4040010,\"errorMessage\":\"Transaction id not found.\"}"
                    )))
        }
        let authority = try DevelopmentCA.make(at: .now)
        let file = try #require(
            try authority.files().first { $0.secret && $0.name.contains("leaf") })
        try await Application(router: router).test(.live) { server in
            let key = try StoreKey(
                encoded: file.contents, keyId: "2X9R4HXF34",
                issuerId: "57246542-96fe-1a63-e053-0824d011072a")
            let (logger, log) = recordingLogger()
            var configuration = StoreConfiguration(bundleId: "com.example.game", key: key)
            configuration.environment = .production
            let port = try #require(server.port)
            configuration.productionURL = "http://127.0.0.1:\(port)"
            configuration.logger = logger
            let client = try AppStoreClient(configuration)
            try await test(
                client,
                Log(entries: { log.entries.map { "\($0.level) \($0.message) \($0.metadata)" } }))
            client.close()
        }
    }

    private struct Log: Sendable { let entries: @Sendable () -> [String] }

    @Test("a call is a span of the caller's trace, is counted, and is logged without a transaction")
    func calls() async throws {
        try await withStore { client, log in
            let spans = try await withSpan("a request") { span in
                _ = try await client.answer(to: .testNotification())
                _ = try? await client.answer(to: try .history(of: "470001500000001"))
                return Recorders.children(of: span)
            }
            #expect(
                spans.map(\.operationName) == ["appstore test-notification", "appstore history"])
            #expect(spans.map { $0.attributes.text("error.type") } == [nil, "refused"])
            #expect(spans.map { $0.status?.code == .error } == [false, true])
            for (endpoint, outcome) in [
                ("test-notification", "answered"), ("history", "not_found"),
            ] {
                let counter = try Recorders.metrics.expectCounter(
                    "assay_store_requests_total", [("endpoint", endpoint), ("outcome", outcome)])
                #expect(counter.totalValue == 1, "\(endpoint)")
            }
            let lines = log.entries()
            #expect(lines.map { $0.prefix(5) } == ["trace", "debug"])
            #expect(!lines.contains { $0.contains("470001500000001") })
        }
    }

    @Test("it runs in a group and is closed with it")
    func service() async throws {
        try await withStore { client, _ in
            try await withGroup(of: [client], isGraceful: true) {}
            var reason: StoreError.Reason?
            do throws(StoreError) {
                _ = try await client.answer(to: .testNotification())
            } catch {
                reason = error.reason
            }
            #expect(reason == .cancelled)
        }
    }
}
