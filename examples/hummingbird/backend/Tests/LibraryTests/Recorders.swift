import AssayMint
import AssayServer
import Foundation
import InMemoryLogging
import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import Testing
import Tracing

/// What the process records: it has one tracer and one factory of metrics.
enum Recorders {
    static let metrics = TestMetrics()
    static let tracer = InMemoryTracer()

    /// Installs both, once.
    static let areInstalled: Void = {
        MetricsSystem.bootstrap(metrics)
        InstrumentationSystem.bootstrap(tracer)
    }()

    /// The spans of a trace but for its root.
    static func children(of root: any Span) -> [FinishedInMemorySpan] {
        guard let root = root as? InMemorySpan else { return [] }
        return tracer.finishedSpans.filter {
            $0.traceID == root.traceID && $0.spanID != root.spanID
        }
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
        server = try Server(
            ServerConfiguration(
                listen: [.unix(path: path)], apps: [app: entry], defaultApp: app, logger: logger))
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
