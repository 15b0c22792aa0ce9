/// Which hosts and which pages a listener serves: the one rule of the HTTP listener, the admin
/// listener and the local App Store.
///
/// Any page can make a browser send requests to any address. It can also have its own host name
/// resolve to that address (DNS rebinding), and then reads the answers. The browser names both in
/// `Host` and `Origin`.
package struct HTTPOriginPolicy: Sendable {
    /// Where a listener is bound.
    package enum Binding: Sendable {
        /// A Unix socket, which no browser reaches.
        case unix
        /// An address that only this machine reaches.
        case loopback(String)
        /// Another address, or an unknown one.
        case open(String)
    }

    package let binding: Binding
    /// Additional host names that are served, in lower case.
    private let hosts: Set<String>
    /// Additional origins whose pages are served, such as `https://tools.example.com`.
    private let allowedOrigins: Set<String>
    /// Whether the listener has pages, whose own requests are served.
    private let hasPages: Bool

    package init(
        _ binding: Binding, hosts: Set<String> = [], allowedOrigins: Set<String> = [],
        hasPages: Bool = false
    ) {
        self.binding = binding
        self.hosts = hosts
        self.allowedOrigins = allowedOrigins
        self.hasPages = hasPages
    }

    /// What a request says about the page that made it.
    package struct Source: Sendable {
        package var host: String?
        package var origin: String?
        /// `Sec-Fetch-Site`.
        package var fetchSite: String?
        /// Whether the method only reads. A link on another site makes such a request.
        package var isReading: Bool

        package init(host: String?, origin: String?, fetchSite: String?, isReading: Bool) {
            self.host = host
            self.origin = origin
            self.fetchSite = fetchSite
            self.isReading = isReading
        }
    }

    package enum Refusal: Equatable, Sendable {
        /// The name in `Host` is not the listener's.
        case host
        /// A page of another site made the request.
        case origin
    }

    /// The reason to refuse a request; nil to serve it.
    package func refusal(of source: Source) -> Refusal? {
        guard isServed(source.host) else { return .host }
        if let origin = source.origin {
            return isAllowed(origin) || isOwn(origin, source.host) ? nil : .origin
        }
        switch source.fetchSite?.lowercased() {
        case nil, "none", "same-origin": return nil
        default: return hasPages && source.isReading ? nil : .origin
        }
    }

    /// Whether the configuration names the origin.
    package func isAllowed(_ origin: String) -> Bool { allowedOrigins.contains(origin) }

    private func isOwn(_ origin: String, _ host: String?) -> Bool {
        guard hasPages, let host = host?.lowercased(), !host.isEmpty else { return false }
        // A proxy in front can speak TLS.
        return origin == "http://" + host || origin == "https://" + host
    }

    private func isServed(_ host: String?) -> Bool {
        // HTTP/1.0 has no Host, and no browser speaks it.
        guard let text = host, !text.isEmpty else { return true }
        if case .unix = binding { return true }
        guard let host = HTTPAuthority(text) else { return false }
        switch binding {
        case .unix: return true
        case .loopback(let address):
            return host.isLoopback || host.name == address || hosts.contains(host.name)
        case .open(let address):
            // Other machines reach the listener by names that it does not know.
            return hosts.isEmpty || host.name == address || hosts.contains(host.name)
        }
    }
}
