package import AssayIO
public import AssayWire

/// The reason why a call has no answer. A refused purchase is an answer, not an error.
public struct ClientError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// No address, or one of a kind that only servers use.
        public static let invalidAddress = Reason("invalidAddress")
        /// An argument can't be sent, such as an expectation that is given and empty. Nothing was
        /// sent.
        public static let invalidArgument = Reason("invalidArgument")
        /// The connection attempt failed, at every address.
        public static let connectFailed = Reason("connectFailed")
        /// TLS failed: an authority, a name or a certificate is not accepted.
        public static let tlsFailed = Reason("tlsFailed")
        /// The connection was lost while the call was in flight, and the call could not be retried.
        public static let connectionLost = Reason("connectionLost")
        /// The deadline passed. Reported by the server, or by the client if the server did not
        /// answer.
        public static let deadlineExceeded = Reason("deadlineExceeded")
        /// The task was cancelled.
        public static let cancelled = Reason("cancelled")
        /// The server could not perform the call, or not on this connection. `ClientError.status`
        /// has the details.
        public static let status = Reason("status")
        /// The peer does not follow the protocol.
        public static let protocolViolation = Reason("protocolViolation")
        /// The client was closed.
        public static let closed = Reason("closed")
        /// The request exceeds the limits of `FrameLimits`.
        public static let requestTooLarge = Reason("requestTooLarge")
        /// The number of waiting calls has reached `ClientOptions.waitingLimit`, or the call waited
        /// longer than `ClientOptions.longestWait` for its turn.
        public static let tooManyWaiting = Reason("tooManyWaiting")
    }

    /// The server's answer to a call that it could not perform.
    public struct ServerStatus: Hashable, Sendable {
        /// The status, which is not OK.
        public let code: AssayWire.Status
        /// The server's explanation; can be empty.
        public let message: String
        /// How long to wait before a retry; 0 means that retrying does not help, unless the code is
        /// UNAVAILABLE.
        public let retryAfterMilliseconds: UInt32
        /// Apple's `errorCode`, if the App Store refused a Fetch.
        public let appStoreErrorCode: Int64?

        /// Creates a status.
        public init(
            _ code: AssayWire.Status, message: String = "", retryAfterMilliseconds: UInt32 = 0,
            appStoreErrorCode: Int64? = nil
        ) {
            self.code = code
            self.message = message
            self.retryAfterMilliseconds = retryAfterMilliseconds
            self.appStoreErrorCode = appStoreErrorCode
        }
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String
    /// The server's answer; nil for another reason than `status`.
    public let status: ServerStatus?
    /// Why the connection attempt failed.
    package let cause: LoopError?

    /// Creates an error without a server's answer, for example for a fake client.
    public init(_ reason: Reason, _ message: String) {
        self.init(reason, message, status: nil, cause: nil)
    }

    /// Creates the error of a server's answer.
    public init(_ status: ServerStatus) {
        let text = status.message.isEmpty ? "the server answered \(status.code)" : status.message
        self.init(.status, text, status: status, cause: nil)
    }

    private init(_ reason: Reason, _ message: String, status: ServerStatus?, cause: LoopError?) {
        self.reason = reason
        self.message = message
        self.status = status
        self.cause = cause
    }
}

extension ClientError {
    /// Whether the same call can succeed later. Every call is safe to repeat.
    public var isRetryable: Bool {
        switch reason {
        case .connectFailed, .connectionLost, .deadlineExceeded, .tooManyWaiting: true
        case .status: retryAfter != nil || status?.code == .unavailable
        default: false
        }
    }

    /// How long to wait before the call is repeated; nil if the server did not say it.
    public var retryAfter: Duration? {
        guard let pause = status?.retryAfterMilliseconds, pause > 0 else { return nil }
        return .milliseconds(Int64(pause))
    }
}

extension ClientError: CustomStringConvertible {
    public var description: String { message }
}

extension ClientError {
    package static let connectionLost = Self(.connectionLost, "the connection was lost")
    package static let deadlineExceeded = Self(.deadlineExceeded, "the deadline passed")
    package static let cancelled = Self(.cancelled, "cancelled")
    package static let closed = Self(.closed, "the client is closed")
    package static let requestTooLarge = Self(
        .requestTooLarge, "the request is larger than the largest frame")
    package static let tooManyWaiting = Self(
        .tooManyWaiting, "too many calls wait for the server")

    package static func protocolViolation(_ what: String) -> Self {
        Self(.protocolViolation, "the peer is not an Assay server: \(what)")
    }

    package static func status(
        _ code: AssayWire.Status, message: String, retryAfterMilliseconds: UInt32 = 0,
        appStoreErrorCode: Int64? = nil
    ) -> Self {
        Self(
            ServerStatus(
                code, message: message, retryAfterMilliseconds: retryAfterMilliseconds,
                appStoreErrorCode: appStoreErrorCode))
    }

    package static func connectFailed(_ cause: LoopError) -> Self {
        let remedy = cause.remedy.map { ": " + $0 } ?? ""
        let isTLS = if case .tls = cause { true } else { false }
        return Self(
            isTLS ? .tlsFailed : .connectFailed, "no connection: \(cause)" + remedy, status: nil,
            cause: cause)
    }
}

extension LoopError {
    /// What the user of a client can do; nil if only a retry can help.
    fileprivate var remedy: String? {
        switch self {
        case .connectionRefused: "start the server, or check the address"
        case .notFound: "start the server, or check the path"
        case .addressNotAvailable, .hostNotFound, .notASocket: "check the address"
        case .timedOut, .unreachable: "check the address and the firewall"
        case .permissionDenied: "give this user access to the socket"
        case .tooManyOpenFiles: "raise the limit of open files"
        case .tls(let error): error.remedy
        default: nil
        }
    }
}

extension TLSError {
    fileprivate var remedy: String? {
        switch reason {
        case .noTLS: "write tcp://HOST:PORT, or the port of --listen tls://"
        case .untrustedPeer:
            "name the server's authority, or the name in its certificate, in TLSClientSettings"
        case .noPeerCertificate, .refusedByPeer:
            "if the server requires a client certificate, name it in TLSClientSettings"
        default: nil
        }
    }
}
