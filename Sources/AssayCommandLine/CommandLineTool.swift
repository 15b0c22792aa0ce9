package import ArgumentParser
import Assay
import AssayIO
import Dispatch

/// The root command of an executable. Each subcommand has a file of its own.
package protocol CommandLineTool: AsyncParsableCommand {
    /// The script for `--generate-completion-script SHELL`.
    static func shellCompletions(for shell: CompletionShell) -> String
}

extension CommandLineTool {
    /// The executable's name.
    package static var name: String { configuration.commandName ?? "" }

    /// ArgumentParser puts this before its error messages; all other messages have it too.
    package static var _errorPrefix: String { name + ": " }

    /// Ends a process that can't read its arguments, because it would do something other than
    /// requested. Swift reads them from `/proc`, which lists the program's name first. Dispatch
    /// needs `/proc` too and ends a process without it, so call this before Dispatch starts.
    package static func requireArguments(_ arguments: [String] = CommandLine.arguments) {
        guard arguments.isEmpty else { return }
        StandardError.write(_errorPrefix + "can't read the arguments: mount /proc\n")
        exit(withError: ExitStatus.trouble)
    }

    /// Runs the command that the arguments name, and ends the process.
    ///
    /// Not async: that would start Dispatch's threads before the arguments are looked at.
    package static func launch() -> Never {
        requireArguments()
        Task { @MainActor in
            await runCommand()
            exit()
        }
        dispatchMain()
    }

    private static func runCommand() async {
        CrashReporter.prepare()
        // Set before OpenSSL allocates anything.
        precondition(OpenSSLMemory.endWhenExhausted())
        do {
            let words = Array(CommandLine.arguments.dropFirst())
            if let shell = shellToComplete(words) {
                return try Output.content(Array(shellCompletions(for: shell).utf8), isText: true)
            }
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
    package static func leave(_ error: any Error) -> Never {
        if let failure = error as? Failure {
            for reason in failure.reasons {
                StandardError.write(_errorPrefix + TerminalText.escaped(reason) + "\n")
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
