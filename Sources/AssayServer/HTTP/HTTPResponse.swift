import Assay
import AssayBytes
import AssayEntitlements
import AssayHTTP
import AssayModels
import AssayWire

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
    /// Whether it is one line of the response to a batch.
    var isLine = false
    /// Whether it leaves on a stream of HTTP/2: without a chunk around each line.
    var isHTTP2 = false
    /// Whether the connection ends after the response.
    var closes = false
    /// Whether the request is HEAD: the response has no body.
    var isHead = false
    /// The allowed origin of the page that made the request.
    var origin: String?
    /// The value of X-Correlation-Id, where the path has it.
    var correlationId: String?
}

extension HTTPResponseStyle {
    /// The format with what the request asks for.
    func answering(_ question: HTTPParameters) -> Self {
        var format = self
        format.content = question.content
        format.detectsKind = question.kind == nil
        return format
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
    ) {
        if detectsKind, let kind = verification.kind,
            let problem = call.expectations.problem(of: [kind])
        {
            return HTTPResponse.append(
                HTTPProblem(.invalidQuestion(id, problem)), self, at: now, to: &output)
        }
        let body: [UInt8]
        switch content {
        case .rpc(let form):
            do throws(HTTPProblem) {
                let message =
                    if let retention {
                        try form.message(verification, to: retention, by: codec)
                    } else {
                        form.message(verification, call, at: now, by: codec)
                    }
                HTTPResponse.append(message, form, self, at: now, to: &output)
            } catch {
                HTTPResponse.append(error, self, at: now, to: &output)
            }
            return
        case .report: body = VerificationReport(verification).json
        case .verdict: body = VerificationReport(verification.withoutEvidence).json
        case .verifyReceipt: body = verifyReceiptResponse(for: verification, requestDate: now)
        case .apple(let query):
            body = verifyReceiptResponse(for: verification, to: query, requestDate: now)
        case .purchase(let withPayload):
            body = HTTPResponse.purchaseJSON(verification, withPayload: withPayload, at: now)
        case .retention(let respond):
            return append(verification, to: respond, at: now, output: &output)
        }
        HTTPResponse.append(200, json: body, self, at: now, to: &output)
    }

    func encode(
        _ entitlements: Entitlements, of items: [EvidenceItem], answering id: UInt64,
        _ call: ResolveCall, at now: Timestamp, by codec: MessageCodec
    ) -> EncodedAnswer {
        if case .rpc(let form) = content {
            return encode(form.message(entitlements, of: items, call, by: codec), form, id, at: now)
        }
        return encode(entitlements.json(items), at: now)
    }

    func encode(
        _ found: CustomerState, answering id: UInt64, _ call: FetchCall, at now: Timestamp,
        by codec: MessageCodec
    ) -> EncodedAnswer {
        if case .rpc(let form) = content {
            return encode(form.message(found, call, by: codec), form, id, at: now)
        }
        return encode(
            found.entitlements.json(found.items, of: found.environment, revision: found.revision),
            at: now)
    }

    private func encode(
        _ message: [UInt8], _ form: RPCForm, _ id: UInt64, at now: Timestamp
    ) -> EncodedAnswer {
        let limit = FrameLimits.response.frameBytes
        guard message.count <= limit else {
            return .refused(.answerTooLarge(id, message.count, limit: limit))
        }
        var response: [UInt8] = []
        HTTPResponse.append(message, form, self, at: now, to: &response)
        return .encoded(response)
    }

    private func encode(_ json: [UInt8], at now: Timestamp) -> EncodedAnswer {
        var response: [UInt8] = []
        HTTPResponse.append(200, json: json, self, at: now, to: &response)
        return .encoded(response)
    }
}

/// Writes responses.
enum HTTPResponse {
    static func append(
        _ problem: HTTPProblem, _ format: HTTPResponseStyle, at now: Timestamp,
        to output: inout [UInt8]
    ) {
        var fields = ""
        if let allow = problem.allow { fields += "Allow: \(allow)\r\n" }
        if problem.retryAfter > 0 {
            // Whole seconds, rounded up.
            fields += "Retry-After: \((problem.retryAfter + 999) / 1000)\r\n"
        }
        if problem.status == 401 { fields += "WWW-Authenticate: Bearer\r\n" }
        if case .rpc(let form) = format.content {
            if form.item != nil { return output += form.body(form.message(problem)) }
            return append(
                RPCStatus(problem), form, fields: fields, format, at: now, to: &output)
        }
        let (status, type, body) =
            switch format.content {
            case .apple: (problem.statusOfApple, "application/json", problem.appleJSON)
            case .purchase: (problem.status, "application/json", problem.purchaseJSON)
            case .report, .verdict, .verifyReceipt, .rpc, .retention:
                (problem.status, "application/problem+json", problem.json)
            }
        append(status, type: type, body, fields: fields, format, at: now, to: &output)
    }

