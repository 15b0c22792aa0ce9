import AssayHTTP
import AssayIO

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
