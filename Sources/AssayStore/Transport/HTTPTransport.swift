/// One HTTP request.
package struct TransportRequest: Sendable {
    package var method: String
    package var url: String
    /// The token of the Authorization header: a secret. Nil for a request without one.
    package var token: String?
    package var body: [UInt8]?
    package var contentType: String
    /// The Accept header.
    package var accept = "application/json"
    /// Milliseconds for the whole transfer.
    package var timeout: UInt64
    /// Bytes of the answer's body at most.
    package var byteLimit = StoreLimits.answerBytes
}

extension TransportRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { method + " " + url }
    package var customMirror: Mirror { Mirror(self, children: ["url": url]) }
}

/// One HTTP answer.
package struct TransportAnswer: Equatable, Sendable {
    package var status: Int
    package var body: [UInt8]
    /// The Retry-After field.
    package var retryAfter: String?
    /// The Date field.
    package var date: String?

    package init(
        status: Int, body: [UInt8] = [], retryAfter: String? = nil, date: String? = nil
    ) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.date = date
    }
}

/// Sends HTTP requests.
package protocol HTTPTransport: Sendable {
    func send(_ request: TransportRequest) async throws(StoreTransportError) -> TransportAnswer
    /// Ends all transfers with `cancelled`, including later ones.
    func close()
}
