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
public enum RevocationRequestError: Error, Equatable, Sendable {
    /// No answer in time.
    case timedOut
    /// The answer has more bytes than the limit.
    case tooLarge
    /// Another status of HTTP than 200.
    case status(Int)
    /// The host can't be reached, or the connection was lost.
    case failed(String)
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
