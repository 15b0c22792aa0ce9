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
        var command: any ParsableCommand.Type = AssayTool.self
        while let word = words.popFirst(), !word.hasPrefix("-") {
            let subcommands = command.configuration.subcommands
            if subcommands.isEmpty {
                guard isHelp else { return }
                let name = command.configuration.commandName ?? ""
                throw Failure("\"\(name)\" has no subcommands: leave out \"\(word)\"")
            }
            guard
                let next = subcommands.first(where: { $0.configuration.commandName == word })
            else {
                let isRoot = command == AssayTool.self
                let names = subcommands.compactMap(\.configuration.commandName)
                throw Failure(
                    "unknown command \"\(word)\": "
                        + Suggestion.remedy(for: word, among: names + (isRoot ? ["help"] : [])))
            }
            command = next
        }
    }
}
