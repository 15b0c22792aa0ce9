package import AssayModels
import AssayServer

/// What `serve --check` would say of a configuration file; for the fuzzer.
package enum ConfigurationCheck {
    case usable(summary: String, apps: Int)
    /// At least one.
    case mistakes([String])

    /// - Throws: what a configuration file must not bring about.
    package init(path: String, now: Timestamp) throws {
        do {
            let settings = try ServerSettings(flags: .init(config: path), environment: [:])
            let apps = settings.serverConfiguration().apps.count
            self = .usable(summary: settings.summary(now: now), apps: apps)
        } catch let problems as ConfigurationProblems {
            self = .mistakes(problems.all.map(\.description))
        } catch let failure as Failure {
            self = .mistakes(failure.reasons)
        }
    }
}
