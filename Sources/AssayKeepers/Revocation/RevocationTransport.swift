/// A request for a revocation status. It goes to one host: a redirection is a failure.
public struct RevocationRequest: Sendable, Equatable {
    /// An `http` URL.
    public var url: String
    /// The OCSP request to post; nil to get a CRL.
    public var body: [UInt8]?
    /// Bytes of the answer that are read at most.
    public var byteLimit: Int
    /// Milliseconds for all of it.
    public var timeout: UInt64
}

/// The reason why a request has no answer.
public struct RevocationRequestError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// No answer in time.
        public static let timedOut = Reason("timedOut")
        /// The answer has more bytes than the limit.
        public static let tooLarge = Reason("tooLarge")
        /// Another status of HTTP than 200.
        public static let status = Reason("status")
        /// The host can't be reached, or the connection was lost.
        public static let failed = Reason("failed")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, for the log and the report.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// No answer in time.
    public static let timedOut = Self(.timedOut, "no answer in time")
    /// The answer has more bytes than the limit.
    public static let tooLarge = Self(.tooLarge, "the answer is too large")

    /// Another status of HTTP than 200.
    public static func status(_ status: Int) -> Self {
        Self(.status, "the host answered with the status \(status) of HTTP")
    }

    /// The host can't be reached, or the connection was lost. The message says which.
    public static func failed(_ message: String) -> Self { Self(.failed, message) }
}

extension RevocationRequestError: CustomStringConvertible {
    public var description: String { message }
}

/// Sends requests for revocation statuses. Calls `completion` once, on any thread.
public protocol RevocationTransport: Sendable {
    /// Sends a request.
    func send(
        _ request: RevocationRequest,
        completion: @escaping @Sendable (Result<[UInt8], RevocationRequestError>) -> Void)
    /// Ends all requests. Their completions are still called.
    func close()
}
