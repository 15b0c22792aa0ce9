import Assay
import AssayBytes
import AssayHTTP
import AssayService
import AssayTelemetry
import AssayWire

/// An error response, as `application/problem+json` (RFC 9457).
struct HTTPProblem: Error, Sendable {
    /// The status code of HTTP.
    var status: Int
    /// The status that the binary protocol has for the same reason.
    var code: Status
    var detail: String
    /// Milliseconds until a retry can succeed; 0 if a retry does not help.
    var retryAfter: UInt32 = 0
    /// Apple's `errorCode`, where the App Store refused a Fetch.
    var appStoreErrorCode: Int64?
    /// The trace of the request, if it names one.
    var traceId: String?
    /// The member of the body that is at fault.
    var member: String?
    /// The code of gRPC, where its table of status codes has another one for the reason.
    var grpcCode: Status?
    /// The methods of the path, if the request has another one.
    var allow: String?

    init(_ status: Int, _ code: Status = .invalidArgument, _ detail: String) {
        self.status = status
        self.code = code
        self.detail = detail
    }

    init(_ fault: HTTPFault) {
        self.init(fault.status, .invalidArgument, fault.description)
        if fault.status == 431 || fault.status == 414 { code = .resourceExhausted }
    }

    /// Why a request that was verified has no result.
    init(_ fault: AnswerFault) {
        switch fault {
        case .question(let problem): self.init(ResponseHead.invalidQuestion(0, problem))
        case .signing(let failure): self.init(failure)
        case .refused(let request):
            self.init(
                403, .permissionDenied,
                "the request is \(request.verdict.name): \(request.detail)")
        }
    }

    /// The same, with the trace of the request.
    func naming(_ trace: RequestTrace?) -> HTTPProblem {
        guard let trace else { return self }
        var problem = self
        problem.traceId = trace.context.traceId
        return problem
    }

    /// A refusal that gRPC gives another code.
    func grpc(_ code: Status) -> HTTPProblem {
        var problem = self
        problem.grpcCode = code
        return problem
    }

    /// The refusal of a call.
    ///
    /// - Parameter isArriving: whether the request is not complete yet.
    /// - Parameter isFetch: whether the App Store was asked.
    init(_ head: ResponseHead, isArriving: Bool = false, isFetch: Bool = false) {
        status =
            switch head.status {
            case .notFound: 404
            case .permissionDenied: 403
            case .unauthenticated: 401
            case .resourceExhausted: head.retryAfterMilliseconds == 0 ? 413 : 429
            case .failedPrecondition where isFetch: 500
            case .dataLoss where isFetch: 502
            case .deadlineExceeded where isFetch && !isArriving: 504
            case .deadlineExceeded: isArriving ? 408 : 503
            case .unavailable: 503
            case .ok, .invalidArgument, .alreadyExists, .failedPrecondition, .outOfRange,
                .unimplemented:
                400
            case .cancelled, .unknown, .aborted, .internal, .dataLoss: 500
            }
        code = head.status
        detail = head.message
        retryAfter = head.retryAfterMilliseconds
        appStoreErrorCode = head.appStoreErrorCode
        // A request that waited too long can be repeated.
        if status == 503, retryAfter == 0 { retryAfter = ResponseHead.retryMilliseconds }
    }

    /// The same refusal as a response of the binary protocol, for the counters.
    func head(_ id: UInt64) -> ResponseHead {
        ResponseHead(
            id: id, status: code, message: detail, retryAfterMilliseconds: retryAfter)
    }

