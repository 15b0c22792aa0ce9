public import AssayIO
public import AssayServer

/// Tells operators and their tools how a server is: health, metrics, and a page for people.
///
/// It has a thread of its own and reads what the server publishes: neither waits for the other.
public final class AdminServer: Sendable {
    /// Where it listens, with the port that the system chose.
    public let endpoint: Endpoint
    private let listener: HTTPListener

    /// - Parameter allowsAnyAddress: whether others than this machine may reach it. What it tells
    ///   is no secret of a client's, but nobody else's business either.
    public init(
        at endpoint: Endpoint, of monitor: ServerMonitor, allowsAnyAddress: Bool = false
    ) throws(AdminError) {
        try Self.check(endpoint, allowsAnyAddress: allowsAnyAddress)
        let descriptor: Int32
        do throws(LoopError) {
            (descriptor, self.endpoint) = try ListeningSocket.open(endpoint)
        } catch {
            throw .listen(endpoint, error)
        }
        let site = AdminSite(monitor: monitor, isLocal: endpoint.isLocal)
        listener = try HTTPListener(descriptor) { site.answer($0) }
    }

    /// Whether that address can be the admin listener's.
    public static func check(
        _ endpoint: Endpoint, allowsAnyAddress: Bool
    ) throws(AdminError) {
        switch endpoint {
        case .tcp, .unix: break
        case .tls, .inherited: throw .notOffered(endpoint)
        }
        guard endpoint.isLocal || allowsAnyAddress else { throw .notLocal(endpoint) }
        guard endpoint.isLiteral else { throw .notLiteral(endpoint) }
    }

    /// Closes everything. Once.
    public func stop() { listener.stop() }
}

/// Why there is no admin listener.
public enum AdminError: Error, Equatable, Sendable {
    /// Neither `tcp://` nor `unix:`.
    case notOffered(Endpoint)
    /// Others than this machine could reach it, and nothing says that they may.
    case notLocal(Endpoint)
    /// A name that would have to be looked up.
    case notLiteral(Endpoint)
    case listen(Endpoint, LoopError)
    /// libmicrohttpd is not installed.
    case missingLibrary
    /// libmicrohttpd refuses to start.
    case notStarted
    case system(LoopError)
}

extension AdminError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notOffered(let endpoint):
            "the admin address can't be \(endpoint): write tcp://HOST:PORT or unix:PATH"
        case .notLocal(let endpoint):
            "the admin address \(endpoint) can be reached from other machines: choose one of the "
                + "loopback interface, or allow it (--admin-any-address, or any-address = true "
                + "in [admin])"
        case .notLiteral(let endpoint):
            "the admin address \(endpoint) has a name: write the address in numbers, or localhost"
        case .listen(let endpoint, let error): "can't listen on \(endpoint): \(error)"
        case .missingLibrary:
            "the admin listener needs libmicrohttpd, which is not installed (Debian: "
                + "libmicrohttpd12)"
        case .notStarted: "libmicrohttpd can't start: there may be no file descriptors left"
        case .system(let error): "can't start the admin listener: \(error)"
        }
    }
}
