import AssayHTTP
import AssayIO

/// The page and the name by which a request came. A browser can be made to send requests by any
/// page, and to reach any address under a name of that page's choice (DNS rebinding).
struct HTTPSite {
    private let origin: String?
    /// Whether a browser says that a page of another site made the request.
    private let isCrossSite: Bool
    private let host: String
    private let endpoint: Endpoint

    init(_ head: HTTPHead, _ bytes: Span<UInt8>, at endpoint: Endpoint) {
        self.endpoint = endpoint
        origin = head[.origin].map { bytes.extracting($0).httpText }
        isCrossSite =
            head[.fetchSite].map { site in
                let site = bytes.extracting(site)
                return site.equalsLowercase("cross-site") || site.equalsLowercase("same-site")
            } ?? false
        host = head[.host].map { bytes.extracting($0).httpText } ?? ""
    }

    /// The origin of the request, if the configuration allows it.
    func allowedOrigin(by settings: HTTPSettings) -> String? {
        origin.flatMap { settings.allowedOrigins.contains($0) ? $0 : nil }
    }

    /// The reason to reject the request; nil to accept it.
    func refusal(by settings: HTTPSettings) -> HTTPProblem? {
        if origin != nil || isCrossSite {
            guard allowedOrigin(by: settings) != nil else { return .otherSite }
        }
        return isHostServed(by: settings) ? nil : .otherHost
    }

    private func isHostServed(by settings: HTTPSettings) -> Bool {
        // HTTP/1.0 has no Host, and no browser speaks it.
        guard endpoint.unixPath == nil, !host.isEmpty else { return true }
        let name = Self.name(of: host).lowercased()
        if settings.hosts.contains(name) { return true }
        return endpoint.isLocal ? Endpoint.isLocal(name) : settings.hosts.isEmpty
    }

    /// The host without its port and brackets.
    private static func name(of host: String) -> String {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            return String(host[host.index(after: host.startIndex)..<end])
        }
        return String(host.prefix { $0 != ":" })
    }
}
