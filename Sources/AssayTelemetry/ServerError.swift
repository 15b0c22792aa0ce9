public import AssayIO

/// The reason why a server does not start, or does not apply a configuration.
public struct ServerError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// No address to listen on.
        public static let noListener = Reason("noListener")
        /// No app entry.
        public static let noApp = Reason("noApp")
        /// The default app is not among the entries.
        public static let unknownDefaultApp = Reason("unknownDefaultApp")
        /// The number of workers is 0.
        public static let noWorker = Reason("noWorker")
        /// A TLS endpoint without certificate and key.
        public static let noTLS = Reason("noTLS")
        /// Two addresses name the same passed sockets: they are served once, with or without TLS.
        public static let namedTwice = Reason("namedTwice")
        /// Listening on `endpoint` failed.
        public static let listenFailed = Reason("listenFailed")
        /// The system refused to create a loop or a thread.
        public static let systemFailed = Reason("systemFailed")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String
    /// The address that the reason is about; nil for other reasons.
    public let endpoint: Endpoint?
    private let cause: LoopError?

    private init(
        _ reason: Reason, _ message: String, at endpoint: Endpoint? = nil, cause: LoopError? = nil
    ) {
        self.reason = reason
        self.message = message
        self.endpoint = endpoint
        self.cause = cause
    }
}

extension ServerError: CustomStringConvertible {
    public var description: String { message }
}

extension ServerError {
    package static let noListener = Self(
        .noListener, "no address to listen on: name at least one")
    package static let noApp = Self(.noApp, "there is no app entry: name at least one app")
    package static let noWorker = Self(.noWorker, "at least one worker is needed")

    package static func unknownDefaultApp(_ name: String) -> Self {
        Self(.unknownDefaultApp, "the default app entry \"\(name)\" does not exist")
    }

    package static func noTLS(_ endpoint: Endpoint) -> Self {
        Self(
            .noTLS,
            "\(endpoint) needs a certificate and a key: name them in [tls] of the configuration",
            at: endpoint)
    }

    package static func namedTwice(_ endpoint: Endpoint) -> Self {
        Self(
            .namedTwice,
            "\(endpoint) names sockets that another address already names: name them once",
            at: endpoint)
    }

    package static func listen(_ endpoint: Endpoint, _ cause: LoopError) -> Self {
        let remedy = cause.remedy.map { ": " + $0 } ?? ""
        return Self(
            .listenFailed, "can't listen on \(endpoint): \(cause)" + remedy, at: endpoint,
            cause: cause)
    }

    package static func system(_ cause: LoopError) -> Self {
        Self(.systemFailed, "can't start: \(cause)", cause: cause)
    }

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

extension LoopError {
    /// What the operator of a server can do; nil if the text of the error says it.
    fileprivate var remedy: String? {
        switch self {
        case .addressInUse: "stop the process that uses it, or choose another address"
        case .addressNotAvailable: "choose an address of this machine"
        case .hostNotFound: "check the name of the host"
        case .permissionDenied: "choose a port above 1023, or a folder where this user can write"
        case .notFound: "create the socket's folder"
        case .notASocket: "choose another path, or remove the file"
        case .notPassed: "check FileDescriptorName= of the socket's unit"
        case .tooManyOpenFiles: "raise the limit of open files"
        default: nil
        }
    }
}