    /// The form of Apple's endpoint: a status, and what is wrong beside it.
    var appleJSON: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("status", appleStatus.rawValue)
            object.member("detail", detail)
        }
        return writer.text
    }

    /// The status code with the form of Apple's endpoint: it answered an unusable request with 200,
    /// and clients take another status for an outage.
    var statusOfApple: Int { [400, 405, 413, 415].contains(status) ? 200 : status }

    /// The status of Apple's endpoint.
    private var appleStatus: VerifyReceiptStatus {
        switch status {
        case 200: .wrongSecret
        case 405: .notPost
        case 400, 413, 415: .malformed
        // Try again.
        case 408, 429, 503: .unavailable
        // No app entry, or no permission: no defect of the receipt.
        default: .internalError
        }
    }

    var json: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { object in
            object.member("type", "about:blank")
            object.member("title", HTTPStatus.reason(status))
            object.member("status", Int64(status))
            object.member("detail", detail)
            object.member("code", code.name)
            if retryAfter > 0 { object.member("retryAfterMs", Int64(retryAfter)) }
            object.member("appStoreErrorCode", appStoreErrorCode)
            object.member("traceId", traceId)
        }
        return writer.text
    }
}

extension HTTPFault {
    /// The cause for the log and the counter of faults.
    var logReason: StaticString {
        switch self {
        case .headTooLarge, .targetTooLong, .tooManyFields: "an HTTP head above its limits"
        case .invalidHost: "an HTTP request without a valid Host"
        default: "invalid HTTP request"
        }
    }
}

extension HTTPProblem {
    static func unknownPath(_ paths: [String]) -> Self {
        HTTPProblem(
            404, .unimplemented, "unknown path; the server has " + paths.joined(separator: ", "))
    }

    static func wrongMethod(allow: String) -> Self {
        var problem = HTTPProblem(405, .unimplemented, "the methods of this path: " + allow)
        problem.allow = allow
        return problem
    }

    static let noProxy = HTTPProblem(
        501, .unimplemented, "the server is no proxy: it has no CONNECT")

    static let compressed = HTTPProblem(
        415, .invalidArgument, "a body with Content-Encoding is not accepted: send it uncompressed")

    static func wrongType(_ types: String) -> Self {
        HTTPProblem(415, .invalidArgument, "the Content-Type of this path: " + types)
    }

    static let emptyBody = HTTPProblem(400, .invalidArgument, "the body is empty")

    static func bodyTooLarge(limit: Int) -> Self {
        HTTPProblem(
            413, .resourceExhausted, "the body has more bytes than the limit of \(limit)")
    }

    static func evidenceTooLarge(limit: Int) -> Self {
        HTTPProblem(ResponseHead.evidenceTooLarge(0, limit: limit))
    }

    static let otherSite = HTTPProblem(
        403, .permissionDenied,
        "a page of an origin that is not in http.allowed-origins made this request")

    static let otherHost = HTTPProblem(
        403, .permissionDenied,
        "the name in Host is not served here; http.hosts of the configuration names more")

    static let wrongPassword = HTTPProblem(
        200, .permissionDenied, "the password is not the shared secret")

    static let queryBesideJSON = HTTPProblem(
        400, .invalidArgument, "a JSON body has the members; the query is for raw evidence")

    static let invalidQuery = HTTPProblem(
        400, .invalidArgument, "the query is not name=value pairs, percent-encoded")
}

extension Status {
    /// gRPC's name.
    var name: String {
        switch self {
        case .ok: "OK"
        case .cancelled: "CANCELLED"
        case .unknown: "UNKNOWN"
        case .invalidArgument: "INVALID_ARGUMENT"
        case .deadlineExceeded: "DEADLINE_EXCEEDED"
        case .notFound: "NOT_FOUND"
        case .alreadyExists: "ALREADY_EXISTS"
        case .permissionDenied: "PERMISSION_DENIED"
        case .resourceExhausted: "RESOURCE_EXHAUSTED"
        case .failedPrecondition: "FAILED_PRECONDITION"
        case .aborted: "ABORTED"
        case .outOfRange: "OUT_OF_RANGE"
        case .unimplemented: "UNIMPLEMENTED"
        case .internal: "INTERNAL"
        case .unavailable: "UNAVAILABLE"
        case .dataLoss: "DATA_LOSS"
        case .unauthenticated: "UNAUTHENTICATED"
        }
    }
}
