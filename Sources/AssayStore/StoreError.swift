public import AssayModels

/// The reason why a call of the App Store Server API has no result.
public enum StoreError: Error, Hashable, Sendable {
    /// The App Store refused the request.
    case refused(StoreRefusal)
    /// A signed member of the answer was refused: its verdict and detail. The whole answer is
    /// refused with it.
    case unverified(Verdict, detail: String)
    /// The answer is not what the App Store sends.
    case malformedAnswer(String)
    /// The connection or the transfer failed.
    case transport(StoreTransportError)
    /// The time of the call passed. Says what it waited for.
    case deadlineExceeded(String)
    /// The task was cancelled.
    case cancelled
    /// The list did not end within the caller's limit of pages.
    case tooManyPages(limit: Int)
    /// The answers have more bytes together than the caller's limit.
    case tooManyBytes(limit: Int)
    /// The answers promise more pages, and name one that came before.
    case pagesRepeat
    /// Pages without an item followed each other and promised more.
    case emptyPages(count: Int)
    /// Too many requests of this client wait already.
    case tooManyWaiting
    /// An argument can't be part of a request. Says which and why.
    case invalidArgument(String)
    /// The key that signs requests can't be used. Never contains the key.
    case unusableKey(String)
}

/// A refusal by the App Store.
public struct StoreRefusal: Error, Hashable, Sendable {
    /// The HTTP status.
    public var httpStatus: Int
    /// Apple's `errorCode`: the HTTP status × 10000 and a number; nil for an answer without one.
    public var code: Int64?
    /// Apple's `errorMessage`; empty for an answer without one.
    public var message: String
    /// The environments that refused. Two after the same answer of both.
    public var environments: [StoreEnvironment]
    /// When the App Store accepts requests again (429, 503).
    public var retryAt: Timestamp?
    /// Seconds that this machine's clock is ahead of the App Store's; nil if the answer has no
    /// date.
    public var clockAhead: Int64?
    /// What the other environment answered, where that differs.
    public var others: [StoreRefusal] = []

    /// Creates a refusal.
    public init(
        httpStatus: Int, code: Int64? = nil, message: String = "",
        environments: [StoreEnvironment] = [], retryAt: Timestamp? = nil, clockAhead: Int64? = nil
    ) {
        self.httpStatus = httpStatus
        self.code = code
        self.message = message
        self.environments = environments
        self.retryAt = retryAt
        self.clockAhead = clockAhead
    }

    /// The code of a transaction identifier that an environment does not know.
    public static let transactionNotFound: Int64 = 4_040_010
}

/// The reason why a transfer failed.
public enum StoreTransportError: Error, Hashable, Sendable {
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
    public var description: String {
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

extension StoreError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let refusal): refusal.description
        case .unverified(let verdict, let detail): "the answer is \(verdict.name): \(detail)"
        case .malformedAnswer(let what): "the App Store's answer is not as documented: \(what)"
        case .transport(let error): error.description
        case .deadlineExceeded(let what): "the time of the call passed: \(what)"
        case .cancelled: "cancelled"
        case .tooManyPages(let limit):
            "the list has more than \(limit) pages: allow more, or ask for less"
        case .tooManyBytes(let limit):
            "the answers have more than \(limit) bytes: allow more, or ask for less"
        case .pagesRepeat: "the App Store's pages repeat: it names a page that came before"
        case .emptyPages(let count):
            "the App Store sent \(count) empty pages in a row and promises more"
        case .tooManyWaiting: "too many requests wait for the App Store"
        case .invalidArgument(let what): what
        case .unusableKey(let what): what
        }
    }
}
