import AssayIO
import AssayService
import AssaySessions
import AssayTelemetry
import AssayWire

/// What the owners of state on the thread of the listeners have in common: a service context of its
/// own, and all settings. Belongs to that thread. Only `Lifecycle` changes the settings and the
/// phase.
final class ServerContext {
    let service: ServiceContext
    let transport: any Transport
    /// The settings that only a restart changes.
    let fixed: ServerConfiguration.Fixed
    /// The settings that a reload replaces.
    private(set) var settings: ServerConfiguration.Reloadable

    init(
        _ configuration: ServerConfiguration, on loop: EventLoop, _ transport: any Transport
    ) {
        self.transport = transport
        fixed = configuration.fixed
        settings = configuration.reloadable
        service = configuration.makeServiceContext(on: loop)
    }

    var loop: EventLoop { service.loop }
    var telemetry: Telemetry { service.telemetry }
    var limits: ServerLimits { service.limits }
    var phase: ServerPhase { service.phase }

    /// Milliseconds of the loop's clock.
    var now: UInt64 { service.now }

    func replaceSettings(with new: ServerConfiguration.Reloadable) {
        settings = new
        service.replaceSettings(with: new.service)
    }

    func enter(_ new: ServerPhase) { service.enter(new) }
}

extension ServerConfiguration {
    /// Makes the context of a worker, or of the thread of the listeners.
    func makeServiceContext(on loop: EventLoop) -> ServiceContext {
        ServiceContext(
            reloadable.service,
            Log(sink: fixed.log, clock: fixed.clock, isVerbose: fixed.logsDebug),
            clock: fixed.clock, on: loop)
    }
}

extension ServerConfiguration.Reloadable {
    /// What the service needs of the settings.
    var service: ServiceSettings {
        ServiceSettings(
            apps: apps, defaultApp: defaultApp, limits: limits, version: version,
            audit: audit?.log, spans: spans?.queue)
    }

    /// What connections need of the settings.
    var connections: ConnectionSettings {
        ConnectionSettings(
            http: http, tls: tls, allowedUsers: allowedUsers, limits: limits)
    }
}
