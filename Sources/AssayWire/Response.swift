public import AssayModels

/// The head of a response frame (`assay.v1.ResponseHead`).
public struct ResponseHead: Equatable, Sendable {
    /// The id of frames that answer no single request: a stream that can't continue, or a drain.
    public static let connectionId: UInt64 = 0

    /// The id of the request, or `connectionId`.
    public var id: UInt64
    /// Whether the call was performed.
    public var status: Status
    /// Explains a status other than OK.
    public var message: String
    /// The delay before a retry, in milliseconds; 0 if a retry does not help.
    public var retryAfterMilliseconds: UInt32
    /// Apple's `errorCode`, where the App Store refused a Fetch.
    public var appStoreErrorCode: Int64?
    /// The trace of the request, 32 hexadecimal digits, if it named one and has no result.
    public var traceId: String?
    /// The result of the call.
    public var result: CallResult

    /// Creates the head of a response.
    public init(
        id: UInt64, status: Status = .ok, message: String = "", retryAfterMilliseconds: UInt32 = 0,
        appStoreErrorCode: Int64? = nil, traceId: String? = nil, result: CallResult = .none
    ) {
        self.id = id
        self.status = status
        self.message = message
        self.retryAfterMilliseconds = retryAfterMilliseconds
        self.appStoreErrorCode = appStoreErrorCode
        self.traceId = traceId
        self.result = result
    }

    /// The result of a call.
    public enum CallResult: Equatable, Sendable {
        /// No result: the status is not OK, or the server is newer than this client.
        case none
        /// `evidence` is set if the verdict is VALID and typed fields were requested. Its JSON is
        /// empty here and travels in the frame's body.
        indirect case verification(Verification)
        /// The result of Health.
        case health(serving: Bool)
        /// The result of Info.
        case info(ServerInfo)
        /// The result of Ping.
        case pong
        /// The result of Resolve.
        indirect case resolution(Resolution)
        /// The result of Fetch.
        indirect case fetched(Fetched)
    }
}

/// gRPC status codes with their numbers.
public enum Status: Int32, Sendable, CaseIterable {
    /// The call was performed.
    case ok = 0
    /// The caller cancelled the call.
    case cancelled = 1
    /// A status that fits no other code.
    case unknown = 2
    /// The frame or its head is invalid.
    case invalidArgument = 3
    /// The request's time limit passed.
    case deadlineExceeded = 4
    /// The server has no app entry of that name, or the App Store does not know the transaction.
    case notFound = 5
    /// A request with this id is in flight on the connection.
    case alreadyExists = 6
    /// The server does not serve this user or client certificate.
    case permissionDenied = 7
    /// A limit was reached.
    case resourceExhausted = 8
    /// Fetch is not configured for the app, or Apple did not accept the server's key.
    case failedPrecondition = 9
    /// The call was aborted.
    case aborted = 10
    /// A value is out of range.
    case outOfRange = 11
    /// The server does not know the call or the kind.
    case unimplemented = 12
    /// A defect of the server.
    case `internal` = 13
    /// The server is draining, closed an idle connection, or could not reach the App Store.
    case unavailable = 14
    /// An answer of the App Store did not verify, or is not as documented.
    case dataLoss = 15
    /// The caller is not authenticated.
    case unauthenticated = 16
}

/// The answer to Info.
public struct ServerInfo: Equatable, Sendable {
    /// The server's version.
    public var version: String
    /// Kinds of evidence that this server verifies.
    public var kinds: [EvidenceKind]
    /// The server's limits.
    public var limits: Limits
    /// The roots that the default app entry trusts.
    public var trustedRoots: [TrustedRoot]
    /// The text of assay.proto.
    public var proto: String
    /// The engine that verifies signatures: "ifma", "avx2", "neon", "portable" or "openssl"; empty
    /// from a server that does not say it.
    public var engine: String

    /// The limits of a server.
    public struct Limits: Equatable, Sendable {
        /// Largest frame in bytes, after its length field.
        public var frameBytes: UInt32
        /// Largest head of a request in bytes.
        public var headBytes: UInt32
        /// Largest body that is one JWS or a transaction receipt, in bytes.
        public var jwsBytes: UInt32
        /// Largest body that is a notification, in bytes.
        public var notificationBytes: UInt32
        /// Maximum number of requests in flight on one connection.
        public var requestsInFlight: UInt32
        /// Largest body that is a Server API answer, in bytes; 0 from a server that knows none.
        public var serverAnswerBytes: UInt32
        /// Largest body that is a version 1 notification, in bytes; 0 from a server that knows
        /// none.
        public var notificationV1Bytes: UInt32
        /// Maximum number of items in one Resolve; 0 for a server without this call.
        public var resolveItems: UInt32

        /// Creates limits.
        public init(
            frameBytes: UInt32, headBytes: UInt32, jwsBytes: UInt32, notificationBytes: UInt32,
            requestsInFlight: UInt32, serverAnswerBytes: UInt32 = 0,
            notificationV1Bytes: UInt32 = 0, resolveItems: UInt32 = 0
        ) {
            self.frameBytes = frameBytes
            self.headBytes = headBytes
            self.jwsBytes = jwsBytes
            self.notificationBytes = notificationBytes
            self.requestsInFlight = requestsInFlight
            self.serverAnswerBytes = serverAnswerBytes
            self.notificationV1Bytes = notificationV1Bytes
            self.resolveItems = resolveItems
        }
    }

    /// A root certificate that a server trusts.
    public struct TrustedRoot: Equatable, Sendable {
        /// The subject's common name.
        public var name: String
        /// SHA-256 of the certificate, lower-case hexadecimal.
        public var fingerprint: String
        /// The last second of its validity.
        public var notAfter: Timestamp
        /// Whether the root is for development only and never validates Production evidence.
        public var development: Bool

        /// Creates a root.
        public init(name: String, fingerprint: String, notAfter: Timestamp, development: Bool) {
            self.name = name
            self.fingerprint = fingerprint
            self.notAfter = notAfter
            self.development = development
        }
    }

    /// Creates the answer to Info.
    public init(
        version: String, kinds: [EvidenceKind], limits: Limits, trustedRoots: [TrustedRoot],
        proto: String, engine: String = ""
    ) {
        self.version = version
        self.kinds = kinds
        self.limits = limits
        self.trustedRoots = trustedRoots
        self.proto = proto
        self.engine = engine
    }
}
