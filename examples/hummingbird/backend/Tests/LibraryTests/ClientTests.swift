import AssayClient
import Foundation
import InMemoryTracing
import Logging
import ServiceLifecycle
import Testing
import Tracing

@Suite("AssayClient on a server in Swift", .timeLimit(.minutes(2)))
struct ClientTests {
    init() { Recorders.areInstalled }

    @Test("a call is a span of the caller's trace, is counted, and is logged without its evidence")
    func calls() async throws {
        let shop = try ServedShop(app: "client", logger: recordingLogger().0)
        defer {
            shop.server.drain()
            shop.server.wait()
        }
        let (logger, log) = recordingLogger()
        var options = ClientOptions()
        options.logger = logger
        let client = try AssayClient(address: shop.server.endpoints[0], options: options)
        defer { client.close() }
        let spans = try await withSpan("a request") { span in
            _ = try await client.verify(shop.token, as: .transaction)
            _ = try await client.verify(shop.forged, as: .transaction)
            _ = try? await client.verify(shop.token, as: .transaction, app: "no-such-app")
            _ = try await client.resolve([ResolveItem(shop.token)])
            return Recorders.children(of: span)
        }
        #expect(
            spans.map(\.operationName) == [
                "assay.v1.Assay/Verify", "assay.v1.Assay/Verify", "assay.v1.Assay/Verify",
                "assay.v1.Assay/Resolve",
            ])
        #expect(spans.allSatisfy { $0.kind == .client && $0.parentSpanID != nil })
        #expect(
            spans.map { $0.attributes.text("assay.verdict") } == [
                "VALID", "UNTRUSTED_CHAIN", nil, nil,
            ])
        #expect(spans.map { $0.attributes.text("error.type") } == [nil, nil, "notFound", nil])
        #expect(spans.map { $0.status?.code == .error } == [false, false, true, false])
        for (call, outcome, count) in [
            ("Verify", "ok", 2), ("Verify", "notFound", 1), ("Resolve", "ok", 1),
        ] {
            let counter = try Recorders.metrics.expectCounter(
                "assay_client_calls_total", [("call", call), ("outcome", outcome)])
            // Other tests call Verify and Resolve, too.
            #expect(counter.totalValue >= count, "\(call) \(outcome)")
        }
        let times = try Recorders.metrics.expectTimer(
            "assay_client_call_seconds", [("call", "Resolve")])
        #expect(times.values.allSatisfy { $0 > 0 } && !times.values.isEmpty)
        #expect(log.entries.map(\.level) == [.trace, .trace, .debug, .trace])
        #expect(log.entries[2].metadata["assay.outcome"] == "notFound")
        let text = String(decoding: shop.token, as: UTF8.self)
        for entry in log.entries {
            let line = "\(entry.message) \(entry.metadata)"
            #expect(!line.contains("no-such-app") && !line.contains(text.prefix(40)))
        }
    }

    @Test("a call without a server is a failed span")
    func noServer() async throws {
        let client = try AssayClient(address: Endpoint("unix:/tmp/assay-no-such.sock"))
        let spans = await withSpan("a request") { span in
            _ = try? await client.ping()
            return Recorders.children(of: span)
        }
        #expect(spans.map { $0.attributes.text("error.type") } == ["connectFailed"])
        #expect(spans.map(\.status?.code) == [.error])
    }

    @Test("it runs in a group and is closed with it", arguments: [true, false])
    func service(isGraceful: Bool) async throws {
        let shop = try ServedShop(app: "service", logger: recordingLogger().0)
        defer {
            shop.server.drain()
            shop.server.wait()
        }
        let client = try AssayClient(address: shop.server.endpoints[0])
        try await withGroup(of: [client], isGraceful: isGraceful) {
            let isServing = try await client.health()
            #expect(isServing)
        }
        var reason: ClientError.Reason?
        do throws(ClientError) { try await client.ping() } catch { reason = error.reason }
        #expect(reason == .closed)
    }
}

extension SpanAttributes {
    /// The text of an attribute.
    func text(_ name: String) -> String? {
        guard case .string(let text)? = get(name) else { return nil }
        return text
    }
}
