package import AssayIO
package import AssayModels
package import AssayTelemetry

/// What the owners of a thread's state have in common: the loop, the apps and the limits, the
/// phase, the clock, and where to count and log. Each worker has one, and so has the thread of the
/// listeners. Belongs to the loop's thread. Only AssayServer changes the settings and the phase.
package final class ServiceContext {
    package let loop: EventLoop
    package let telemetry: Telemetry
    /// The clock that evidence is compared with.
    package let clock: @Sendable () -> Timestamp
    private(set) var settings: ServiceSettings
    private var current = ServerPhase.serving

    package init(
        _ settings: ServiceSettings, _ log: Log, clock: @escaping @Sendable () -> Timestamp,
        on loop: EventLoop
    ) {
        self.loop = loop
        self.clock = clock
        self.settings = settings
        telemetry = Telemetry(log, loop)
        telemetry.follow(settings.apps.keys)
        telemetry.audit = settings.audit
        telemetry.spans = settings.spans
    }

    package var limits: ServerLimits { settings.limits }
    package var apps: [String: AppEntry] { settings.apps }

    package var phase: ServerPhase { current }

    /// Milliseconds of the loop's clock.
    package var now: UInt64 { loop.now }

    package func replaceSettings(with new: ServiceSettings) {
        settings = new
        telemetry.follow(settings.apps.keys)
        telemetry.audit = settings.audit
        telemetry.spans = settings.spans
    }

    package func enter(_ new: ServerPhase) { current = new }
}

/// The settings by which requests are admitted and verified. A reload replaces them.
package struct ServiceSettings: Sendable {
    /// App entries by name. Each has its name.
    let apps: [String: AppEntry]
    /// The entry for requests that name none; nil to reject them.
    let defaultApp: String?
    let limits: ServerLimits
    /// The version reported by Info.
    let version: String
    /// Takes a line of each answer; nil where the audit log is off.
    let audit: AuditLog?
    /// Takes the spans of traced requests; nil where they are not exported.
    let spans: RecordQueue?

    package init(
        apps: [String: AppEntry], defaultApp: String?, limits: ServerLimits, version: String,
        audit: AuditLog? = nil, spans: RecordQueue? = nil
    ) {
        var named = apps
        for (name, entry) in apps { named[name] = entry.named(name) }
        self.apps = named
        self.defaultApp = defaultApp
        self.limits = limits
        self.version = version
        self.audit = audit
        self.spans = spans
    }
}
