public import AssayIO

/// Errors that prevent a server from starting.
public enum ServerError: Error, Equatable, Sendable {
    /// No address to listen on.
    case noListener
    /// No app entry.
    case noApp
    /// The default app is not among the entries.
    case unknownDefaultApp(String)
    /// The number of workers is 0.
    case noWorker
    /// A TLS endpoint without certificate and key.
    case noTLS(Endpoint)
    /// Two addresses name the same passed sockets: they are served once, with or without TLS.
    case namedTwice(Endpoint)
    /// Listening on the endpoint failed.
    case listen(Endpoint, LoopError)
    /// The system refused to create a loop or a thread.
    case system(LoopError)
}

extension ServerError {
    /// Checks a list of addresses for errors that are visible without listening. Returns the
    /// first error, or nil.
    package static func of(_ listen: [Endpoint], hasTLS: Bool) -> ServerError? {
        if !hasTLS, let endpoint = listen.first(where: \.isTLS) { return .noTLS(endpoint) }
        var names: Set<String> = []
        for endpoint in listen {
            guard let name = endpoint.inheritedName else { continue }
            if !names.insert(name).inserted { return .namedTwice(endpoint) }
        }
        return nil
    }
}

extension ServerError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noListener: "no address to listen on: name at least one"
        case .noApp: "there is no app entry"
        case .unknownDefaultApp(let name): "the default app entry \"\(name)\" does not exist"
        case .noTLS(let endpoint):
            "\(endpoint) needs a certificate and a key: name them in [tls] of the configuration"
        case .namedTwice(let endpoint):
            "\(endpoint) names sockets that another address already names: name them once"
        case .noWorker: "at least one worker is needed"
        case .listen(let endpoint, let error): "can't listen on \(endpoint): \(error)"
        case .system(let error): "can't start: \(error)"
        }
    }
}
