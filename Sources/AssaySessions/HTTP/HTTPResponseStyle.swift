import Assay
import AssayBytes
import AssayEntitlements
import AssayHTTP
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// What surrounds the result of a request in HTTP.
struct HTTPFraming: Sendable {
    /// Whether the result is one line of the response to a batch.
    var isLine = false
    /// Whether the connection ends after the response.
    var closes = false
    /// Whether the request is HEAD: the response has no body.
    var isHead = false
}

/// How the response to one request is written.
struct HTTPResponseStyle: Sendable {
    /// What the body has.
    enum Content: Sendable {
        /// The JSON of `assay verify`.
        case report
        /// The same without the payload.
        case verdict
        /// The JSON of verifyReceipt.
        case verifyReceipt
        /// The answer of Apple's endpoint to this request.
        case apple(VerifyReceiptQuery)
        /// The answer of OpenIAP's contract.
        case purchase(withPayload: Bool)
        /// The answer to a call of the services.
        case rpc(RPCForm)
        /// The answer to a retention request, made once it is verified.
        case retention(RetentionResponder)

        /// Whether it has the payload.
        var isReport: Bool {
            if case .report = self { true } else { false }
        }

        /// Whether it has the JSON of verifyReceipt.
        var isVerifyReceipt: Bool {
            switch self {
            case .verifyReceipt, .apple: true
            case .report, .verdict, .purchase, .rpc, .retention: false
            }
        }

        /// Whether errors have the form of Apple's endpoint as well.
        var isApple: Bool {
            if case .apple = self { true } else { false }
        }
    }

    var content = Content.report
    /// Makes the answer to a retention request that came as a call of the services.
    var retention: RetentionResponder?
    /// Whether the verification detects the kind of the evidence.
    var detectsKind = false
    /// Whether the request is a Fetch, whose failures can be those of another server.
    var isFetch = false
    /// What surrounds its result.
    var framing = HTTPFraming()
    /// The allowed origin of the page that made the request.
    var origin: String?
    /// The value of X-Correlation-Id, where the path has it.
    var correlationId: String?
    /// The trace that the request names; nil without one.
    var trace: RequestTrace?
}

extension HTTPResponseStyle {
    /// The same style, with what the request asks for.
    func answering(_ question: HTTPParameters) -> Self {
        var style = self
        style.content = question.content
        style.detectsKind = question.kind == nil
        return style
    }
}

extension HTTPResponseStyle: AnswerForm {
    var isOfApple: Bool { content.isApple }

    func isVerifyReceipt(_ call: VerifyCall) -> Bool {
        if case .rpc = content { return call.returnsVerifyReceiptJSON }
        return content.isVerifyReceipt
    }

    func append(
        _ verification: Verification, answering id: UInt64, _ call: VerifyCall,
        at now: Timestamp, by codec: MessageCodec, to output: inout [UInt8]
    ) throws(AnswerFault) {
        if detectsKind, let kind = verification.kind,
            let problem = call.expectations.problem(of: [kind])
        {
            throw .question(problem)
        }
        switch content {
        case .rpc(let form):
            if let retention {
                let message = try form.message(verification, to: retention, by: codec)
                form.append(message, to: &output)
            } else {
                form.append(verification, call, at: now, by: codec, to: &output)
            }
        case .report: output.append(line: VerificationReport(verification).json)
        case .verdict: output.append(line: VerificationReport(verification.withoutEvidence).json)
        case .verifyReceipt:
            output.append(line: verifyReceiptResponse(for: verification, requestDate: now))
        case .apple(let query):
            output.append(
                line: verifyReceiptResponse(for: verification, to: query, requestDate: now))
        case .purchase(let withPayload):
            output.append(line: verification.purchaseJSON(withPayload: withPayload, at: now))
        case .retention(let respond): output.append(line: try verification.answered(by: respond))
        }
    }

    func completion(of verification: Verification) -> (any StoreCompletion)? {
        guard case .apple(let query) = content else { return nil }
        return VerifyReceiptCompletion(of: verification, to: query)
    }

