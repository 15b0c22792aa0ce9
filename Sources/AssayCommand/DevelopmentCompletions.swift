import ArgumentParser
import AssayCommandLine

/// The completions of `assay mint`, `store` and `load`: those of `assay-dev`, where it is on the
/// PATH. ArgumentParser completes a command's own arguments only.
enum DevelopmentCompletions {
    /// Adds them to the script of the tool's own commands.
    static func added(to script: String, for shell: CompletionShell) -> String {
        switch shell {
        case .fish: return script + fish
        case .zsh:
            // Its last statement runs the function when the shell loads the file.
            let last = script.ranges(of: "\nif [[ \"${funcstack[1]}\"").last?.lowerBound
            let end = last ?? script.endIndex
            return script[..<end] + functions(shell) + script[end...]
        default: return script + functions(shell)
        }
    }

    private static let names = DevelopmentCommand.allCases.map(\.rawValue)

    /// Replaces the functions of the commands, which find the variables of their caller.
    private static func functions(_ shell: CompletionShell) -> String {
        let program = DevelopmentCommand.program
        let commands = names.map { "_assay_\($0)() { __assay_development \($0); }\n" }.joined()
        return """

            __assay_development() {
                typeset -f "_\(program)_${1}" >/dev/null ||
                    eval "$(\(program) --generate-completion-script \(shell.rawValue) 2>/dev/null)"
                typeset -f "_\(program)_${1}" >/dev/null && "_\(program)_${1}"
            }

            \(commands)
            """
    }

    private static let fish = """

        function __assay_development
            set -l words (string escape -- (__assay_tokens -pc)[2..])
            complete -C "\(DevelopmentCommand.program) $words $(__assay_tokens -t)"
        end

        complete -c 'assay' -n 'contains -- (__assay_tokens -pc)[2] \
        \(names.joined(separator: " "))' -fa '(__assay_development)'

        """
}
