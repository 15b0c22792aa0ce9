import AssayIO
import AssayWire

/// What the owners of a server's state share: the loop, the settings, the phase, and where to
/// count and log. Belongs to the loop's thread. Only `Lifecycle` changes the settings and the
/// phase.
final class ServerContext {
    let loop: EventLoop
    let transport: any Transport
    let telemetry: Telemetry
    /// The settings that only a restart changes.
    let fixed: ServerConfiguration.Fixed
    /// The settings that a reload replaces.
    private(set) var settings: ServerConfiguration.Reloadable
    private(set) var phase = ServerPhase.serving
    /// Decodes the frames of clients, by the current limits.
    private(set) var decoder: FrameDecoder

    init(
        _ configuration: ServerConfiguration, on loop: EventLoop, _ transport: any Transport
    ) {
        self.loop = loop
        self.transport = transport
        fixed = configuration.fixed
        settings = configuration.reloadable.withNamedApps
        decoder = FrameDecoder(for: configuration.reloadable.limits)
        telemetry = Telemetry(
            Log(
                sink: configuration.fixed.log, clock: configuration.fixed.clock,
                isVerbose: configuration.fixed.logsDebug), loop)
        telemetry.metrics.follow(settings.apps.keys)
    }

    var limits: ServerLimits { settings.limits }

    /// Milliseconds of the loop's clock.
    var now: UInt64 { loop.now }

    func replaceSettings(with new: ServerConfiguration.Reloadable) {
        settings = new.withNamedApps
        telemetry.metrics.follow(settings.apps.keys)
        decoder = FrameDecoder(for: new.limits)
    }

    func enter(_ new: ServerPhase) { phase = new }
}

/// The phases of a server, in their order. Times are milliseconds of the loop's clock.
enum ServerPhase {
    case serving
    /// Not ready, and the clients are notified. Still accepts connections and serves requests,
    /// until load balancers have noticed.
    case leaving(until: UInt64)
    /// Rejects new requests and answers the accepted ones.
    case draining(until: UInt64)
    case ended

    /// Whether clients can use this server.
    var isReady: Bool {
        if case .serving = self { true } else { false }
    }

    var hasEnded: Bool {
        if case .ended = self { true } else { false }
    }

    /// Whether requests are rejected.
    var isDraining: Bool {
        switch self {
        case .serving, .leaving: false
        case .draining, .ended: true
        }
    }
}
