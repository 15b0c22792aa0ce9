import AssayBytes

/// A request, read completely.
struct StoreRequest: Sendable {
    var method: StoreMethod
    var path: String
    var query: [(name: String, value: String)] = []
    /// Lower-case, without parameters; empty without one.
    var contentType = ""
    /// The value of the Authorization field.
    var authorization: [UInt8]?
    /// The bundle identifier of a token that was accepted earlier, of a request that is replayed.
    var acceptedBundleId: String?
    var body: [UInt8] = []
    /// Milliseconds since 1970 by the machine's clock, which tokens and rate limits use.
    var time: Int64

    var isVerifyReceipt: Bool {
        EndpointCall(method, path: path)?.endpoint == .verifyReceipt
    }

    /// The request without what a journal does not need: a receipt and the shared secret.
    var kept: StoreRequest {
        guard isVerifyReceipt else { return self }
        var request = self
        request.body = []
        return request
    }
}

/// The answer to a request.
struct StoreResponse: Sendable {
    var status = 200
    var type = "application/json"
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// How a fault slows or cuts the answer.
    var delivery = Delivery()

    struct Delivery: Sendable, Equatable {
        /// Milliseconds before the answer.
        var delay: UInt64 = 0
        /// Milliseconds between the bytes; 0 writes all at once.
        var dribble: UInt64 = 0
        /// Bytes after which the connection ends; nil: none.
        var cut: Int?
    }

    /// An answer without a body.
    static func bare(_ status: Int) -> StoreResponse { StoreResponse(status: status, type: "") }

    static func json(_ status: Int = 200, _ content: (inout JSONWriter) -> Void) -> StoreResponse {
        var writer = JSONWriter()
        writer.object(content)
        return StoreResponse(status: status, body: writer.text)
    }

    static func error(_ error: AppleError) -> StoreResponse {
        json(error.status) { object in
            object.member("errorCode", Int64(error.rawValue))
            object.member("errorMessage", error.message)
        }
    }

    /// An error of the store's own calls.
    static func problem(_ status: Int, _ reason: String) -> StoreResponse {
        json(status) { $0.member("error", reason) }
    }
}
