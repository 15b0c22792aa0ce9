import AssayHTTP
public import AssayIO
public import AssayServer

/// Serves the state of the server to operators and their tools: health, metrics and a status
/// page.
///
/// Runs on its own thread and reads what the server publishes. Neither waits for the other.
public final class AdminServer: Sendable {
    /// The listening address, with the port that the system chose.
    public let endpoint: Endpoint
    private let listener: HTTPListener

    /// - Parameter allowsAnyAddress: Whether other machines can reach the listener. Its answers
    ///   contain no client secrets, but are not meant for the public either.
    /// - Parameter explains: Whether `/explain` verifies evidence and shows why it gets its
    ///   verdict. Explanations are made one at a time, on a thread of their own.
    public convenience init(
        at endpoint: Endpoint, of monitor: ServerMonitor, allowsAnyAddress: Bool = false,
        explains: Bool = false
    ) throws(AdminError) {
        try self.init(
            at: endpoint, of: monitor, allowsAnyAddress: allowsAnyAddress, explains: explains,
            clock: { SystemClock.monotonicNanoseconds })
    }

    /// - Parameters:
    ///   - clock: Nanoseconds, by which connections have their time limit.
    ///   - wrap: Puts a site around that of the server, for tests.
    package init(
        at endpoint: Endpoint, of monitor: ServerMonitor, allowsAnyAddress: Bool = false,
        explains: Bool = false, clock: @escaping @Sendable () -> UInt64,
        around wrap: (AdminSite) -> any HTTPSite = { $0 }
    ) throws(AdminError) {
        try Self.check(endpoint, allowsAnyAddress: allowsAnyAddress)
        let descriptor: Int32
        do throws(LoopError) {
            (descriptor, self.endpoint) = try ListeningSocket.open(endpoint)
        } catch {
            throw .listen(endpoint, error)
        }
        let site = AdminSite(
            monitor: monitor, at: .init(endpoint), explains: explains, clock: clock)
        listener = try HTTPListener(descriptor, clock: clock, site: wrap(site))
    }

    /// Throws if the endpoint is not a valid address for the admin listener.
    public static func check(
        _ endpoint: Endpoint, allowsAnyAddress: Bool
    ) throws(AdminError) {
        switch endpoint {
        case .tcp, .unix: break
        case .tls, .inherited, .http, .https, .unixHTTP: throw .notOffered(endpoint)
        }
        guard endpoint.isLocal || allowsAnyAddress else { throw .notLocal(endpoint) }
        guard endpoint.isLiteral else { throw .notLiteral(endpoint) }
    }

    /// Closes the listener and all connections. Call it once.
    public func stop() { listener.stop() }
}

/// The reason why the admin listener did not start.
public enum AdminError: Error, Equatable, Sendable {
    /// The address is neither `tcp://` nor `unix:`.
    case notOffered(Endpoint)
    /// Other machines could reach the address, and the configuration does not allow that.
    case notLocal(Endpoint)
    /// The address contains a name that needs a lookup.
    case notLiteral(Endpoint)
    case listen(Endpoint, LoopError)
    /// libmicrohttpd is not installed.
    case missingLibrary
    /// libmicrohttpd failed to start.
    case notStarted
    case system(LoopError)
}

extension AdminError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notOffered(let endpoint):
            "the admin address can't be \(endpoint): write tcp://HOST:PORT or unix:PATH"
        case .notLocal(let endpoint):
            "the admin address \(endpoint) can be reached from other machines: choose a loopback "
                + "address, or allow it (--admin-any-address, or any-address = true in [admin])"
        case .notLiteral(let endpoint):
            "the admin address \(endpoint) has a host name: write a numeric address, or localhost"
        case .listen(let endpoint, let error): "can't listen on \(endpoint): \(error)"
        case .missingLibrary:
            "the admin listener needs libmicrohttpd, which is not installed (Debian: "
                + "libmicrohttpd12)"
        case .notStarted: "libmicrohttpd can't start: possibly no file descriptors are left"
        case .system(let error): "can't start the admin listener: \(error)"
        }
    }
}
