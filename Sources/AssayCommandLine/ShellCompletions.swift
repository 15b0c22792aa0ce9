package import ArgumentParser

extension CommandLineTool {
    package static func shellCompletions(for shell: CompletionShell) -> String {
        completions(byArgumentParser: shell)
    }

    /// ArgumentParser's script, corrected for fish.
    ///
    /// ArgumentParser has fish ask for the position of the cursor in the word. fish knows it at a
    /// prompt only, not where a script or an editor asks for completions by `complete -C`. The
    /// length of the word up to the cursor is the same number, and fish always knows it.
    package static func completions(byArgumentParser shell: CompletionShell) -> String {
        let script = completionScript(for: shell)
        guard shell == .fish else { return script }
        return script.replacing(
            "(__\(name)_tokens -tC)", with: #"(string length -- "$(commandline -ct)")"#)
    }

    /// The shell of `--generate-completion-script SHELL`; nil for other arguments.
    ///
    /// - Parameter arguments: the arguments without the program's name.
    static func shellToComplete(_ arguments: [String]) -> CompletionShell? {
        guard arguments.count == 2, arguments[0] == "--generate-completion-script" else {
            return nil
        }
        return CompletionShell(rawValue: arguments[1])
    }
}
