import AssayModels
import AssayTelemetry
package import AssayWire

/// Responses to rejected calls, and to streams that cannot continue.
extension ResponseHead {
    /// A connection-level error response (id 0).
    static func connection(_ status: Status, _ message: String, retryAfter: UInt32 = 0)
        -> Self
    {
        ResponseHead(
            id: connectionId, status: status, message: message,
            retryAfterMilliseconds: retryAfter)
    }

    /// Retry delay after a shortage of this server.
    package static let retryMilliseconds: UInt32 = 100
    /// Retry delay when another instance, or this one after its restart, takes the request.
    static let retryElsewhereMilliseconds: UInt32 = 1_000

    package static let draining = connection(
        .unavailable, "the server is draining; it still answers the requests that it received",
        retryAfter: retryElsewhereMilliseconds)

    package static let connectionMemoryExhausted = connection(
        .resourceExhausted, "closed: the server's memory for connections is full",
        retryAfter: retryMilliseconds)

    package static let forbiddenUser = connection(
        .permissionDenied, "the server does not serve this user")

    package static let forbiddenClient = connection(
        .permissionDenied, "the server does not serve the client named in the certificate")

    package static let speaksTLS = connection(.invalidArgument, "this address requires TLS")

    package static let idle = connection(.unavailable, "closed: the connection was idle")

    package static let slowRequest = connection(
        .deadlineExceeded, "closed: a request arrived too slowly")

    package static let endedWithinRequest = connection(
        .invalidArgument, "the stream ended inside a request")

    package static func slow(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .deadlineExceeded, message: "the request arrived too slowly")
    }

    package static func unavailable(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .unavailable, message: "the server is draining",
            retryAfterMilliseconds: retryElsewhereMilliseconds)
    }

    package static func deadlineExceeded(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .deadlineExceeded,
            message: "the deadline passed before the request was answered")
    }

    /// A request that the server accepted and never answered: a defect of the server.
    package static func lost(_ id: UInt64) -> Self {
        ResponseHead(id: id, status: .internal, message: "the server lost the request")
    }

    static func duplicate(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .alreadyExists,
            message: "a request with this id is already in flight on this connection")
    }

    /// The response to a frame that cannot be read. Connection-level, because the frame has no
    /// usable id.
    package static func fault(_ fault: FrameFault) -> Self {
        switch fault {
        case .frameTooLarge, .headTooLarge: connection(.resourceExhausted, fault.description)
        case .frameTooShort, .headBeyondFrame, .foreign:
            connection(.invalidArgument, fault.description)
        }
    }

    static let reservedId = ResponseHead(
        id: connectionId, status: .invalidArgument, message: "a request's id can't be 0")

    static func unknownCall(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .unimplemented,
            message: "the request has no call, or one that is unknown to this server")
    }

    static func unknownKind(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .unimplemented,
            message: "the kind of evidence is missing, or unknown to this server")
    }

    static func unknownApp(_ id: UInt64, isNamed: Bool) -> Self {
        ResponseHead(
            id: id, status: .notFound,
            message: isNamed
                ? "the server has no such app entry"
                : "the request names no app entry, and the server has no default entry")
    }

    static func bodyTooLarge(_ id: UInt64, _ count: Int, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the body has \(count) bytes; the limit is \(limit)")
    }

    package static func evidenceTooLarge(_ id: UInt64, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the evidence has more bytes than the limit of \(limit), limits.frame-bytes")
    }

    static func tooManyItems(_ id: UInt64, _ count: Int, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the request has \(count) items; the limit is \(limit)")
    }

    static func noItems(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument, message: "the request has no items to resolve")
    }

    static func emptyExpectation(_ id: UInt64, _ problem: EmptyExpectation) -> Self {
        ResponseHead(id: id, status: .invalidArgument, message: problem.description)
    }

    static func emptyItem(_ id: UInt64, _ index: Int) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument, message: "item \(index) has no bytes")
    }

    static func wrongLengths(_ id: UInt64, _ count: Int, bodyBytes: Int) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "the items have \(count) bytes together; the body has \(bodyBytes)")
    }

    static func tooManyDevices(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "the request names more than \(Expectations.otherDeviceLimit) other devices")
    }

    /// The question has a value that is wrong whatever the evidence is.
    package static func invalidQuestion(_ id: UInt64, _ problem: String) -> Self {
        ResponseHead(id: id, status: .invalidArgument, message: problem)
    }

    package static func fetchNotConfigured(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .failedPrecondition,
            message: "the server does not ask the App Store for this app: Fetch is not configured")
    }

    static func noTransaction(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "the request names no transaction; evidence that names one will do as well")
    }

    static func noTransactionInEvidence(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "the evidence names no transaction: a receipt without purchases has none")
    }

    static func idBesideEvidence(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "a transaction id and evidence exclude each other: send one of them")
    }

    static func notTransaction(_ id: UInt64, _ problem: String) -> Self {
        ResponseHead(id: id, status: .invalidArgument, message: problem)
    }

    static func unknownList(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .invalidArgument,
            message: "the request asks for a list that is unknown to this server")
    }

    static func tooManyFetches(_ id: UInt64, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the server runs \(limit) fetches at a time, and other connections need "
                + "the rest",
            retryAfterMilliseconds: retryElsewhereMilliseconds)
    }

    static func fetchTimedOut(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .deadlineExceeded,
            message: "the deadline passed before the App Store had answered")
    }

    static func fetchAbandoned(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .cancelled,
            message: "the client ended the connection before the App Store had answered")
    }

    package static func answerTooLarge(_ id: UInt64, _ count: Int, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the answer has \(count) bytes; the limit of a frame is \(limit)")
    }

    /// Rejects evidence for lack of memory.
    ///
    /// - Parameter canFit: whether the evidence fits when memory is free.
    package static func memoryExhausted(_ id: UInt64, canFit: Bool = true) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: canFit
                ? "the server's memory for evidence is full"
                : "the evidence is larger than the server's memory for evidence",
            retryAfterMilliseconds: canFit ? retryMilliseconds : 0)
    }

    static func tooManyInFlight(_ id: UInt64, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the connection has \(limit) requests in flight, which is its limit",
            retryAfterMilliseconds: retryMilliseconds)
    }

    static func overloaded(_ id: UInt64, retryAfter: UInt32) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the server is overloaded: the request would wait too long",
            retryAfterMilliseconds: max(retryAfter, retryMilliseconds))
    }

    static func tooManyUnknownChains(_ id: UInt64, retryAfter: UInt32) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the certificate chain is unknown, and the queue of unknown chains is full",
            retryAfterMilliseconds: max(retryAfter, retryMilliseconds))
    }
}
