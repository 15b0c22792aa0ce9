import ArgumentParser
import Assay
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
              What would be served, and what trusted:
                assay serve --config /etc/assay.toml --check

            A flag goes before its environment variable (ASSAY_LISTEN, ASSAY_CONFIG,
            ASSAY_WORKERS), that before the file, and that before the default. Without a
            configuration evidence of any app is verified, and a request says which app and
            which environments it accepts; Production alone when it says none.
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
        let server = try start(settings)
        try Output.line(
            "assay ready " + server.endpoints.map { "\($0)" }.joined(separator: " "))
        server.wait()
    }

    private func start(_ settings: ServerSettings) throws -> Server {
        Descriptors.raiseLimit()
        do throws(ServerError) {
            let server = try Server(settings.serverConfiguration)
            try server.drainOnSignals()
            return server
        } catch {
            throw Failure("\(error)")
        }
    }

    private func settings() throws -> ServerSettings {
        do {
            return try ServerSettings(
                flags: .init(listen: listen, config: config, roots: roots, workers: workers),
                environment: ProcessEnvironment.variables)
        } catch let problems as ConfigurationProblems {
            throw Failure(problems.all.map(\.description).joined(separator: "\nassay: "))
        }
    }
}
