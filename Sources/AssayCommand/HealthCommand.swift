import ArgumentParser
import AssayClient
import AssayCommandLine
import AssayIO

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Ask a server whether it accepts requests.",
        discussion: """
            For health checks of containers and supervisors.

            EXAMPLES
              assay health tcp://127.0.0.1:7443
              assay health unix:/run/assay/assay.sock

            EXIT STATUS
              0  SERVING
              1  NOT_SERVING: the server is draining
              2  no answer, or not in time
            """)

    @Argument(
        help: ArgumentHelp("tcp://HOST:PORT, tls://HOST:PORT or unix:PATH.", valueName: "address"),
        transform: serverArgument)
    var server: Endpoint

    /// Container probes time out after one second (the default of Kubernetes) or more. The start
    /// of the process takes part of it, and so does the quarter of a second by which the client
    /// outwaits the server.
    private static let defaultTimeout = Duration.milliseconds(500)

    @Option(
        help: ArgumentHelp(
            "Time to wait for the answer. (default: 0.5)", valueName: "seconds"),
        transform: timeoutArgument)
    var timeout: Duration?

    var answerTimeout: Duration { timeout ?? Self.defaultTimeout }

    @OptionGroup(title: "TLS") var tls: TLSOptions

    func run() async throws {
        let isServing = try await server.ask(
            tls.context(for: server), timeout: answerTimeout
        ) { client throws(ClientError) in
            try await client.health()
        }
        try Output.line(isServing ? "SERVING" : "NOT_SERVING")
        if !isServing { throw ExitStatus.refused }
    }
}
