public import AssayModels

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
