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
    /// The kinds of reasons.
    public enum Reason: Sendable, CaseIterable {
        /// The App Store did not accept the server's key, or the key can't be used.
        case keyNotAccepted
        /// No environment knows the transaction.
        case unknownTransaction
        /// The App Store refused the request for another reason, or an argument can't be sent.
        case refused
        /// The rate limit of the App Store, or of the fetcher.
        case rateLimited
        /// The customer's lists exceed the limit of pages or bytes.
        case tooLarge
        /// The App Store failed or could not be reached.
        case unavailable
        /// The time passed.
        case deadlineExceeded
        /// An answer did not verify, or is not as documented.
        case notVerified
        /// The task was cancelled.
        case cancelled
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
