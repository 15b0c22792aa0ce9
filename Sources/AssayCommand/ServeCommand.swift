import ArgumentParser
import Assay
import AssayAdmin
import AssayIO
import AssayModels
import AssayServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Verify evidence for other processes.",
        discussion: """
            Speaks length-prefixed protobuf (proto/assay/v1/assay.proto). Prints one line
            when it is ready, with the addresses it listens at, and logs JSON lines to
            standard error. SIGTERM and SIGINT end it after it has answered what it
            accepted; a second one ends it at once. SIGHUP has it read its configuration
            anew.

            EXAMPLES
              On the loopback interface, at the default port:
                assay serve
              On a Unix socket and on any free port, with a configuration:
                assay serve --listen unix:/run/assay/assay.sock \\
                  --listen tcp://127.0.0.1:0 --config /etc/assay.toml
              With health, metrics and a page for people at http://127.0.0.1:7444/status:
                assay serve --admin tcp://127.0.0.1:7444
              What would be served, and what trusted:
                assay serve --config /etc/assay.toml --check

            A flag goes before its environment variable (ASSAY_LISTEN, ASSAY_CONFIG,
            ASSAY_WORKERS, ASSAY_ADMIN), that before the file, and that before the
            default. Without a configuration evidence of any app is verified, and a
            request says which app and which environments it accepts; Production alone
            when it says none.

            EXIT STATUS
              0        it was asked to end, and has answered what it accepted
              2        wrong usage or configuration, or it could not listen
              130,143  a second signal, SIGINT or SIGTERM, ended it at once
            """)

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "tcp://HOST:PORT, tls://HOST:PORT, unix:PATH, systemd:NAME or systemd+tls:NAME; port 0 "
                + "takes a free one. Repeat for more. "
                + "(default: \(ServerSettings.defaultListen))",
            valueName: "address"),
        transform: endpointArgument)
    var listen: [Endpoint] = []

    @Option(help: ArgumentHelp("The configuration, TOML.", valueName: "file"))
    var config: String?

    @Option(
        name: .customLong("root"),
        help: ArgumentHelp(
            "A further root that every app trusts, PEM or DER. Repeat for more.",
            valueName: "file"))
    var roots: [String] = []

    @Option(
        help: ArgumentHelp(
            "After SIGTERM, go on serving for so long while not ready. (default: 0)",
            valueName: "seconds"))
    var drainDelay: Int?

    @Option(
        help: ArgumentHelp(
            "Threads that verify. (default: one for each processor)", valueName: "n"))
    var workers: Int?

    @Flag(
        help: """
            Verify with OpenSSL's own routine alone, without tables for much used keys: the same \
            answers, some three times slower.
            """)
    var noKeyTables = false

    @Option(
        name: .customLong("admin"),
        help: ArgumentHelp(
            "Answer /healthz, /readyz, /metrics and /status here: tcp://HOST:PORT of the "
                + "loopback interface, or unix:PATH. (default: nowhere)",
            valueName: "address"),
        transform: endpointArgument)
    var admin: Endpoint?

    @Flag(
        name: .customLong("admin-any-address"),
        help: "Let the admin address be one that other machines can reach.")
    var adminAnyAddress = false

    @Flag(help: "Check the configuration, print what it means, and exit.")
    var check = false

    func validate() throws {
        if let drainDelay, !LimitSettings.drainDelay.contains(drainDelay) {
            let range = LimitSettings.drainDelay
            throw ValidationError(
                "--drain-delay has to be from \(range.lowerBound) to \(range.upperBound) seconds")
        }
        if let workers, !ConfigurationFile.workers.contains(workers) {
            let range = ConfigurationFile.workers
            throw ValidationError(
                "--workers has to be from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    func run() async throws {
        let environment = ProcessEnvironment.variables
        let inherited = try Self.inherited(environment)
        let settings = try Self.settings(flags, environment, inherited)
        if check {
            try Output.line(settings.summary(now: .now))
            return
        }
        // Started first and stopped last: reports that the server is not ready, or no longer.
        let (monitor, admin) = try startAdmin(settings)
        defer { admin?.stop() }
        var configuration = settings.serverConfiguration()
        configuration.monitor = monitor
        let server = try start(configuration)
        let manager = ServiceManager(environment: environment)
        if let manager, let period = manager.watchdogMilliseconds {
            try server.followHeartbeat(everyMilliseconds: period) { manager.isAlive() }
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
        try follow(server, reloader, manager)
    }

    private func startAdmin(_ settings: ServerSettings) throws -> (ServerMonitor?, AdminServer?) {
        guard let endpoint = settings.admin.endpoint else { return (nil, nil) }
        let monitor = ServerMonitor()
        do throws(AdminError) {
            let admin = try AdminServer(
                at: endpoint, of: monitor, allowsAnyAddress: settings.admin.allowsAnyAddress)
            return (monitor, admin)
        } catch {
            throw Failure("\(error)")
        }
    }

    private func start(_ configuration: ServerConfiguration) throws -> Server {
        Descriptors.raiseLimit()
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
            listen: listen, config: config, roots: roots, workers: workers,
            noKeyTables: noKeyTables, drainDelay: drainDelay, admin: admin,
            adminAnyAddress: adminAnyAddress)
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
