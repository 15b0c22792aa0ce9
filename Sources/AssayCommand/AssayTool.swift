import ArgumentParser
import Assay
import AssayIO
import AssayModels

/// The entry point of the executable.
package enum AssayProgram {
    /// Ends a process that can't read its arguments, because it would do something other than
    /// requested. Swift reads them from `/proc`, which lists the program's name first. Dispatch
    /// needs `/proc` too and ends a process without it, so call this before Dispatch starts.
    package static func requireArguments(_ arguments: [String] = CommandLine.arguments) {
        guard arguments.isEmpty else { return }
        StandardError.write("assay: can't read the arguments: mount /proc\n")
        AssayTool.exit(withError: ExitStatus.trouble)
    }

    package static func main() async { await AssayTool.main() }
}

/// The command-line tool. Each subcommand has a file of its own.
struct AssayTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assay",
        abstract: "Verifies purchases offline, and decides what each customer owns.",
        discussion: """
            EXAMPLES
              Verify a transaction of your app:
                assay verify --kind transaction --bundle-id com.example.game token.jws
              Why was this refused?
                assay explain --bundle-id com.example.game token.jws
              What is in this file?
                assay explain --no-verify token.jws
              What does this customer own now?
                assay entitlements --bundle-id com.example.game token.jws receipt.txt
              Make a development authority, sign evidence with it, verify it:
                assay mint ca ./ca
                assay mint transaction --ca ./ca --bundle-id com.example.game |
                  assay verify --kind transaction --root ./ca/root.pem -
              Serve verifications to other processes:
                assay serve --listen tcp://127.0.0.1:7443 --config assay.toml

            EXIT STATUS
              0  success; for verify: the verdict is VALID
              1  verify refused the evidence; health: the server is not serving
              2  wrong usage, or a file or server could not be read, written or reached

            'assay help COMMAND' shows the options and examples of one command.
            """,
        version: "assay " + AssayVersion.current,
        groupedSubcommands: [
            CommandGroup(
                name: "Verify",
                subcommands: [
                    VerifyCommand.self, ExplainCommand.self, EntitlementsCommand.self,
                ]),
            CommandGroup(
                name: "Serve",
                subcommands: [ServeCommand.self, HealthCommand.self, RevocationCommand.self]),
            CommandGroup(
                name: "Ask Apple",
                subcommands: [FetchCommand.self, ApiCommand.self, SignCommand.self]),
            CommandGroup(
                name: "Develop and test",
                subcommands: [MintCommand.self, StoreCommand.self, LoadCommand.self]),
            CommandGroup(name: "Other", subcommands: [VersionCommand.self]),
        ])

    /// ArgumentParser puts this before its error messages; all other messages have it too.
    static let _errorPrefix = "assay: "

    static func main() async {
        CrashReporter.prepare()
        // Set before OpenSSL allocates anything.
        precondition(OpenSSLMemory.endWhenExhausted())
        do {
            let words = Array(CommandLine.arguments.dropFirst())
            try checkCommandNames(words)
            var command = try parseAsRoot(words)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch {
            leave(error)
        }
    }

    /// Exits with the tool's own statuses. ArgumentParser uses 64 for wrong usage and 1 for any
    /// failure; here 1 means only "refused", so that scripts can distinguish the two.
    private static func leave(_ error: any Error) -> Never {
        if let failure = error as? Failure {
            for reason in failure.reasons {
                StandardError.write("assay: " + TerminalText.escaped(reason) + "\n")
            }
            exit(withError: ExitStatus.trouble)
        }
        if let status = error as? ExitCode { exit(withError: status) }
        // Requested help goes to standard output.
        guard exitCode(for: error) != .success else { exit(withError: error) }
        Output.note(fullMessage(for: error))
        exit(withError: ExitStatus.trouble)
    }
}

/// The exit statuses of the tool.
enum ExitStatus {
    static let refused = ExitCode(1)
    static let trouble = ExitCode(2)
    /// The reader of standard output has closed it: the status that a shell reports for SIGPIPE.
    static let brokenPipe = ExitCode(128 + 13)

    /// The status that a shell reports for a process that a signal ended.
    static func stopped(by signal: ProcessSignal) -> ExitCode { ExitCode(128 + signal.rawValue) }
}

/// A failure to read, write or reach something, or a contradiction between options. Gives the
/// reason and the remedy.
struct Failure: Error {
    /// The messages; at least one.
    let reasons: [String]

    init(_ reason: String) { reasons = [reason] }
    init(_ reasons: [String]) { self.reasons = reasons }

    var reason: String { reasons.joined(separator: "; ") }
}
