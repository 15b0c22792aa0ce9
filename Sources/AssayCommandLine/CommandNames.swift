import ArgumentParser
import Assay

extension CommandLineTool {
    /// Throws when a word in the place of a subcommand names none, also after `help`.
    /// ArgumentParser would print the help of the parent command and exit with status 0.
    ///
    /// - Parameter arguments: the arguments without the program's name.
    static func checkCommandNames(_ arguments: [String]) throws {
        var words = arguments[...]
        let isHelp = words.first == "help"
        if isHelp { words.removeFirst() }
        var command = configuration
        var names = ["help"]
        while let word = words.popFirst(), !word.hasPrefix("-") {
            let subcommands = command.subcommands.map { $0.configuration }
            if subcommands.isEmpty {
                guard isHelp else { return }
                let name = command.commandName ?? ""
                throw Failure("\"\(name)\" has no subcommands: leave out \"\(word)\"")
            }
            guard let next = subcommands.first(where: { $0.commandName == word }) else {
                names = subcommands.compactMap { $0.commandName } + names
                throw Failure(
                    "unknown command \"\(word)\": " + Suggestion.remedy(for: word, among: names))
            }
            command = next
            // Only the tool itself has a `help` subcommand.
            names = []
        }
    }
}
