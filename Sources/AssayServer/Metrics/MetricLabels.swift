package import AssayModels
import AssayWire

// The labels of metrics are closed sets: nothing that a client chose can become one.

/// The calls, as gRPC would name its methods.
package enum CallLabel: Int, CaseIterable, Sendable {
    case verify, health, info, ping
    /// None that this server knows, or none that could be read.
    case unknown

    init(_ call: RequestHead.Call) {
        switch call {
        case .verify: self = .verify
        case .health: self = .health
        case .info: self = .info
        case .ping: self = .ping
        case .unknown: self = .unknown
        }
    }
}

/// Why a request was not carried out, by what its client is told.
package enum RefusalLabel: Int, CaseIterable, Sendable {
    /// The frame or its head can't be used.
    case invalid
    case duplicateId
    /// A call or a kind that this server does not know.
    case unimplemented
    case unknownApp
    case tooLarge
    /// A shortage of the server's that passes.
    case overloaded
    case draining
    /// The time was over before the work began.
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

/// The environment that signed evidence names.
package enum EnvironmentLabel: Int, CaseIterable, Sendable {
    case production, sandbox, xcode, localTesting, unspecified
    /// One that Apple added later; it is signed, and still no label.
    case other
    /// The signature did not hold, so that none is known.
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

/// What is counted of one verification; worked out on the worker's thread.
package struct Outcome: Sendable {
    package let kind: EvidenceKind
    package let verdict: Verdict
    package let environment: EnvironmentLabel

    init(_ kind: EvidenceKind, _ verification: borrowing Verification) {
        self.kind = kind
        verdict = verification.verdict
        environment = EnvironmentLabel(verification.environment)
    }
}
