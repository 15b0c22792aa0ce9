import ArgumentParser

extension AssayTool {
    /// Throws where a word stands in a subcommand's place and names none, also behind `help`:
    /// ArgumentParser would answer that with the help of the command above, and status 0.
    ///
    /// - Parameter arguments: without the program's name.
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
            // Help has its place behind the tool's own name alone.
            names = []
        }
    }
}
