public import AssayModels

/// The head of a response frame (`assay.v1.ResponseHead`).
public struct ResponseHead: Equatable, Sendable {
    /// The id of frames that answer no single request: a stream that can't continue, or a drain.
    public static let connectionId: UInt64 = 0

    public var id: UInt64
    public var status: Status
    /// Explains a status other than OK.
    public var message: String
    /// The delay before a retry, in milliseconds; 0 if a retry does not help.
    public var retryAfterMilliseconds: UInt32
    public var result: CallResult

    public init(
        id: UInt64, status: Status = .ok, message: String = "", retryAfterMilliseconds: UInt32 = 0,
        result: CallResult = .none
    ) {
        self.id = id
        self.status = status
        self.message = message
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.result = result
    }

    public enum CallResult: Equatable, Sendable {
        case none
        /// `evidence` is set if the verdict is VALID and typed fields were requested. Its JSON is
        /// empty here and travels in the frame's body.
        indirect case verification(Verification)
        case health(serving: Bool)
        case info(ServerInfo)
        case pong
    }
}

/// gRPC status codes with their numbers.
public enum Status: Int32, Sendable, CaseIterable {
    case ok = 0
    case cancelled = 1
    case unknown = 2
    case invalidArgument = 3
    case deadlineExceeded = 4
    case notFound = 5
    case alreadyExists = 6
    case permissionDenied = 7
    case resourceExhausted = 8
    case failedPrecondition = 9
    case aborted = 10
    case outOfRange = 11
    case unimplemented = 12
    case `internal` = 13
    case unavailable = 14
    case dataLoss = 15
    case unauthenticated = 16
}

/// The answer to Info.
public struct ServerInfo: Equatable, Sendable {
    public var version: String
    /// Kinds of evidence that this server verifies.
    public var kinds: [EvidenceKind]
    public var limits: Limits
    public var trustedRoots: [TrustedRoot]
    /// The text of assay.proto.
    public var proto: String

    public struct Limits: Equatable, Sendable {
        public var frameBytes: UInt32
        public var headBytes: UInt32
        public var jwsBytes: UInt32
        public var notificationBytes: UInt32
        public var requestsInFlight: UInt32
        public init(
            frameBytes: UInt32, headBytes: UInt32, jwsBytes: UInt32, notificationBytes: UInt32,
            requestsInFlight: UInt32
        ) {
            self.frameBytes = frameBytes
            self.headBytes = headBytes
            self.jwsBytes = jwsBytes
            self.notificationBytes = notificationBytes
            self.requestsInFlight = requestsInFlight
        }
    }

    public struct TrustedRoot: Equatable, Sendable {
        public var name: String
        /// SHA-256 of the certificate, lower-case hexadecimal.
        public var fingerprint: String
        public var notAfter: Timestamp
        public var development: Bool
        public init(name: String, fingerprint: String, notAfter: Timestamp, development: Bool) {
            self.name = name
            self.fingerprint = fingerprint
            self.notAfter = notAfter
            self.development = development
        }
    }

    public init(
        version: String, kinds: [EvidenceKind], limits: Limits, trustedRoots: [TrustedRoot],
        proto: String
    ) {
        self.version = version
        self.kinds = kinds
        self.limits = limits
        self.trustedRoots = trustedRoots
        self.proto = proto
    }
}