    func encode(
        _ entitlements: Entitlements, of items: [EvidenceItem], answering id: UInt64,
        _ call: ResolveCall, at now: Timestamp, by codec: MessageCodec
    ) -> EncodedAnswer {
        guard case .rpc(let form) = content else {
            return .encoded(entitlements.json(items).line)
        }
        return form.answer(form.message(entitlements, of: items, call, by: codec), to: id)
    }

    func encode(
        _ found: CustomerState, answering id: UInt64, _ call: FetchCall, at now: Timestamp,
        by codec: MessageCodec
    ) -> EncodedAnswer {
        guard case .rpc(let form) = content else {
            let json = found.entitlements.json(
                found.items, of: found.environment, revision: found.revision)
            return .encoded(json.line)
        }
        return form.answer(form.message(found, call, by: codec), to: id)
    }
}

extension RequestProtocol {
    /// How a request came whose answer has this content.
    init(_ method: HTTPHead.Method, _ content: HTTPResponseStyle.Content) {
        if case .rpc(let form) = content {
            self = form.framing.isConnect ? .connect : .grpc
            return
        }
        self =
            switch method {
            case .get: .httpGet
            case .head: .httpHead
            case .post: .httpPost
            case .options: .httpOptions
            case .put, .delete, .connect, .other: .httpOther
            }
    }
}

// MARK: Responses

extension HTTPResponseStyle {
    /// A response without its body, which has the result.
    var response: HTTPResponse { response(200, contentType) }

    private var contentType: String {
        if case .rpc(let form) = content { form.type } else { HTTPMediaType.jsonName }
    }

    /// A response with JSON. Like a line of `assay verify`, it ends with a line break.
    func response(_ status: Int = 200, json: [UInt8]) -> HTTPResponse {
        response(status, HTTPMediaType.jsonName, body: json.line)
    }

    /// A response that says why there is no result.
    func response(to problem: HTTPProblem) -> HTTPResponse {
        var fields: [HTTPResponse.Field] = []
        if let allow = problem.allow { fields.append(("Allow", allow)) }
        if problem.retryAfter > 0 {
            // Whole seconds, rounded up.
            fields.append(("Retry-After", String((problem.retryAfter + 999) / 1000)))
        }
        let problem = problem.naming(trace)
        if problem.status == 401 { fields.append(("WWW-Authenticate", "Bearer")) }
        switch content {
        case .rpc(let form):
            let status = RPCStatus(problem)
            guard !form.framing.hasFrames else {
                return response(200, form.type, body: form.body(status), fields)
            }
            return response(
                status.connectHTTPStatus, HTTPMediaType.jsonName, body: status.connectJSON.line,
                fields)
        case .apple:
            return response(
                problem.statusOfApple, HTTPMediaType.jsonName, body: problem.appleJSON.line, fields)
        case .purchase:
            return response(
                problem.status, HTTPMediaType.jsonName, body: problem.purchaseJSON.line, fields)
        case .report, .verdict, .verifyReceipt, .retention:
            return response(
                problem.status, HTTPMediaType.problemName, body: problem.json.line, fields)
        }
    }

    /// A response with the fields that the request asks for.
    func response(
        _ status: Int, _ contentType: String?, body: [UInt8] = [],
        _ fields: [HTTPResponse.Field] = []
    ) -> HTTPResponse {
        var response = HTTPResponse(status, contentType: contentType, fields: fields, body: body)
        if let origin {
            // Some clients expect the status of a call in the head.
            if case .rpc = content {
                response.fields.append(("Access-Control-Expose-Headers", RPCStatus.fieldNames))
            }
            response.fields.append(("Access-Control-Allow-Origin", origin))
            response.fields.append(("Vary", "Origin"))
        }
        if let correlationId { response.fields.append(("X-Correlation-Id", correlationId)) }
        return response
    }
}

extension [UInt8] {
    /// JSON as a line.
    var line: [UInt8] {
        var line = self
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// Appends JSON as a line, without a copy of it.
    fileprivate mutating func append(line json: [UInt8]) {
        self += json
        append(UInt8(ascii: "\n"))
    }
}

extension Verification {
    fileprivate var withoutEvidence: Verification {
        var copy = self
        copy.evidence = nil
        return copy
    }
}
