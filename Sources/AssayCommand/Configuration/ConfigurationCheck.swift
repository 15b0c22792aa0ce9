import AssayCommandLine
package import AssayModels
import AssayServer

/// The result of `serve --check` for a configuration file, used by the fuzzer.
package enum ConfigurationCheck {
    case usable(summary: String, apps: Int)
    /// The problems; at least one.
    case mistakes([String])

    /// - Throws: any error that a configuration file must not cause.
    package init(path: String, now: Timestamp) throws {
        do {
            let settings = try ServerSettings(flags: .init(config: path), environment: [:])
            let apps = try settings.serverConfiguration().apps.count
            self = .usable(summary: settings.summary(now: now), apps: apps)
        } catch let problems as ConfigurationProblems {
            self = .mistakes(problems.all.map(\.description))
        } catch let failure as Failure {
            self = .mistakes(failure.reasons)
        }
    }
}
