import ArgumentParser
import Assay
import AssayAdmin
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Verify evidence for other processes.",
        discussion: """
            Speaks length-prefixed protobuf (proto/assay/v1/assay.proto); HTTP, gRPC and
            Connect at http:// addresses. Prints one line with its addresses when it is
            ready, and logs JSON lines to standard error.
            On SIGTERM or SIGINT it answers the requests that it accepted, then exits; a
            second signal ends it at once. SIGHUP reloads the configuration.

            EXAMPLES
              On the loopback interface, at the default port:
                assay serve
              On a Unix socket and on any free port, with a configuration:
                assay serve --listen unix:/run/assay/assay.sock \\
                  --listen tcp://127.0.0.1:0 --config /etc/assay.toml
              For HTTP clients (curl http://127.0.0.1:7445/v1/health):
                assay serve --listen http://127.0.0.1:7445
              With health, metrics and a status page (http://127.0.0.1:7444/status):
                assay serve --admin tcp://127.0.0.1:7444
              Check a configuration, and print what it serves and trusts:
                assay serve --config /etc/assay.toml --check

            A flag overrides its environment variable (ASSAY_LISTEN, ASSAY_CONFIG,
            ASSAY_WORKERS, ASSAY_ADMIN, ASSAY_AUDIT, ASSAY_TRACE_OTLP), which overrides the
            file, which overrides the default. Without a configuration the server verifies
            evidence of any app. Each request then names the app and the environments that it
            accepts, by default Production alone.

            EXIT STATUS
              0        stopped by a signal, with every accepted request answered
              2        wrong usage or configuration, or it could not listen
              130,143  a second signal, SIGINT or SIGTERM, ended it at once
            """)

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "tcp://HOST:PORT, tls://HOST:PORT, unix:PATH, systemd:NAME or systemd+tls:NAME; for "
                + "HTTP http://HOST:PORT, https://HOST:PORT or unix-http:PATH. Port 0 chooses a "
                + "free port. Repeat for more. "
                + "(default: \(ServerSettings.defaultListen))",
            valueName: "address"),
        transform: endpointArgument)
    var listen: [Endpoint] = []

    @Option(
        help: ArgumentHelp("The configuration file, TOML.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        name: .customLong("root"),
        help: ArgumentHelp(
            "A root to trust for every app, in addition to Apple's, PEM or DER; without a "
                + "configuration also for HarmonyOS. Repeat for more.",
            valueName: "file"),
        completion: .file())
    var roots: [String] = []

    @OptionGroup(title: "Other stores, for every app") var stores: PurchaseKeyOptions

    @Option(
        help: ArgumentHelp(
            "Time to keep serving after SIGTERM, while not ready. (default: 0)",
            valueName: "seconds"))
    var drainDelay: Int?

    @Option(
        help: ArgumentHelp(
            "Number of workers: threads that each read, verify and answer for their own "
                + "connections. (default: one for each processor)",
            valueName: "n"))
    var workers: Int?

    @Option(
        help: ArgumentHelp(
            "What verifies signatures: \(EngineChoice.names). All give the same answers. auto is "
                + "the fastest that the processor supports; ifma needs AVX-512 IFMA, avx2 needs "
                + "AVX2, neon a processor of Arm; openssl is the slowest. (default: auto)",
            valueName: "name"),
        completion: .choices(EngineChoice.self),
        transform: choiceArgument)
    var engine: EngineChoice?

    @Option(
        name: .customLong("admin"),
        help: ArgumentHelp(
            "Serve /healthz, /readyz, /metrics and /status here: tcp://HOST:PORT on the "
                + "loopback interface, or unix:PATH. (default: none)",
            valueName: "address"),
        transform: endpointArgument)
    var admin: Endpoint?

    @Flag(
        name: .customLong("admin-any-address"),
        help: "Allow an admin address that other machines can reach.")
    var adminAnyAddress = false

    @Flag(
        name: .customLong("admin-explain"),
        help: "Serve /explain on the admin address: why evidence gets its verdict.")
    var adminExplain = false

    @Option(
        name: .customLong("audit"),
        help: ArgumentHelp(
            "Append a JSON line for each answer to this file, or send it to this socket: PATH or "
                + "unix:PATH. (default: none)",
            valueName: "file"),
        completion: .file())
    var audit: String?

    @Flag(
        name: .customLong("audit-evidence"),
        help: "Write the evidence itself into the lines of --audit.")
    var auditEvidence = false

    @Option(
        name: .customLong("trace-otlp"),
        help: ArgumentHelp(
            "Export a span of each request whose client records its trace: the URL of an "
                + "OpenTelemetry collector, such as http://127.0.0.1:4318/v1/traces. "
                + "(default: none)",
            valueName: "url"))
    var traceOTLP: String?

    @Option(
        help: ArgumentHelp(
            "\(LogLevelChoice.names). debug logs why a request to verifyReceipt got a status other "
                + "than 0. (default: info)",
            valueName: "level"),
        completion: .choices(LogLevelChoice.self),
        transform: choiceArgument)
    var logLevel: LogLevelChoice = .info

    @Flag(help: "Check the configuration, print what it means, and exit.")
    var check = false

    func validate() throws {
        if let drainDelay, !LimitSettings.drainDelay.contains(drainDelay) {
            let range = LimitSettings.drainDelay
            throw ValidationError(
                "--drain-delay must be from \(range.lowerBound) to \(range.upperBound) seconds")
        }
        if let workers, !ConfigurationFile.workers.contains(workers) {
            let range = ConfigurationFile.workers
            throw ValidationError(
                "--workers must be from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    func run() async throws {
        let environment = ProcessEnvironment.variables
        let inherited = try Self.inherited(environment)
        let settings = try Self.settings(flags, environment, inherited)
        if check {
            // Finds what only a start would: libcurl, and the URLs of the App Store.
            _ = try settings.serverConfiguration(startsServices: false)
            try Output.line(settings.summary(now: .now))
            return
        }
        Descriptors.raiseLimit()
        FreeMemory.limitHeaps()
        // Started first and stopped last: reports that the server is not ready, or no longer.
        let (monitor, admin) = try startAdmin(settings)
        defer { admin?.stop() }
        var configuration = try settings.serverConfiguration()
        configuration.monitor = monitor
        configuration.fixed.logsDebug = logLevel == .debug
        let server = try start(configuration)
        let manager = ServiceManager(environment: environment)
        if let manager, let period = manager.watchdogMilliseconds {
            try server.followHeartbeat(everyMilliseconds: period) { manager.notifyWatchdog() }
        }
        let flags = flags
        // Starts the reload thread before the server is ready, so that a failure can't stop a
        // running server.
        let reloader = try ConfigurationReloader(server, configuration, manager) { current in
            try Self.settings(flags, environment, inherited)
                .serverConfiguration(reusing: current)
        }
        try Output.line(
            "assay ready " + server.endpoints.map { "\($0)" }.joined(separator: " "))
        manager?.notifyReady()
        // A reload can have replaced the services.
        defer {
            reloader.current.audit?.stop()
            reloader.current.spans?.stop()
        }
        try follow(server, reloader, manager)
    }

    private func startAdmin(_ settings: ServerSettings) throws -> (ServerMonitor?, AdminServer?) {
        guard let endpoint = settings.admin.endpoint else { return (nil, nil) }
        let monitor = ServerMonitor()
        do throws(AdminError) {
            let admin = try AdminServer(
                at: endpoint, of: monitor, allowsAnyAddress: settings.admin.allowsAnyAddress,
                explains: settings.admin.explains)
            return (monitor, admin)
        } catch {
            throw Failure("\(error)")
        }
    }

    private func start(_ configuration: ServerConfiguration) throws -> Server {
        ignoreBrokenPipes()
        do throws(ServerError) {
            let server = try Server(configuration)
            try server.followSignals()
            return server
        } catch {
            throw Failure("\(error)")
        }
    }

    private func follow(
        _ server: Server, _ reloader: ConfigurationReloader, _ manager: ServiceManager?
    ) throws {
        while true {
            switch server.nextEvent() {
            case .hangup: reloader.request()
            case .draining: manager?.notifyStopping()
            case .ended(.drained): return
            case .ended(.stopped(let signal)): throw ExitStatus.stopped(by: signal)
            }
        }
    }

    private static func inherited(_ environment: [String: String]) throws -> [InheritedSocket] {
        do throws(InheritedSocketError) {
            return try InheritedSocket.passed(environment: environment)
        } catch {
            throw Failure("\(error)")
        }
    }

    private var flags: ServerSettings.Flags {
        ServerSettings.Flags(
            listen: listen, config: config, roots: roots, stores: stores.arguments,
            workers: workers, engine: engine ?? .auto,
            drainDelay: drainDelay, admin: admin,
            adminAnyAddress: adminAnyAddress, adminExplain: adminExplain,
            audit: audit, auditEvidence: auditEvidence, traceOTLP: traceOTLP)
    }

    private static func settings(
        _ flags: ServerSettings.Flags, _ environment: [String: String],
        _ inherited: [InheritedSocket]
    ) throws -> ServerSettings {
        do {
            return try ServerSettings(
                flags: flags, environment: environment, inherited: inherited)
        } catch let problems as ConfigurationProblems {
            throw Failure(problems.all.map(\.description))
        }
    }
}
