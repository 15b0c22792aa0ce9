import AssayModels
import AssayWire

/// Responses to rejected calls, and to streams that cannot continue.
extension ResponseHead {
    /// A connection-level error response (id 0).
    static func connection(_ status: Status, _ message: String, retryAfter: UInt32 = 0) -> Self {
        ResponseHead(
            id: connectionId, status: status, message: message,
            retryAfterMilliseconds: retryAfter)
    }

    /// Retry delay after a shortage of this server.
    static let retryMilliseconds: UInt32 = 100
    /// Retry delay when another instance, or this one after its restart, takes the request.
    static let retryElsewhereMilliseconds: UInt32 = 1_000

    static let draining = connection(
        .unavailable, "the server is draining; requests that it has received are still answered",
        retryAfter: retryElsewhereMilliseconds)

    static let connectionMemoryExhausted = connection(
        .resourceExhausted, "closed: the server holds as much as it takes",
        retryAfter: retryMilliseconds)

    static let forbiddenUser = connection(
        .permissionDenied, "the server does not serve this user")

    static let forbiddenClient = connection(
        .permissionDenied, "the server does not serve the client that the certificate names")

    static let speaksTLS = connection(.invalidArgument, "this address speaks TLS")

    static let idle = connection(.unavailable, "closed: the connection was idle")

    static let slowFrame = connection(
        .deadlineExceeded, "closed: a frame came slower than the server waits for")

    static let endedWithinFrame = connection(
        .invalidArgument, "the stream ended within a frame")

    static func unavailable(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .unavailable, message: "the server is draining",
            retryAfterMilliseconds: retryElsewhereMilliseconds)
    }

    static func deadlineExceeded(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .deadlineExceeded,
            message: "the request's time was over before its turn")
    }

    static func duplicate(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .alreadyExists,
            message: "a request with this id is in flight on this connection")
    }

    /// The response to a frame that cannot be read. Connection-level, because the frame has no
    /// usable id.
    static func fault(_ fault: FrameFault) -> Self {
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
            message: "the request has no call that this server knows")
    }

    static func unknownKind(_ id: UInt64) -> Self {
        ResponseHead(
            id: id, status: .unimplemented,
            message: "the evidence is of no kind that this server knows")
    }

    static func unknownApp(_ id: UInt64, isNamed: Bool) -> Self {
        ResponseHead(
            id: id, status: .notFound,
            message: isNamed
                ? "the server has no such app entry"
                : "the request names no app entry and the server has no default one")
    }

    static func bodyTooLarge(_ id: UInt64, _ count: Int, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the body has \(count) bytes; evidence of this kind can have \(limit)")
    }

    /// Rejects evidence for lack of memory.
    ///
    /// - Parameter mayFit: whether the evidence fits when memory is free.
    static func memoryExhausted(_ id: UInt64, mayFit: Bool = true) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: mayFit
                ? "the server holds as much evidence as it takes"
                : "the evidence is larger than all that the server may hold",
            retryAfterMilliseconds: mayFit ? retryMilliseconds : 0)
    }

    static func tooManyInFlight(_ id: UInt64, limit: Int) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the connection has \(limit) requests in flight, as many as it may have",
            retryAfterMilliseconds: retryMilliseconds)
    }

    static func overloaded(_ id: UInt64, retryAfter: UInt32) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the server has more requests waiting than it can answer in time",
            retryAfterMilliseconds: max(retryAfter, retryMilliseconds))
    }

    static func tooManyUnknownChains(_ id: UInt64, retryAfter: UInt32) -> Self {
        ResponseHead(
            id: id, status: .resourceExhausted,
            message: "the certificate chain is new here, and too many such chains are waiting",
            retryAfterMilliseconds: max(retryAfter, retryMilliseconds))
    }
}
