public import AssayEntitlements
import AssayTelemetry

/// Asks the App Store for a customer's purchases. The server calls it in a task of its own, on no
/// thread that serves others, and cancels the task when nobody waits for the answer.
public protocol Fetcher: Sendable {
    /// Asks for the lists, verifies every answer, and decides what the customer owns.
    ///
    /// The timeout is the time for all of it. `hold` asks the server for the memory of the answers
    /// received so far, in bytes. A fetcher calls it with each answer, and ends with `cancelled` if
    /// it returns false.
    func fetch(
        _ query: CustomerQuery, timeout: Duration,
        holding hold: @escaping @Sendable (_ bytes: Int) async -> Bool
    ) async throws(FetchError) -> CustomerState

    /// What was asked of the App Store so far.
    var statistics: FetchStatistics { get }
}

/// The reason why a fetch has no answer, in words for the client. Contains no key and no token.
public struct FetchError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// The App Store did not accept the server's key, or the key can't be used.
        public static let keyNotAccepted = Reason("keyNotAccepted")
        /// No environment knows the transaction.
        public static let unknownTransaction = Reason("unknownTransaction")
        /// The App Store refused the request for another reason, or an argument can't be sent.
        public static let refused = Reason("refused")
        /// The rate limit of the App Store, or of the fetcher.
        public static let rateLimited = Reason("rateLimited")
        /// The customer's lists exceed the limit of pages or bytes.
        public static let tooLarge = Reason("tooLarge")
        /// The App Store failed or could not be reached.
        public static let unavailable = Reason("unavailable")
        /// The time passed.
        public static let deadlineExceeded = Reason("deadlineExceeded")
        /// An answer did not verify, or is not as documented.
        public static let notVerified = Reason("notVerified")
        /// The task was cancelled.
        public static let cancelled = Reason("cancelled")

        /// All reasons, for the tests that compare each with its status.
        package static let all: Set<Reason> = [
            .keyNotAccepted, .unknownTransaction, .refused, .rateLimited, .tooLarge, .unavailable,
            .deadlineExceeded, .notVerified, .cancelled,
        ]
    }

    /// The kind of the reason.
    public var reason: Reason
    /// Explains it.
    public var message: String
    /// Apple's `errorCode`; nil if the App Store sent none.
    public var appStoreCode: Int64?
    /// Milliseconds until a retry can succeed; nil if none can, or if the time is unknown.
    public var retryAfterMilliseconds: UInt32?

    /// Creates an error.
    public init(
        _ reason: Reason, _ message: String, appStoreCode: Int64? = nil,
        retryAfterMilliseconds: UInt32? = nil
    ) {
        self.reason = reason
        self.message = message
        self.appStoreCode = appStoreCode
        self.retryAfterMilliseconds = retryAfterMilliseconds
    }
}

extension FetchError: CustomStringConvertible {
    public var description: String { message }
}

/// What a fetcher asked of the App Store. The labels are closed sets.
public struct FetchStatistics: Equatable, Sendable {
    /// Requests by endpoint and outcome, each attempt counted.
    public struct Row: Equatable, Sendable {
        /// The endpoint's name, such as `history`.
        public var endpoint: String
        /// How the requests ended, such as `answered`.
        public var outcome: String
        /// The number of requests.
        public var count: UInt64

        /// Creates a row.
        public init(endpoint: String, outcome: String, count: UInt64) {
            self.endpoint = endpoint
            self.outcome = outcome
            self.count = count
        }
    }

    /// Ordered by endpoint and outcome.
    public var requests: [Row] = []
    /// Attempts after a first one.
    public var retries: UInt64 = 0
    /// Requests that waited for a rate limit.
    public var rateWaits: UInt64 = 0
    /// Nanoseconds that they waited.
    public var rateWaitNanoseconds: UInt64 = 0

    /// Creates statistics of nothing.
    public init() {}
}
