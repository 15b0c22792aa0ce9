package import AssayHTTP
package import AssayIO

extension HTTPOriginPolicy {
    /// The policy of an HTTP listener. It has no pages of its own.
    init(_ settings: HTTPSettings, at endpoint: Endpoint) {
        self.init(
            Binding(endpoint), hosts: settings.hosts, allowedOrigins: settings.allowedOrigins)
    }

    /// The origin of a request, if the configuration allows it.
    func allowedOrigin(of source: Source) -> String? {
        source.origin.flatMap { isAllowed($0) ? $0 : nil }
    }

    /// The reason to reject a request; nil to accept it.
    func problem(with source: Source) -> HTTPProblem? {
        switch refusal(of: source) {
        case nil: nil
        case .host: .otherHost
        case .origin: .otherSite
        }
    }
}

extension HTTPOriginPolicy.Binding {
    package init(_ endpoint: Endpoint) {
        let host = (endpoint.host ?? "").lowercased()
        self =
            endpoint.unixPath != nil ? .unix : endpoint.isLocal ? .loopback(host) : .open(host)
    }
}

extension HTTPOriginPolicy.Source {
    init(_ head: HTTPHead, _ bytes: Span<UInt8>) {
        self.init(
            host: head[.host].map { bytes.extracting($0).httpText },
            origin: head[.origin].map { bytes.extracting($0).httpText },
            fetchSite: head[.fetchSite].map { bytes.extracting($0).httpText },
            isReading: head.method == .get || head.method == .head)
    }
}
