import Glibc

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
