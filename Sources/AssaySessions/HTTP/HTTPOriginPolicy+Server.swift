import AssayHTTP
import AssayIO

extension HTTPOriginPolicy {
    /// The policy of an HTTP listener. It has no pages of its own.
    init(_ settings: HTTPSettings, at endpoint: Endpoint) {
        self.init(
            Binding(endpoint), hosts: settings.hosts, allowedOrigins: settings.allowedOrigins)
    }
}

/// The page that possibly makes a request, and what the configuration says of it. Asked once for
/// each request.
struct HTTPPage {
    let source: HTTPOriginPolicy.Source
    let policy: HTTPOriginPolicy

    /// Its origin, if the configuration allows it.
    var allowedOrigin: String? {
        source.origin.flatMap { policy.isAllowed($0) ? $0 : nil }
    }

    /// The reason to reject the request; nil to accept it.
    ///
    /// - Parameter withHost: whether the name of the server counts.
    func problem(withHost: Bool) -> HTTPProblem? {
        var source = source
        if !withHost { source.host = nil }
        switch policy.refusal(of: source) {
        case nil: return nil
        case .host: return .otherHost
        case .origin: return .otherSite
        }
    }
}
