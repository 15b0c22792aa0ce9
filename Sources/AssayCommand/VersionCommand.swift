import ArgumentParser
import AssayCommandLine
import AssayModels

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Print the version.")

    func run() throws {
        try Output.line("assay \(AssayVersion.current)")
    }
}
