import ArgumentParser
import Assay
import AssayAdmin
import AssayLoop
import AssayModels
import AssayServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Verify evidence for other processes.",
        discussion: """
            Speaks length-prefixed protobuf (proto/assay/v1/assay.proto). Prints one line when
            it is ready, with the addresses it listens at, and logs JSON lines to standard
            error. SIGTERM and SIGINT end it after it has answered what it accepted.

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
            ASSAY_WORKERS, ASSAY_ADMIN), that before the file, and that before the default.
            Without a configuration evidence of any app is verified, and a request says which app
            and which environments it accepts; Production alone when it says none.
            """)

    @Option(
        name: .customLong("listen"),
        help: ArgumentHelp(
            "tcp://HOST:PORT or unix:PATH; port 0 takes a free one. Repeat for more. "
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
            "Threads that verify. (default: one for each processor)", valueName: "n"))
    var workers: Int?

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
        if let workers, !ConfigurationFile.workers.contains(workers) {
            let range = ConfigurationFile.workers
            throw ValidationError(
                "--workers has to be from \(range.lowerBound) to \(range.upperBound)")
        }
    }

    func run() async throws {
        let settings = try settings()
        if check {
            try Output.line(settings.summary(now: .now))
            return
        }
        // First up and last down: it tells that the server is not ready, or no longer.
        let (monitor, admin) = try startAdmin(settings)
        let server = try start(settings, monitor)
        try Output.line(
            "assay ready " + server.endpoints.map { "\($0)" }.joined(separator: " "))
        server.wait()
        admin?.stop()
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

    private func start(_ settings: ServerSettings, _ monitor: ServerMonitor?) throws -> Server {
        var configuration = settings.serverConfiguration
        configuration.monitor = monitor
        do throws(ServerError) {
            let server = try Server(configuration)
            try server.drainOnSignals()
            return server
        } catch {
            throw Failure("\(error)")
        }
    }

    private func settings() throws -> ServerSettings {
        do {
            return try ServerSettings(
                flags: .init(
                    listen: listen, config: config, roots: roots, workers: workers, admin: admin,
                    adminAnyAddress: adminAnyAddress),
                environment: ProcessEnvironment.variables)
        } catch let problems as ConfigurationProblems {
            throw Failure(problems.all.map(\.description).joined(separator: "\nassay: "))
        }
    }
}
