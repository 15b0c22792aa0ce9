import AssayBytes
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

@Suite("Errors of Connect and gRPC-Web") struct RPCStatusTests {
    /// The table of docs/grpc.md: the code, Connect's name and its status of HTTP.
    static let codes: [(Status, String, Int)] = [
        (.ok, "ok", 200), (.cancelled, "canceled", 499), (.unknown, "unknown", 500),
        (.invalidArgument, "invalid_argument", 400),
        (.deadlineExceeded, "deadline_exceeded", 504), (.notFound, "not_found", 404),
        (.alreadyExists, "already_exists", 409), (.permissionDenied, "permission_denied", 403),
        (.resourceExhausted, "resource_exhausted", 429),
        (.failedPrecondition, "failed_precondition", 400), (.aborted, "aborted", 409),
        (.outOfRange, "out_of_range", 400), (.unimplemented, "unimplemented", 501),
        (.internal, "internal", 500), (.unavailable, "unavailable", 503),
        (.dataLoss, "data_loss", 500), (.unauthenticated, "unauthenticated", 401),
    ]

    @Test("each code has Connect's name and status, and gRPC's number")
    func table() {
        #expect(Self.codes.map(\.0) == Status.allCases)
        for (code, name, httpStatus) in Self.codes {
            let status = RPCStatus(HTTPProblem(400, code, "why"))
            #expect(status.connectHTTPStatus == httpStatus)
            if code != .ok {
                #expect(status.connectJSON == Array(#"{"code":"\#(name)","message":"why"}"#.utf8))
                #expect(
                    status.trailers
                        == Array("grpc-status: \(code.rawValue)\r\ngrpc-message: why\r\n".utf8))
            }
        }
        #expect(RPCStatus.ok.trailers == Array("grpc-status: 0\r\n".utf8))
    }

    @Test("a request of no client of the protocol keeps its status of HTTP")
    func otherRequests() {
        #expect(RPCStatus(.wrongMethod(allow: "POST")).connectHTTPStatus == 405)
        #expect(RPCStatus(.wrongType("x")).connectHTTPStatus == 415)
        #expect(RPCStatus(.bodyTooLarge(limit: 1)).connectHTTPStatus == 429)
    }

    @Test("grpc-message has printable ASCII, and other bytes as %XX")
    func messages() {
        func encoded(_ text: String) -> String {
            let status = RPCStatus(HTTPProblem(400, .internal, text))
            return String(decoding: status.percentEncodedMessage, as: UTF8.self)
        }
        #expect(encoded("a \"b\" ~") == "a \"b\" ~")
        #expect(encoded("100%") == "100%25")
        #expect(encoded("é\r\n\u{7F}\u{0}") == "%C3%A9%0D%0A%7F%00")
    }

    @Test("RequestInfo has the trace of the request")
    func trace() throws {
        let problem = HTTPProblem(503, .unavailable, "why")
        let trace = try #require(TraceContext(TraceTests.text))
        #expect(RPCStatus(problem.naming(nil)).details.isEmpty)
        let details = RPCStatus(problem.naming(RequestTrace(trace, via: .grpc))).details
        #expect(details.map(\.type) == ["google.rpc.RequestInfo"])
        #expect(
            details.first.flatMap { RPCBytes.bytes(1, of: $0.value) } == Array(trace.traceId.utf8))
    }

    @Test("RetryInfo and ErrorInfo are among the details")
    func details() throws {
        var problem = HTTPProblem(429, .resourceExhausted, "busy")
        problem.retryAfter = 1_250
        problem.appStoreErrorCode = 4_040_010
        let status = RPCStatus(problem)
        // google.rpc.RetryInfo { retry_delay { seconds: 1, nanos: 250000000 } }
        let retry: [UInt8] = [0x0A, 0x07, 0x08, 0x01, 0x10, 0x80, 0xE5, 0x9A, 0x77]
        #expect(status.details.first == .init(type: "google.rpc.RetryInfo", value: retry))
        let info = try #require(status.details.last)
        #expect(info.type == "google.rpc.ErrorInfo")
        #expect(RPCBytes.bytes(1, of: info.value) == Array("APP_STORE_ERROR".utf8))
        #expect(RPCBytes.bytes(2, of: info.value) == Array("assay.v1".utf8))
        let entry = try #require(RPCBytes.bytes(3, of: info.value))
        #expect(RPCBytes.bytes(1, of: entry) == Array("app_store_error_code".utf8))
        #expect(RPCBytes.bytes(2, of: entry) == Array("4040010".utf8))

        let json = try JSONDocument.parse(status.connectJSON, limit: .max).root
        let first = try #require(json["details"]?.elements?.first { _ in true })
        #expect(first["type"]?.string == "google.rpc.RetryInfo")
        #expect(first["value"]?.string == "CgcIARCA5Zp3")

        #expect(RPCBytes.bytes(2, of: status.detailsMessage) == Array("busy".utf8))
        let any = try #require(RPCBytes.bytes(3, of: status.detailsMessage))
        #expect(
            RPCBytes.bytes(1, of: any) == Array("type.googleapis.com/google.rpc.RetryInfo".utf8))
        #expect(RPCBytes.bytes(2, of: any) == retry)
        let trailers = String(decoding: status.trailers, as: UTF8.self)
        let base64 = String(decoding: Base64.encode(status.detailsMessage.span), as: UTF8.self)
        let digits = base64.prefix { $0 != "=" }
        #expect(trailers.contains("grpc-status-details-bin: \(digits)\r\n"))
    }
}
