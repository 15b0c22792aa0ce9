package import ArgumentParser
package import AssayIO

/// The exit statuses of the tools.
package enum ExitStatus {
    package static let refused = ExitCode(1)
    package static let trouble = ExitCode(2)
    /// What was checked can't wait.
    package static let urgent = ExitCode(3)
    /// The reader of standard output has closed it: the status that a shell reports for SIGPIPE.
    package static let brokenPipe = ExitCode(128 + 13)

    /// The status that a shell reports for a process that a signal ended.
    package static func stopped(by signal: ProcessSignal) -> ExitCode {
        ExitCode(128 + signal.rawValue)
    }
}

/// A failure to read, write or reach something, or a contradiction between options. Gives the
/// reason and the remedy.
package struct Failure: Error {
    /// The messages; at least one.
    package let reasons: [String]

    package init(_ reason: String) { reasons = [reason] }
    package init(_ reasons: [String]) { self.reasons = reasons }

    package var reason: String { reasons.joined(separator: "; ") }
}
