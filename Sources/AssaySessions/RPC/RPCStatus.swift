import AssayBytes
import AssayWire

/// Why a call was not performed, in the words of its protocol. The one place that maps refusals to
/// the codes of gRPC, the names of Connect, and its statuses of HTTP.
struct RPCStatus: Equatable, Sendable {
    var code: Status
    var message: String
    var details: [Detail] = []
    /// The code of gRPC; that of Connect is `code`.
    private var grpcCode: Status
    /// Milliseconds until a retry can succeed; 0 without a known time.
    private var retryAfter: UInt32 = 0
    /// The status of HTTP, where the request was none of the protocol.
    private var httpStatus: Int?

    /// A message of `google.rpc`, for programs.
    struct Detail: Equatable, Sendable {
        let type: String
        let value: [UInt8]
    }

    init(_ problem: HTTPProblem) {
        code = problem.code
        grpcCode = problem.grpcCode ?? problem.code
        message = problem.detail
        retryAfter = problem.retryAfter
        if problem.retryAfter > 0 { details.append(.retry(after: problem.retryAfter)) }
        if let code = problem.appStoreErrorCode { details.append(.appStoreError(code)) }
        if let id = problem.traceId { details.append(.request(ofTrace: id)) }
        // Another method or media type: no client of the protocol sent it.
        if problem.status == 405 || problem.status == 415 { httpStatus = problem.status }
    }

    // MARK: Connect

    /// The status of HTTP that Connect gives each code.
    var connectHTTPStatus: Int {
        if let httpStatus { return httpStatus }
        return switch code {
        case .ok: 200
        case .invalidArgument, .failedPrecondition, .outOfRange: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .alreadyExists, .aborted: 409
        case .resourceExhausted: 429
        case .cancelled: 499
        case .unknown, .internal, .dataLoss: 500
        case .unimplemented: 501
        case .unavailable: 503
        case .deadlineExceeded: 504
        }
    }

    /// Connect's error, which is the body of the response.
    var connectJSON: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { object in
            object.member("code", code.connectName)
            object.member("message", message)
            guard !details.isEmpty else { return }
            object.array("details") { list in
                for detail in details {
                    list.object { object in
                        object.member("type", detail.type)
                        object.member("value", Self.unpadded(detail.value))
                    }
                }
            }
        }
        return writer.text
    }

    /// The content of the last frame of a stream.
    var connectEndJSON: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { object in
            if code != .ok { object.member("error", raw: connectJSON) }
        }
        return writer.text
    }

    // MARK: gRPC

    /// The trailers of gRPC.
    var fields: [(name: String, value: String)] {
        var fields = [("grpc-status", String(grpcCode.rawValue))]
        if httpStatus == 415 { fields.append(Self.acceptedEncodings) }
        // gRFC A6.
        if retryAfter > 0 { fields.append(("grpc-retry-pushback-ms", String(retryAfter))) }
        if code != .ok {
            let message = String(decoding: percentEncodedMessage, as: UTF8.self)
            fields.append(("grpc-message", message))
        }
        if !details.isEmpty {
            fields.append(("grpc-status-details-bin", Self.unpadded(detailsMessage)))
        }
        return fields
    }

    /// The trailers of gRPC-Web: a line each.
    var trailers: [UInt8] { fields.flatMap { "\($0.name): \($0.value)\r\n".utf8 } }

    /// The fields that a page of another origin can read.
    static let fieldNames = "Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin"

    /// The compressions of requests, which each answer of gRPC names.
    static let acceptedEncodings = (name: "grpc-accept-encoding", value: "identity,gzip")

    static let acceptedConnectEncodings = (name: "connect-accept-encoding", value: "gzip")

    static let ok = RPCStatus(code: .ok, message: "")

    private init(code: Status, message: String) {
        self.code = code
        grpcCode = code
        self.message = message
    }

    /// The value of `grpc-message`: printable ASCII, and other bytes as %XX.
    var percentEncodedMessage: [UInt8] {
        var text: [UInt8] = []
        for byte in message.utf8 {
            if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%") {
                text.append(byte)
            } else {
                text += "%\(String(byte, width: 2, radix: 16).uppercased())".utf8
            }
        }
        return text
    }

    /// A `google.rpc.Status`, the value of `grpc-status-details-bin`.
    var detailsMessage: [UInt8] {
        var status = MessageBuilder()
        status.set(1, varint: UInt64(grpcCode.rawValue))
        status.set(2, text: message)
        for detail in details {
            // A google.protobuf.Any.
            var any = MessageBuilder()
            any.set(1, text: "type.googleapis.com/" + detail.type)
            any.set(2, bytes: detail.value)
            status.set(3, bytes: any.bytes)
        }
        return status.bytes
    }

    /// Base64 without padding, as both protocols want binary values.
    private static func unpadded(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes.span)
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension RPCStatus.Detail {
    /// A `google.rpc.RetryInfo`.
    fileprivate static func retry(after milliseconds: UInt32) -> Self {
        var delay = MessageBuilder()
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        if seconds > 0 { delay.set(1, varint: UInt64(seconds)) }
        if rest > 0 { delay.set(2, varint: UInt64(rest) * 1_000_000) }
        var info = MessageBuilder()
        info.set(1, bytes: delay.bytes)
        return Self(type: "google.rpc.RetryInfo", value: info.bytes)
    }

    /// A `google.rpc.RequestInfo` with the id of the trace.
    fileprivate static func request(ofTrace id: String) -> Self {
        var info = MessageBuilder()
        info.set(1, text: id)
        return Self(type: "google.rpc.RequestInfo", value: info.bytes)
    }

    /// A `google.rpc.ErrorInfo` with Apple's `errorCode`.
    fileprivate static func appStoreError(_ code: Int64) -> Self {
        var entry = MessageBuilder()
        entry.set(1, text: "app_store_error_code")
        entry.set(2, text: String(code))
        var info = MessageBuilder()
        info.set(1, text: "APP_STORE_ERROR")
        info.set(2, text: "assay.v1")
        info.set(3, bytes: entry.bytes)
        return Self(type: "google.rpc.ErrorInfo", value: info.bytes)
    }
}

extension Status {
    /// Connect's name. It writes one l where gRPC writes two.
    var connectName: String { self == .cancelled ? "canceled" : name.lowercased() }
}
