import AssayClient
import AssayServer
import InMemoryTracing
import Logging
import MetricsTestKit
import ServiceLifecycle
import Testing
import Tracing

@Suite("AssayServer on a server in Swift", .timeLimit(.minutes(2)))
struct ServerTests {
    init() { Recorders.areInstalled }

    @Test(
        "it ends with its group, answers first, logs events, and counts", arguments: [true, false])
    func service(isGraceful: Bool) async throws {
        let app = isGraceful ? "graceful" : "cancelled"
        let (logger, log) = recordingLogger()
        let shop = try ServedShop(app: app, logger: logger)
        let client = try AssayClient(address: shop.server.endpoints[0])
        try await withGroup(of: [client, shop.server], isGraceful: isGraceful) {
            var verdicts: [String] = []
            for evidence in [shop.token, shop.token, shop.forged] {
                let answer = try await client.verify(evidence, as: .transaction)
                verdicts.append(answer.verification.verdict.name)
            }
            #expect(verdicts == ["VALID", "VALID", "UNTRUSTED_CHAIN"])
        }
        #expect(!shop.server.isReady)

        let events = log.entries.map { "\($0.message)" }
        #expect(events.contains("draining") && events.last == "stopped")
        let draining = try #require(log.entries.first { "\($0.message)" == "draining" })
        #expect(draining.level == .info && draining.metadata["connections"] != nil)
        #expect(draining.metadata["time"] == nil)
        for (verdict, count) in [("VALID", 2), ("UNTRUSTED_CHAIN", 1)] {
            let total = Recorders.metrics.counters(label: "assay_verifications_total")
                .filter { $0.dimensions.contains { $0 == ("verdict", verdict) } }
                .filter { $0.dimensions.contains { $0 == ("app", app) } }
                .map(\.totalValue).reduce(0, +)
            #expect(total == count, "\(verdict)")
        }
        let handled = try Recorders.metrics.expectCounter(
            "grpc_server_handled_total",
            [("grpc_service", "assay.v1.Assay"), ("grpc_method", "Verify"), ("grpc_code", "OK")])
        #expect(handled.totalValue >= 3)
    }

    @Test("a span of the server continues that of its client")
    func spans() async throws {
        let (logger, _) = recordingLogger()
        let shop = try ServedShop(app: "traced", logger: logger)
        let client = try AssayClient(address: shop.server.endpoints[0])
        var root: (any Span)?
        try await withGroup(of: [client, shop.server], isGraceful: true) {
            try await withSpan("a request") { span in
                root = span
                _ = try await client.verify(shop.token, as: .transaction)
                _ = try? await client.verify(shop.token, as: .transaction, app: "no-such-app")
            }
        }
        let ofClient = Recorders.children(of: try #require(root))
        let ofServer = Recorders.children(of: try #require(root), .server)
        #expect(ofServer.map(\.operationName) == ["Verify", "Verify"])
        #expect(Set(ofServer.map(\.parentSpanID)) == Set(ofClient.map(\.spanID)))
        #expect(ofServer.map { $0.attributes.text("assay.verdict") } == ["VALID", nil])
        #expect(ofServer.map { $0.attributes.text("assay.status") } == [nil, "NotFound"])
        #expect(ofServer.map { $0.attributes.text("rpc.system") } == ["assay", "assay"])
        #expect(ofServer.allSatisfy { $0.startInstant.nanosecondsSinceEpoch > 0 })
    }
}
