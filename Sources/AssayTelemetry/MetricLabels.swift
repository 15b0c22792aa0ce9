package import AssayModels
package import AssayWire

// The labels of metrics are closed sets: no value chosen by a client becomes a label.

/// The calls, named like gRPC methods.
package enum CallLabel: Int, CaseIterable, Sendable {
    case verify, health, info, ping, resolve, fetch, sign
    /// An unknown call, or an unreadable one.
    case unknown

    package init(_ call: RequestHead.Call) {
        switch call {
        case .verify: self = .verify
        case .resolve: self = .resolve
        case .fetch: self = .fetch
        case .health: self = .health
        case .info: self = .info
        case .ping: self = .ping
        case .unknown: self = .unknown
        }
    }
}

/// The reason why a request was rejected, derived from the response to its client.
package enum RefusalLabel: Int, CaseIterable, Sendable {
    /// The frame or its head is unusable.
    case invalid
    case duplicateId
    /// A call or a kind that is unknown to this server.
    case unimplemented
    case unknownApp
    case tooLarge
    /// A temporary shortage of the server.
    case overloaded
    case draining
    /// The deadline passed before the work began.
    case deadline
    case other

    init(_ head: ResponseHead) {
        self =
            switch head.status {
            case .invalidArgument: .invalid
            case .alreadyExists: .duplicateId
            case .unimplemented: .unimplemented
            case .notFound: .unknownApp
            case .resourceExhausted: head.retryAfterMilliseconds == 0 ? .tooLarge : .overloaded
            case .unavailable: .draining
            case .deadlineExceeded: .deadline
            default: .other
            }
    }
}

/// The outcome of a Resolve.
package enum ResolveOutcome: Int, CaseIterable, Sendable {
    /// Every item is valid.
    case valid
    /// Some items are valid, and some are refused.
    case partlyRefused
    /// No item is valid.
    case refused
    /// The evidence is of several customers, or not of the expected one.
    case conflict
}

/// The environment that signed evidence names.
package enum EnvironmentLabel: Int, CaseIterable, Sendable {
    case production, sandbox, xcode, localTesting, unspecified
    /// A signed environment that Apple added later, without its own label.
    case other
    /// The signature is invalid, so no environment is known.
    case none

    init(_ environment: StoreEnvironment?) {
        self =
            switch environment {
            case .production?: .production
            case .sandbox?: .sandbox
            case .xcode?: .xcode
            case .localTesting?: .localTesting
            case .unspecified?: .unspecified
            case .some: .other
            case nil: .none
            }
    }
}

/// The metrics labels of one verification, computed on the thread that verifies.
package struct Outcome: Sendable {
    /// The name of the app entry, from the configuration.
    package let app: String
    package let kind: EvidenceKind
    package let verdict: Verdict
    package let environment: EnvironmentLabel
    /// Its line of the audit log; nil where that is off.
    package var line: AuditLine?

    /// - Parameter app: the entry's name.
    package init(app: String, _ kind: EvidenceKind, _ verification: borrowing Verification) {
        self.app = app
        self.kind = kind
        verdict = verification.verdict
        environment = EnvironmentLabel(verification.environment)
    }
}
