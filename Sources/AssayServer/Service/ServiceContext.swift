import AssayIO
import AssayModels

/// What the owners of a worker's state share: the loop, the apps and the limits, the phase, the
/// clock, and where to count and log. Belongs to the loop's thread. Only the lifecycle changes the
/// settings and the phase.
final class ServiceContext {
    let loop: EventLoop
    let telemetry: Telemetry
    /// The clock that evidence is compared with.
    let clock: @Sendable () -> Timestamp
    private(set) var settings: ServiceSettings
    private(set) var phase = ServerPhase.serving

    init(
        _ settings: ServiceSettings, _ log: Log, clock: @escaping @Sendable () -> Timestamp,
        on loop: EventLoop
    ) {
        self.loop = loop
        self.clock = clock
        self.settings = settings
        telemetry = Telemetry(log, loop)
        telemetry.metrics.follow(settings.apps.keys)
    }

    var limits: ServerLimits { settings.limits }
    var apps: [String: AppEntry] { settings.apps }

    /// Milliseconds of the loop's clock.
    var now: UInt64 { loop.now }

    func replaceSettings(with new: ServiceSettings) {
        settings = new
        telemetry.metrics.follow(settings.apps.keys)
    }

    func enter(_ new: ServerPhase) { phase = new }
}

/// The settings by which requests are admitted and verified. A reload replaces them.
struct ServiceSettings: Sendable {
    /// App entries by name. Each has its name.
    let apps: [String: AppEntry]
    /// The entry for requests that name none; nil to reject them.
    let defaultApp: String?
    let limits: ServerLimits
    /// The version reported by Info.
    let version: String

    init(
        apps: [String: AppEntry], defaultApp: String?, limits: ServerLimits, version: String
    ) {
        var named = apps
        for (name, entry) in apps { named[name] = entry.named(name) }
        self.apps = named
        self.defaultApp = defaultApp
        self.limits = limits
        self.version = version
    }
}