    /// Appends a response with JSON. Like a line of `assay verify`, it ends with a line break.
    static func append(
        _ status: Int, json: [UInt8], _ format: HTTPResponseStyle, at now: Timestamp,
        to output: inout [UInt8]
    ) {
        append(
            status, type: "application/json", json, fields: "", format, at: now, to: &output)
    }

    /// Appends a response with JSON that has its line break.
    static func append(
        document: [UInt8], _ format: HTTPResponseStyle, at now: Timestamp, to output: inout [UInt8]
    ) {
        append(
            200, type: "application/json", document, fields: "", format, isText: false, at: now,
            to: &output)
    }

    /// - Parameter fields: further fields, each with its line break.
    /// - Parameter isText: whether the body gets a line break at its end.
    static func append(
        _ status: Int, type: String, _ body: [UInt8], fields: String, _ format: HTTPResponseStyle,
        isText: Bool = true, at now: Timestamp, to output: inout [UInt8]
    ) {
        output.reserveCapacity(output.count + body.count + fields.utf8.count + usualHeadBytes)
        guard !format.isLine else { return appendLine(body, format, to: &output) }
        output += "HTTP/1.1 ".utf8
        output += String(status).utf8
        output.append(UInt8(ascii: " "))
        output += HTTPStatus.reason(status).utf8
        output += "\r\nDate: ".utf8
        HTTPDate.append(secondsSince1970: now.seconds, to: &output)
        if status != 204 {
            output += "\r\nContent-Type: ".utf8
            output += type.utf8
            output += "\r\nContent-Length: ".utf8
            output += String(body.count + (isText ? 1 : 0)).utf8
        }
        output += "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n".utf8
        output += fields.utf8
        if let origin = format.origin {
            output += "Access-Control-Allow-Origin: ".utf8
            output += origin.utf8
            output += "\r\nVary: Origin\r\n".utf8
        }
        if let id = format.correlationId { output += "X-Correlation-Id: \(id)\r\n".utf8 }
        if format.closes { output += "Connection: close\r\n".utf8 }
        output += "\r\n".utf8
        if status != 204, !format.isHead {
            output += body
            if isText { output.append(UInt8(ascii: "\n")) }
        }
    }

    // MARK: Batches

    /// Appends the head of the response to a batch, whose lines follow as chunks.
    static func appendHeadOfLines(
        _ format: HTTPResponseStyle, at now: Timestamp, to output: inout [UInt8]
    ) {
        output += "HTTP/1.1 200 OK\r\nDate: ".utf8
        HTTPDate.append(secondsSince1970: now.seconds, to: &output)
        output += "\r\nContent-Type: \(HTTPMediaType.linesName)\r\n".utf8
        if !format.isHTTP2 { output += "Transfer-Encoding: chunked\r\n".utf8 }
        output += "Cache-Control: no-store\r\n".utf8
        output += "X-Content-Type-Options: nosniff\r\n".utf8
        if let origin = format.origin {
            output += "Access-Control-Allow-Origin: \(origin)\r\nVary: Origin\r\n".utf8
        }
        if format.closes { output += "Connection: close\r\n".utf8 }
        output += "\r\n".utf8
    }

    /// The last chunk.
    static let endOfLines = Array("0\r\n\r\n".utf8)

    private static func appendLine(
        _ json: [UInt8], _ format: HTTPResponseStyle, to output: inout [UInt8]
    ) {
        guard !format.isHTTP2 else {
            output += json
            return output.append(UInt8(ascii: "\n"))
        }
        output += String(json.count + 1, radix: 16).utf8
        output += "\r\n".utf8
        output += json
        output += "\n\r\n".utf8
    }

    /// Bytes of the usual head.
    private static let usualHeadBytes = 256
}

extension Verification {
    fileprivate var withoutEvidence: Verification {
        var copy = self
        copy.evidence = nil
        return copy
    }
}
