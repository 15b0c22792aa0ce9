/// A problem in a configuration: its location, its reason, and the remedy.
struct ConfigurationProblem: Error, Equatable, CustomStringConvertible {
    /// The file, flag or environment variable.
    let source: String
    /// A key path such as `app[2].environments[1]`, or a line; empty for the whole source.
    let location: String
    let problem: String
    let remedy: String

    var description: String {
        "\(source): \(location.isEmpty ? "" : location + ": ")\(problem); \(remedy)"
    }
}

/// All problems of a configuration, so that one start reports every mistake.
struct ConfigurationProblems: Error, Equatable {
    let all: [ConfigurationProblem]

    init(_ all: [ConfigurationProblem]) { self.all = all }
}
