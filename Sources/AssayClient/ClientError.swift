public import AssayIO
public import AssayWire

/// The reason why a call has no answer. A refused purchase is an answer, not an error.
public enum ClientError: Error, Hashable, Sendable {
    /// No address, or one of a kind that only servers use; the value is the reason.
    case invalidAddress(String)
    /// An expectation is given and empty; the value names it. Nothing was sent.
    case invalidArgument(String)
    /// The connection attempt failed.
    case connectFailed(LoopError)
    /// The connection was lost while the call was in flight, and the call could not be retried.
    case connectionLost
    /// The deadline passed. Reported by the server, or by the client if the server did not
    /// answer.
    case deadlineExceeded
    /// The task was cancelled.
    case cancelled
    /// The server could not perform the call, or not on this connection. A retry can succeed
    /// after `retryAfterMilliseconds`; 0 means that retrying does not help. `appStoreErrorCode` is
    /// Apple's `errorCode`, where the App Store refused a Fetch.
    case status(
        AssayWire.Status, message: String, retryAfterMilliseconds: UInt32,
        appStoreErrorCode: Int64? = nil)
    /// The peer does not follow the protocol.
    case protocolViolation(String)
    /// The client was closed.
    case closed
    /// The request exceeds the limits of `FrameLimits`.
    case requestTooLarge
    /// The number of waiting calls has reached `ClientOptions.waitingLimit`, or the call waited
    /// longer than `ClientOptions.longestWait` for its turn.
    case tooManyWaiting
}

extension ClientError {
    /// Whether the same call can succeed later. Every call is safe to repeat.
    public var isRetryable: Bool {
        switch self {
        case .connectFailed(.tls): false
        case .connectFailed, .connectionLost, .deadlineExceeded, .tooManyWaiting: true
        case .status(let status, _, let pause, _): pause > 0 || status == .unavailable
        case .invalidAddress, .invalidArgument, .cancelled, .protocolViolation, .closed,
            .requestTooLarge:
            false
        }
    }

    /// How long to wait before the call is repeated; nil if the server did not say it.
    public var retryAfter: Duration? {
        guard case .status(_, _, let pause, _) = self, pause > 0 else { return nil }
        return .milliseconds(Int64(pause))
    }
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalidAddress(let reason), .invalidArgument(let reason): reason
        case .connectFailed(.tls(.noTLS)):
            "no connection: \(TLSError.noTLS): write tcp://HOST:PORT, or the port of "
                + "--listen tls://"
        case .connectFailed(let reason): "no connection: \(reason)"
        case .connectionLost: "the connection was lost"
        case .deadlineExceeded: "the deadline passed"
        case .cancelled: "cancelled"
        case .status(let status, let message, _, _):
            message.isEmpty ? "the server answered \(status)" : message
        case .protocolViolation(let what): "the peer is not an Assay server: \(what)"
        case .closed: "the client is closed"
        case .requestTooLarge: "the request is larger than the largest frame"
        case .tooManyWaiting: "too many calls wait for the server"
        }
    }
}
