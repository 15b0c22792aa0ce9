package import AssayIO

extension HTTPOriginPolicy.Binding {
    package init(_ endpoint: Endpoint) {
        let host = (endpoint.host ?? "").lowercased()
        self =
            endpoint.unixPath != nil ? .unix : endpoint.isLocal ? .loopback(host) : .open(host)
    }

    /// Whether a request has to name a host. No browser reaches a Unix socket, and it has no name:
    /// its clients send its path, percent-encoded or not, or nothing.
    package var needsHost: Bool {
        if case .unix = self { false } else { true }
    }
}

extension HTTPOriginPolicy.Source {
    package init(_ head: HTTPHead, _ bytes: Span<UInt8>) {
        self.init(
            host: head[.host].map { bytes.extracting($0).httpText },
            origin: head[.origin].map { bytes.extracting($0).httpText },
            fetchSite: head[.fetchSite].map { bytes.extracting($0).httpText },
            isReading: head.method == .get || head.method == .head)
    }
}

extension HTTPOriginPolicy {
    /// The status and the text of the answer that refuses a request; nil to serve it.
    package func refusal(of request: HTTPRequest) -> (status: Int, reason: String)? {
        switch refusal(of: request.source) {
        case nil: nil
        case .host: (421, "use localhost or the numeric address of this server as the host")
        case .origin: (403, "a page of another site made this request")
        }
    }
}
