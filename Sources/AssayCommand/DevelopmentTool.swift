import ArgumentParser
import AssayCommandLine
import AssayIO

/// Runs `assay-dev`, which has the commands for development: a server needs no authority that signs
/// evidence, no App Store and no load generator, so `assay` is built without them.
enum DevelopmentTool {
    /// Replaces this process by `assay-dev`, with the same arguments, if these name one of its
    /// commands. Returns if they don't.
    ///
    /// - Parameter arguments: the arguments without the program's name.
    static func takeOver(for arguments: [String]) throws(Failure) {
        guard let command = command(of: arguments) else { return }
        let own = Executable.ownFolder
        let folders = [own].compactMap(\.self) + searchPath(ProcessEnvironment.variables["PATH"])
        let programs = folders.map { $0 + "/" + DevelopmentCommand.program }
        guard let program = programs.first(where: Executable.isRunnable) else {
            throw missing(command, beside: own ?? "the folder of assay")
        }
        do throws(LoopError) {
            try Executable.replaceProcess(by: program)
        } catch {
            throw Failure("can't run \(program): \(error)")
        }
    }

    /// The command that arguments such as `mint ca` or `help mint` name. Shells complete its words
    /// by `---completion mint`.
    static func command(of arguments: [String]) -> DevelopmentCommand? {
        let isAbout = ["help", "---completion"].contains(arguments.first)
        return arguments.dropFirst(isAbout ? 1 : 0).first
            .flatMap(DevelopmentCommand.init(rawValue:))
    }

    /// The folders of `PATH`. Leaves out relative ones: they differ with the working folder.
    static func searchPath(_ path: String?) -> [String] {
        (path ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map(String.init)
    }

    private static func missing(_ command: DevelopmentCommand, beside folder: String) -> Failure {
        let program = DevelopmentCommand.program
        return Failure([
            "\"\(command.rawValue)\" is a command of \(program), which is neither in \(folder) nor "
                + "on the PATH",
            "get \(program): it is the Debian package \(program), bin/\(program) of the tarball, "
                + "and in a container image that is built with --build-arg ASSAY_IMAGE_DEV=1; in "
                + "a clone, swift build --product \(program) makes it. See docs/install.md",
        ])
    }
}

/// A command of `assay-dev`, for the help of `assay`. It never runs here.
protocol DelegatedCommand: ParsableCommand {
    static var command: DevelopmentCommand { get }
}

extension DelegatedCommand {
    static var configuration: CommandConfiguration {
        let program = DevelopmentCommand.program
        return CommandConfiguration(
            commandName: command.rawValue,
            abstract: command.abstract.dropLast() + " (\(program)).",
            discussion: "'assay \(command.rawValue)' runs '\(program) \(command.rawValue)'.")
    }

    func run() throws { throw CleanExit.helpRequest(self) }
}

struct DelegatedMint: DelegatedCommand {
    static let command = DevelopmentCommand.mint
}

struct DelegatedStore: DelegatedCommand {
    static let command = DevelopmentCommand.store
}

struct DelegatedLoad: DelegatedCommand {
    static let command = DevelopmentCommand.load
}
