import ArgumentParser
import AssayCommandLine
import AssayModels

/// The entry point of the executable.
package enum AssayDevProgram {
    package static func main() -> Never { AssayDevTool.launch() }
}

/// The root command of `assay-dev`.
struct AssayDevTool: CommandLineTool {
    static let configuration = CommandConfiguration(
        commandName: DevelopmentCommand.program,
        abstract: "Makes evidence, is an App Store, and measures a server: for development.",
        discussion: """
            'assay mint', 'assay store' and 'assay load' run this program, which a server
            does not need.

            EXAMPLES
              Make a development authority, sign evidence with it, verify it:
                assay mint ca ./ca
                assay mint transaction --ca ./ca --bundle-id com.example.game |
                  assay verify --kind transaction --root ./ca/root.pem -
              An App Store whose customer can't pay:
                assay mint ca --date 2025-01-01T00:00:00Z ./store-ca
                assay store --ca ./store-ca --customer grace-period
              How a server answers 5,000 requests a second:
                assay load tcp://127.0.0.1:7443 --ca ./ca --rate 5000

            EXIT STATUS
              0  success
              1  load: a verdict was wrong, or the generator was late
              2  wrong usage, or a file or server could not be read, written or reached

            'assay help COMMAND' shows the options and examples of one command.
            """,
        version: DevelopmentCommand.program + " " + AssayVersion.current,
        subcommands: [MintCommand.self, StoreCommand.self, LoadCommand.self])
}
