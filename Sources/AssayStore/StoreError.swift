public import AssayModels

/// The reason why a call of the App Store Server API has no result.
public struct StoreError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// The App Store refused the request. `StoreError.refusal` has its answer.
        public static let refused = Reason("refused")
        /// A signed member of the answer was refused, with the verdict in `StoreError.verdict`. The
        /// whole answer is refused with it.
        public static let unverified = Reason("unverified")
        /// The answer is not what the App Store sends.
        public static let malformedAnswer = Reason("malformedAnswer")
        /// libcurl is not installed, or has an interface that this program can't use.
        public static let libraryMissing = Reason("libraryMissing")
        /// The connection could not be made: the App Store has not received the request.
        public static let connectFailed = Reason("connectFailed")
        /// The peer's certificate is not trusted, or names another host.
        public static let untrustedPeer = Reason("untrustedPeer")
        /// The connection ended, or was silent, before the answer. The App Store may have received
        /// the request.
        public static let connectionLost = Reason("connectionLost")
        /// The answer has more bytes than the limit.
        public static let answerTooLarge = Reason("answerTooLarge")
        /// The time of the call passed. The message says what it waited for.
        public static let deadlineExceeded = Reason("deadlineExceeded")
        /// The task was cancelled.
        public static let cancelled = Reason("cancelled")
        /// The list did not end within the caller's limit of pages.
        public static let tooManyPages = Reason("tooManyPages")
        /// The answers have more bytes together than the caller's limit.
        public static let tooManyBytes = Reason("tooManyBytes")
        /// The answers promise more pages, and name one that came before.
        public static let pagesRepeat = Reason("pagesRepeat")
        /// Pages without an item followed each other and promised more.
        public static let emptyPages = Reason("emptyPages")
        /// Too many requests of this client wait already.
        public static let tooManyWaiting = Reason("tooManyWaiting")
        /// An argument can't be part of a request. The message says which and why.
        public static let invalidArgument = Reason("invalidArgument")
        /// The key that signs requests can't be used. The message never contains the key.
        public static let unusableKey = Reason("unusableKey")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String
    /// The App Store's answer; nil for another reason than `refused`.
    public let refusal: StoreRefusal?
    /// The verdict of the answer; nil for another reason than `unverified`.
    public let verdict: Verdict?
    /// Why the transfer failed.
    let transport: StoreTransportError?

    private init(
        _ reason: Reason, _ message: String, refusal: StoreRefusal? = nil, verdict: Verdict? = nil,
        transport: StoreTransportError? = nil
    ) {
        self.reason = reason
        self.message = message
        self.refusal = refusal
        self.verdict = verdict
        self.transport = transport
    }
}

extension StoreError: CustomStringConvertible {
    public var description: String { message }
}

extension StoreError {
    package static func refused(_ refusal: StoreRefusal) -> Self {
        Self(.refused, refusal.description, refusal: refusal)
    }

    package static func unverified(_ verdict: Verdict, detail: String) -> Self {
        Self(.unverified, "the answer is \(verdict.name): \(detail)", verdict: verdict)
    }

    package static func malformedAnswer(_ what: String) -> Self {
        Self(.malformedAnswer, "the App Store's answer is not as documented: \(what)")
    }

    package static func transport(_ error: StoreTransportError) -> Self {
        Self(error.reason, error.description, transport: error)
    }

    package static func deadlineExceeded(_ what: String) -> Self {
        Self(.deadlineExceeded, "the time of the call passed: \(what)")
    }

    package static let cancelled = Self(.cancelled, "cancelled")

    package static func tooManyPages(limit: Int) -> Self {
        Self(
            .tooManyPages, "the list has more than \(limit) pages: allow more, or ask for less")
    }

    package static func tooManyBytes(limit: Int) -> Self {
        Self(
            .tooManyBytes, "the answers have more than \(limit) bytes: allow more, or ask for less")
    }

    package static let pagesRepeat = Self(
        .pagesRepeat, "the App Store's pages repeat: it names a page that came before")

    package static func emptyPages(count: Int) -> Self {
        Self(
            .emptyPages, "the App Store sent \(count) empty pages in a row and promises more")
    }

    package static let tooManyWaiting = Self(
        .tooManyWaiting, "too many requests wait for the App Store")

    package static func invalidArgument(_ what: String) -> Self { Self(.invalidArgument, what) }

    package static func unusableKey(_ what: String) -> Self { Self(.unusableKey, what) }
}

extension StoreTransportError {
    fileprivate var reason: StoreError.Reason {
        switch self {
        case .libraryMissing: .libraryMissing
        case .hostNotFound, .connectFailed, .handshakeFailed, .timedOut(isSent: false):
            .connectFailed
        case .untrusted: .untrustedPeer
        case .timedOut, .connectionLost, .other: .connectionLost
        case .answerTooLarge: .answerTooLarge
        case .cancelled: .cancelled
        }
    }
}
