/// One thing that is wrong with a configuration: where, what, and what to do about it.
struct ConfigurationProblem: Error, Equatable, CustomStringConvertible {
    /// The file, or the flag or environment variable.
    let source: String
    /// A key path such as `app[2].environments[1]`, or a line; empty where it is the whole.
    let place: String
    let problem: String
    let remedy: String

    var description: String {
        "\(source): \(place.isEmpty ? "" : place + ": ")\(problem); \(remedy)"
    }
}

/// All that is wrong with a configuration, so that one start tells of every mistake.
struct ConfigurationProblems: Error, Equatable {
    let all: [ConfigurationProblem]

    init(_ all: [ConfigurationProblem]) { self.all = all }
}
