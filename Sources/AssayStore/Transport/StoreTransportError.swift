/// The reason why a transfer failed.
package enum StoreTransportError: Error, Hashable, Sendable {
    /// libcurl is not installed, or an interface that this program can't use.
    case libraryMissing
    /// The name of the host or proxy is unknown.
    case hostNotFound(String)
    /// The connection could not be made.
    case connectFailed(String)
    /// The TLS handshake failed: it was broken off, or there is no common version.
    case handshakeFailed(String)
    /// The peer's certificate is not trusted, or names another host.
    case untrusted(String)
    /// The peer did not answer in time.
    case timedOut(isSent: Bool)
    /// The connection ended before the answer.
    case connectionLost(String)
    /// The answer has more bytes than the limit.
    case answerTooLarge(limit: Int)
    /// The transfer was cancelled, or the client closed.
    case cancelled
    /// Any other failure, in libcurl's words.
    case other(String)

    /// Whether the App Store can't have received the request.
    var isUnsent: Bool {
        switch self {
        case .libraryMissing, .hostNotFound, .connectFailed, .handshakeFailed, .untrusted,
            .timedOut(isSent: false):
            true
        case .timedOut, .connectionLost, .answerTooLarge, .cancelled, .other: false
        }
    }
}

extension StoreTransportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .libraryMissing: "libcurl is not installed: install the package libcurl4"
        case .hostNotFound(let reason): "the host is unknown: \(reason)"
        case .connectFailed(let reason): "no connection: \(reason)"
        case .handshakeFailed(let reason): "the TLS handshake failed: \(reason)"
        case .untrusted(let reason): "the server is not trusted: \(reason)"
        case .timedOut(isSent: false): "no connection in time"
        case .timedOut(isSent: true): "no answer in time"
        case .connectionLost(let reason): "the connection was lost: \(reason)"
        case .answerTooLarge(let limit):
            "an answer of the App Store has more than \(limit) bytes, the limit of its client"
        case .cancelled: "cancelled"
        case .other(let reason): reason
        }
    }
}
