import CLibuv
import Glibc

/// Opens listening sockets outside of any loop, for a library that does its own polling.
package enum ListeningSocket {
    /// Length of the system's accept queue.
    private static let backlog: Int32 = 128

    /// Binds and listens. The caller closes the descriptor. Port 0 in the endpoint is replaced by
    /// the port that the system chose. A Unix socket gets mode 0660 and replaces a stale file, as
    /// a `Listener` does. The host is a numeric address or `localhost`.
    package static func open(
        _ endpoint: Endpoint
    ) throws(LoopError) -> (descriptor: Int32, endpoint: Endpoint) {
        if case .unix(let path) = endpoint {
            let socket = try UnixSocket.listen(path, SocketFileAccess(), backlog: backlog)
            return (socket.descriptor, endpoint)
        }
        let descriptor = try bind(endpoint)
        do throws(LoopError) {
            guard listen(descriptor, backlog) == 0 else { throw LoopError(code: -errno) }
            guard case .tcp(let host, _) = endpoint else { return (descriptor, endpoint) }
            return (descriptor, .tcp(host: host, port: try port(of: descriptor)))
        } catch {
            _ = close(descriptor)
            throw error
        }
    }

    private static func bind(_ endpoint: Endpoint) throws(LoopError) -> Int32 {
        switch endpoint {
        case .tcp(let host, let port):
            if var address = IPAddress.v4(host, port) {
                return try unsafe bind(&address, MemoryLayout<sockaddr_in>.size, AF_INET)
            }
            if var address = IPAddress.v6(host, port) {
                return try unsafe bind(&address, MemoryLayout<sockaddr_in6>.size, AF_INET6)
            }
            throw .hostNotFound
        // Only `Listener` serves the others.
        case .unix, .tls, .inherited, .http, .https, .unixHTTP: throw .notPlain
        }
    }

    private static func bind(
        _ address: UnsafeRawPointer, _ size: Int, _ family: Int32
    ) throws(LoopError) -> Int32 {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let descriptor = socket(family, type, 0)
        guard descriptor >= 0 else { throw LoopError(code: -errno) }
        var yes: Int32 = 1
        // Allows a port whose last connections still linger.
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        let code = unsafe Glibc.bind(
            descriptor, address.assumingMemoryBound(to: sockaddr.self), socklen_t(size))
        guard code == 0 else {
            let error = LoopError(code: -errno)
            _ = close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Returns the port that a TCP socket is bound to.
    static func port(of descriptor: Int32) throws(LoopError) -> UInt16 {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // The port is at the same place in sockaddr_in and sockaddr_in6.
        let (code, port) = unsafe withUnsafeMutableBytes(of: &storage) { bytes in
            let address = unsafe bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!
            let code = unsafe getsockname(descriptor, address, &length)
            return (code, unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
        }
        guard code == 0 else { throw LoopError(code: -errno) }
        return port
    }
}

/// Parses numeric addresses and `localhost` without a resolver.
private enum IPAddress {
    static func v4(_ host: String, _ port: UInt16) -> sockaddr_in? {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        let host = host == "localhost" ? "127.0.0.1" : host
        guard unsafe inet_pton(AF_INET, host, &address.sin_addr) == 1 else { return nil }
        return address
    }

    static func v6(_ host: String, _ port: UInt16) -> sockaddr_in6? {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        guard unsafe inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else { return nil }
        return address
    }
}

extension Endpoint {
    /// Whether only this machine can reach the endpoint. False if unknown: for an inherited
    /// socket and for any name but `localhost`.
    package var isLocal: Bool {
        switch self {
        case .unix, .unixHTTP: return true
        case .tcp(let host, _), .tls(let host, _), .http(let host, _), .https(let host, _):
            return Self.isLocal(host)
        case .inherited: return false
        }
    }

    /// Whether a host is `localhost` or a loopback address.
    package static func isLocal(_ host: String) -> Bool {
        if let address = IPAddress.v4(host, 0) {
            return UInt32(bigEndian: address.sin_addr.s_addr) >> 24 == 127
        }
        guard var address = IPAddress.v6(host, 0) else { return false }
        let octets = unsafe withUnsafeBytes(of: &address.sin6_addr) { unsafe Array($0) }
        return octets == Array(repeating: 0, count: 15) + [1]
    }

    /// Whether the host is a numeric address or `localhost`. A web page of another site can't
    /// make a browser use such a host as its own (DNS rebinding).
    package var isLiteral: Bool {
        guard let (host, port) = hostAndPort else { return true }
        return IPAddress.v4(host, port) != nil || IPAddress.v6(host, port) != nil
    }
}
