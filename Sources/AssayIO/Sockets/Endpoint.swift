/// An address to listen on or connect to: `tcp://HOST:PORT`, `tls://HOST:PORT`, `unix:PATH` or
/// `unix:@NAME`. A server also listens on sockets from its service manager: `systemd:NAME`,
/// `systemd+tls:NAME`, and for HTTP: `http://HOST:PORT`, `https://HOST:PORT`, `unix-http:PATH`.
public enum Endpoint: Hashable, Sendable {
    /// A host name or numeric address (IPv6 without brackets). With port 0 the system chooses a
    /// listener's port.
    case tcp(host: String, port: UInt16)
    /// The same with TLS.
    case tls(host: String, port: UInt16)
    /// A path, or `@` and an abstract name, which has no file.
    case unix(path: String)
    /// Sockets that the service manager passed under this name; with an empty name, all.
    case inherited(name: String, tls: Bool = false)
    /// As `tcp`, for HTTP.
    case http(host: String, port: UInt16)
    /// As `tls`, for HTTP.
    case https(host: String, port: UInt16)
    /// As `unix`, for HTTP.
    case unixHTTP(path: String)

    /// `sun_path` holds 108 bytes, including the final NUL.
    package static let pathLimit = 107

    /// Parses `tcp://127.0.0.1:7443`, `tcp://[::1]:7443`, `tcp://localhost:7443`,
    /// `unix:/run/assay/assay.sock`.
    public init(_ text: String) throws(EndpointError) {
        if let rest = text.removingPrefix("tcp://") {
            let (host, port) = try Self.hostAndPort(rest, of: text)
            self = .tcp(host: host, port: port)
        } else if let rest = text.removingPrefix("tls://") {
            let (host, port) = try Self.hostAndPort(rest, of: text)
            self = .tls(host: host, port: port)
        } else if let rest = text.removingPrefix("http://") {
            let (host, port) = try Self.hostAndPort(rest, of: text)
            self = .http(host: host, port: port)
        } else if let rest = text.removingPrefix("https://") {
            let (host, port) = try Self.hostAndPort(rest, of: text)
            self = .https(host: host, port: port)
        } else if let path = text.removingPrefix("unix:") {
            self = .unix(path: try Self.path(path, of: text))
        } else if let path = text.removingPrefix("unix-http:") {
            self = .unixHTTP(path: try Self.path(path, of: text))
        } else if let name = text.removingPrefix("systemd:") {
            self = .inherited(name: String(name))
        } else if let name = text.removingPrefix("systemd+tls:") {
            self = .inherited(name: String(name), tls: true)
        } else {
            throw .unknownScheme(text)
        }
    }

    private static func path(
        _ path: Substring, of text: String
    ) throws(EndpointError) -> String {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw .noPath(text) }
        guard path.utf8.count <= pathLimit else { throw .pathTooLong(text) }
        guard path != "@" else { throw .noPath(text) }
        return String(path)
    }

    private static func hostAndPort(
        _ rest: Substring, of text: String
    ) throws(EndpointError) -> (host: String, port: UInt16) {
        guard let colon = rest.lastIndex(of: ":") else { throw .noPort(text) }
        var host = rest[..<colon]
        let digits = rest[rest.index(after: colon)...]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            throw .bareIPv6(text)
        }
        let isDecimal = digits.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isDecimal, let port = UInt16(digits) else { throw .noPort(text) }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x2F })
        else { throw .noHost(text) }
        return (String(host), port)
    }
}

extension Endpoint: CustomStringConvertible {
    public var description: String {
        switch self {
        case .tcp(let host, let port):
            "tcp://" + Self.text(host, port)
        case .tls(let host, let port): "tls://" + Self.text(host, port)
        case .http(let host, let port): "http://" + Self.text(host, port)
        case .https(let host, let port): "https://" + Self.text(host, port)
        case .unix(let path): "unix:\(path)"
        case .unixHTTP(let path): "unix-http:\(path)"
        case .inherited(let name, let tls): "systemd\(tls ? "+tls" : ""):\(name)"
        }
    }
}

extension Endpoint {
    package var isTLS: Bool {
        switch self {
        case .tls, .https: true
        case .inherited(_, let tls): tls
        case .tcp, .unix, .http, .unixHTTP: false
        }
    }

    /// Whether a client can connect to it with frames.
    package var isConnectable: Bool {
        switch self {
        case .tcp, .tls, .unix: true
        case .inherited, .http, .https, .unixHTTP: false
        }
    }

    /// Whether its clients speak HTTP instead of frames.
    package var isHTTP: Bool {
        switch self {
        case .http, .https, .unixHTTP: true
        case .tcp, .tls, .unix, .inherited: false
        }
    }

    /// The path of a Unix socket; nil for other endpoints.
    package var unixPath: String? {
        switch self {
        case .unix(let path), .unixHTTP(let path): path
        case .tcp, .tls, .http, .https, .inherited: nil
        }
    }

    /// The same endpoint with another port.
    func with(port: UInt16) -> Endpoint {
        switch self {
        case .tcp(let host, _): .tcp(host: host, port: port)
        case .tls(let host, _): .tls(host: host, port: port)
        case .http(let host, _): .http(host: host, port: port)
        case .https(let host, _): .https(host: host, port: port)
        case .unix, .unixHTTP, .inherited: self
        }
    }

    /// Name of the inherited sockets; nil for other endpoints.
    package var inheritedName: String? {
        if case .inherited(let name, _) = self { name } else { nil }
    }

    /// The host; nil for Unix and inherited sockets.
    package var host: String? { hostAndPort?.0 }

    var hostAndPort: (String, UInt16)? {
        switch self {
        case .tcp(let host, let port), .tls(let host, let port), .http(let host, let port),
            .https(let host, let port):
            (host, port)
        case .unix, .unixHTTP, .inherited: nil
        }
    }

    private static func text(_ host: String, _ port: UInt16) -> String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

extension String {
    fileprivate func removingPrefix(_ prefix: String) -> Substring? {
        hasPrefix(prefix) ? dropFirst(prefix.count) : nil
    }
}
