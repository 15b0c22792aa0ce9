public import AssayIO
public import AssayWire

/// Why a call has no answer. A refused purchase is an answer, not an error.
public enum ClientError: Error, Hashable, Sendable {
    /// No connection could be made.
    case connectFailed(LoopError)
    /// The connection went while the call was in flight, and it was not, or could not be, retried.
    case connectionLost
    /// Told by the server, or found here when the server told nothing.
    case deadlineExceeded
    /// The task was cancelled.
    case cancelled
    /// The server could not do the call, or not on this connection. Trying again helps after
    /// `retryAfterMilliseconds`; 0: it does not.
    case status(AssayWire.Status, message: String, retryAfterMilliseconds: UInt32)
    /// The peer does not speak the protocol.
    case protocolViolation(String)
    /// The client was closed.
    case closed
    /// Above what a server reads: see `FrameLimits`.
    case requestTooLarge
    /// As many calls are waiting as `ClientOptions.waitingLimit` allows.
    case tooManyWaiting
}

extension ClientError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .connectFailed(let reason): "no connection: \(reason)"
        case .connectionLost: "the connection was lost"
        case .deadlineExceeded: "the deadline passed"
        case .cancelled: "cancelled"
        case .status(let status, let message, _):
            message.isEmpty ? "the server answered \(status)" : message
        case .protocolViolation(let what): "the peer is no Assay server: \(what)"
        case .closed: "the client is closed"
        case .requestTooLarge: "the request is larger than a frame may be"
        case .tooManyWaiting: "too many calls are waiting for the server"
        }
    }
}
