package import AssayWire

// The names of the closed label sets, in metrics and in the audit log.

extension CallLabel {
    package var method: String {
        switch self {
        case .verify: "Verify"
        case .health: "Health"
        case .info: "Info"
        case .ping: "Ping"
        case .resolve: "Resolve"
        case .fetch: "Fetch"
        case .sign: "Sign"
        case .unknown: "Unknown"
        }
    }
}

extension ResolveOutcome {
    package var name: String {
        switch self {
        case .valid: "valid"
        case .partlyRefused: "partly_refused"
        case .refused: "refused"
        case .conflict: "conflict"
        }
    }
}

extension RefusalLabel {
    package var name: String {
        switch self {
        case .invalid: "invalid"
        case .duplicateId: "duplicate_id"
        case .unimplemented: "unimplemented"
        case .unknownApp: "unknown_app"
        case .tooLarge: "too_large"
        case .overloaded: "overloaded"
        case .draining: "draining"
        case .deadline: "deadline"
        case .other: "other"
        }
    }
}

extension EnvironmentLabel {
    /// The environment's name in Apple's spelling, which policies use, too.
    package var name: String {
        switch self {
        case .production: "Production"
        case .sandbox: "Sandbox"
        case .xcode: "Xcode"
        case .localTesting: "LocalTesting"
        case .unspecified: "Unspecified"
        case .other: "other"
        case .none: "none"
        }
    }
}

extension Status {
    /// The status name as in gRPC's metrics.
    package var grpcName: String {
        switch self {
        case .ok: "OK"
        case .cancelled: "Canceled"
        case .unknown: "Unknown"
        case .invalidArgument: "InvalidArgument"
        case .deadlineExceeded: "DeadlineExceeded"
        case .notFound: "NotFound"
        case .alreadyExists: "AlreadyExists"
        case .permissionDenied: "PermissionDenied"
        case .resourceExhausted: "ResourceExhausted"
        case .failedPrecondition: "FailedPrecondition"
        case .aborted: "Aborted"
        case .outOfRange: "OutOfRange"
        case .unimplemented: "Unimplemented"
        case .internal: "Internal"
        case .unavailable: "Unavailable"
        case .dataLoss: "DataLoss"
        case .unauthenticated: "Unauthenticated"
        }
    }
}
