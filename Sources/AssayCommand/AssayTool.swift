import ArgumentParser
import AssayCommandLine
import AssayModels

/// The entry point of the executable.
package enum AssayProgram {
    package static func main() -> Never {
        AssayTool.requireArguments()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            // Before Dispatch starts: a new program inherits the signals that its threads block.
            try DevelopmentTool.takeOver(for: arguments)
        } catch {
            AssayTool.leave(error)
        }
        AssayTool.launch()
    }
}

/// The root command of `assay`.
struct AssayTool: CommandLineTool {
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
                subcommands: [
                    ServeCommand.self, HealthCommand.self, RevocationCommand.self,
                    RootsCommand.self,
                ]),
            CommandGroup(
                name: "Ask Apple",
                subcommands: [FetchCommand.self, ApiCommand.self, SignCommand.self]),
            CommandGroup(
                name: "Develop and test",
                subcommands: [
                    DelegatedMint.self, DelegatedStore.self, DelegatedLoad.self,
                ]),
            CommandGroup(name: "Other", subcommands: [VersionCommand.self]),
        ])

    static func shellCompletions(for shell: CompletionShell) -> String {
        DevelopmentCompletions.added(to: completions(byArgumentParser: shell), for: shell)
    }
}
