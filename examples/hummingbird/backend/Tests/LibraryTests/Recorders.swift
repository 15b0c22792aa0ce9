import AssayMint
import AssayServer
import Foundation
import InMemoryLogging
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import Synchronization
import Testing
import Tracing

/// What the process records: it has one tracer and one factory of metrics.
enum Recorders {
    static let metrics = TestMetrics()
    static let tracer = InMemoryTracer(idGenerator: .hexadecimal)

    /// Installs both, once.
    static let areInstalled: Void = {
        MetricsSystem.bootstrap(metrics)
        InstrumentationSystem.bootstrap(MultiplexInstrument([tracer, TraceparentInstrument()]))
    }()

    /// The spans of a trace but for its root: those of clients, or of servers.
    static func children(of root: any Span, _ kind: SpanKind = .client) -> [FinishedInMemorySpan] {
        guard let root = root as? InMemorySpan else { return [] }
        return tracer.finishedSpans.filter {
            $0.traceID == root.traceID && $0.spanID != root.spanID && $0.kind == kind
        }
    }
}

extension InMemoryTracer.IDGenerator {
    /// Ids as W3C Trace Context has them.
    fileprivate static var hexadecimal: Self {
        let last = Atomic<UInt64>(0)
        @Sendable func next(_ digits: Int) -> String {
            let number = String(last.add(1, ordering: .relaxed).newValue, radix: 16)
            return String(repeating: "0", count: digits - number.count) + number
        }
        return Self(nextTraceID: { next(32) }, nextSpanID: { next(16) })
    }
}

/// Names the spans of the tracer to others as W3C Trace Context does.
private struct TraceparentInstrument: Instrument {
    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.inMemorySpanContext else { return }
        injector.inject(
            "00-\(span.traceID)-\(span.spanID)-01", forKey: "traceparent", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        let parts = extractor.extract(key: "traceparent", from: carrier)?.split(separator: "-")
        guard let parts, parts.count == 4 else { return }
        context.inMemorySpanContext = InMemorySpanContext(
            traceID: String(parts[1]), spanID: String(parts[2]), parentSpanID: nil)
    }
}

/// A logger that keeps what it gets.
func recordingLogger() -> (Logger, InMemoryLogHandler) {
    var handler = InMemoryLogHandler()
    handler.logLevel = .trace
    let kept = handler
    var logger = Logger(label: "test") { _ in kept }
    logger.logLevel = .trace
    return (logger, kept)
}

/// A server on a Unix socket, and evidence that it accepts.
struct ServedShop {
    let server: Server
    let token: [UInt8]
    let forged: [UInt8]

    init(app: String, logger: Logger) throws {
        let now = Timestamp.now
        let authority = try DevelopmentCA.make(at: now)
        token = try Minter(authority.chain).mint(
            .transaction, index: 1, bundleId: "com.example.game", appAppleId: 1,
            environment: .production, signedDate: now)
        forged = try Minter(DevelopmentCA.make(at: now).chain).mint(
            .transaction, index: 1, bundleId: "com.example.game", appAppleId: 1,
            environment: .production, signedDate: now)
        let trust = try TrustStore.empty.pinning(authority.rootCertificate, development: false)
        let entry = AppEntry(
            verifier: Verifier(trust: trust), policy: Policy(bundleId: "com.example.game"))
        let path =
            FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString.prefix(13)).sock"
        var configuration = ServerConfiguration(
            listen: [.unix(path: path)], apps: [app: entry], defaultApp: app, logger: logger)
        try configuration.makeSpans(logger: logger)
        server = try Server(configuration)
    }
}

/// Runs services in a group, and ends it after the body: gracefully, or by cancellation.
func withGroup(
    of services: [any Service], isGraceful: Bool, _ body: () async throws -> Void
) async throws {
    let (started, start) = AsyncStream<Void>.makeStream()
    // A group that does not run yet ignores a shutdown.
    let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
            services: services + [Announcement(start: start)], logger: recordingLogger().0))
    let task = Task { try await group.run() }
    for await _ in started { break }
    try await body()
    if isGraceful { await group.triggerGracefulShutdown() } else { task.cancel() }
    _ = await task.result
}

/// Says that its group runs.
private struct Announcement: Service {
    let start: AsyncStream<Void>.Continuation

    func run() async throws {
        start.yield()
        try await gracefulShutdown()
    }
}
