/// What a client did, by endpoint: counts of requests and of waits. Contains no identifier.
public struct StoreMetrics: Sendable, Equatable {
    /// How a request ended.
    public enum Outcome: String, Sendable, CaseIterable {
        /// An answer, with every signed member verified.
        case answered
        /// The transaction is unknown to the environment (4040010).
        case notFound = "not_found"
        /// 401: the token was not accepted.
        case unauthorized
        /// 429.
        case rateLimited = "rate_limited"
        /// Another refusal of the App Store.
        case refused
        /// 5xx.
        case serverError = "server_error"
        /// No answer: the connection, TLS or the transfer failed.
        case transport
        /// A signed member was refused.
        case unverified
        /// Not an answer of the App Store.
        case malformed
    }

    /// One endpoint and outcome.
    public struct Row: Hashable, Sendable {
        /// The endpoint's name, such as `history`.
        public var endpoint: String
        /// How the requests ended.
        public var outcome: Outcome
    }

    /// Requests, each attempt counted.
    public internal(set) var requests: [Row: UInt64] = [:]
    /// Attempts after a first one.
    public internal(set) var retries: UInt64 = 0
    /// Requests that waited for a rate limit.
    public internal(set) var rateWaits: UInt64 = 0
    /// Nanoseconds that they waited.
    public internal(set) var rateWaitNanoseconds: UInt64 = 0

    mutating func note(_ endpoint: String, _ outcome: Outcome) {
        requests[Row(endpoint: endpoint, outcome: outcome), default: 0] += 1
    }

    mutating func noteWait(_ nanoseconds: UInt64) {
        rateWaits += 1
        rateWaitNanoseconds += nanoseconds
    }
}

extension StoreRefusal {
    var outcome: StoreMetrics.Outcome {
        switch httpStatus {
        case 401: .unauthorized
        case 429: .rateLimited
        case 500...599: .serverError
        default: code == Self.transactionNotFound ? .notFound : .refused
        }
    }
}
