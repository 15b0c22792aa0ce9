package import AssayIO

/// A protocol that a run speaks.
package enum LoadProtocol: String, Sendable, CaseIterable {
    case frames
    /// JSON over HTTP/1.1.
    case http
    /// Evidence as the body over HTTP/1.1.
    case httpRaw = "http-raw"
    /// JSON over HTTP/2.
    case h2
    /// Evidence as the body over HTTP/2.
    case h2Raw = "h2-raw"
    /// A call for each request.
    case grpc
    /// One call for each connection, with a message for each request.
    case grpcStream = "grpc-stream"
    /// Connect with protobuf over HTTP/1.1.
    case connect
    /// Connect with protobuf over HTTP/2.
    case connectH2 = "connect-h2"

    /// How requests and answers are framed on the connection.
    enum Framing: Sendable {
        case frames, http1, http2, stream
    }

    /// How a request and its answer are encoded.
    enum Encoding: Sendable {
        case json, raw, grpc, connect
    }

    var framing: Framing {
        switch self {
        case .frames: .frames
        case .http, .httpRaw, .connect: .http1
        case .h2, .h2Raw, .grpc, .connectH2: .http2
        case .grpcStream: .stream
        }
    }

    /// The encoding of requests; frames have their own.
    var encoding: Encoding {
        switch self {
        case .http, .h2: .json
        case .httpRaw, .h2Raw: .raw
        case .connect, .connectH2: .connect
        case .grpc, .grpcStream, .frames: .grpc
        }
    }

    /// The name of ALPN (RFC 7301); nil for frames.
    package var tlsProtocol: String? {
        switch framing {
        case .frames: nil
        case .http1: "http/1.1"
        case .http2, .stream: "h2"
        }
    }

    /// Whether it has the call Resolve.
    package var hasResolve: Bool {
        switch self {
        case .frames, .grpc, .connect, .connectH2: true
        case .http, .httpRaw, .h2, .h2Raw, .grpcStream: false
        }
    }

    /// Whether a request can ask to be queued instead of refused.
    package var hasMayWait: Bool { framing == .frames || encoding == .grpc || encoding == .connect }

    /// The protocol of an address that no option names.
    package static func usual(of endpoint: Endpoint) -> LoadProtocol {
        endpoint.isHTTP ? .http : .frames
    }

    /// Whether it is spoken at an address of this scheme.
    package func fits(_ endpoint: Endpoint) -> Bool { endpoint.isHTTP == (self != .frames) }
}

extension Endpoint {
    /// The address of the socket, without what is spoken there.
    var socket: Endpoint {
        switch self {
        case .http(let host, let port): .tcp(host: host, port: port)
        case .https(let host, let port): .tls(host: host, port: port)
        case .unixHTTP(let path): .unix(path: path)
        case .tcp, .tls, .unix, .inherited: self
        }
    }

    /// The value of `Host` and `:authority`.
    var authority: String {
        switch self {
        case .http, .https: "\(self)".split(separator: "/").last.map(String.init) ?? "localhost"
        case .tcp, .tls, .unix, .inherited, .unixHTTP: "localhost"
        }
    }
}
