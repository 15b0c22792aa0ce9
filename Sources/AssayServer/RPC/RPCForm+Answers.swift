import Assay
import AssayBytes
import AssayEntitlements
import AssayModels
import AssayWire

/// The messages of answers, and what surrounds them in each protocol.
extension RPCForm {
    // MARK: Messages

    func message(
        _ verification: Verification, _ call: VerifyCall, at now: Timestamp, by codec: MessageCodec
    ) -> [UInt8] {
        var json: [UInt8]?
        if call.returnsVerifyReceiptJSON {
            json = verifyReceiptResponse(for: verification, requestDate: now)
        } else if call.returnsPayloadJSON {
            json = verification.evidence?.json
        }
        var message: [UInt8] = numbered
        codec.encodeVerifyResponse(
            verification, withPayload: call.returnsTypedPayload, json: json, into: &message)
        return coded(message)
    }

    /// The answer to a retention request. A refused one gets the verification alone.
    func message(
        _ verification: Verification, to respond: RetentionResponder, by codec: MessageCodec
    ) throws(HTTPProblem) -> [UInt8] {
        var json: [UInt8]?
        if verification.verdict == .valid,
            case .realtimeRequest(let request)? = verification.evidence
        {
            do throws(SigningFailure) {
                json = try respond(request.payload)
            } catch {
                throw HTTPProblem(error)
            }
        }
        var message: [UInt8] = []
        codec.encodeVerifyResponse(verification, withPayload: false, json: json, into: &message)
        return coded(message)
    }

    /// The message of a signature that a signer wrote as JSON.
    func message(ofSignature json: [UInt8]) throws(HTTPProblem) -> [UInt8] {
        coded(try RPCSchema.services.encode(json.span, as: method.answer))
    }

    /// The start of the answer to a request on a stream.
    private var numbered: [UInt8] {
        var message = MessageBuilder()
        if let item, item > 0 { message.set(1, varint: item) }
        return message.bytes
    }

    /// The refusal of a request on a stream, as a message.
    func message(_ problem: HTTPProblem) -> [UInt8] {
        var message = MessageBuilder()
        if let item, item > 0 { message.set(1, varint: item) }
        message.set(2, varint: UInt64(problem.code.rawValue))
        message.set(3, text: problem.detail)
        if problem.retryAfter > 0 { message.set(4, varint: UInt64(problem.retryAfter)) }
        return coded(message.bytes)
    }

    func message(
        _ entitlements: Entitlements, of items: [EvidenceItem], _ call: ResolveCall,
        by codec: MessageCodec
    ) -> [UInt8] {
        let (resolution, json) = Resolution.answer(entitlements, of: items, call)
        var message: [UInt8] = []
        codec.encodeResolveResponse(resolution, json: json, into: &message)
        return coded(message)
    }

    func message(_ found: CustomerState, _ call: FetchCall, by codec: MessageCodec) -> [UInt8] {
        var message: [UInt8] = []
        codec.encodeFetchResponse(Fetched(found, call), into: &message)
        return coded(message)
    }

    private func message(_ info: ServerInfo, by codec: MessageCodec) -> [UInt8] {
        var message: [UInt8] = []
        codec.encodeInfoResponse(info, into: &message)
        return coded(message)
    }

    /// The message of a call that needs no verification; nil for other results.
    func message(_ result: ResponseHead.CallResult, by codec: MessageCodec) -> [UInt8]? {
        switch result {
        case .info(let info): message(info, by: codec)
        case .health(let serving): message(health: serving ? .serving : .notServing)
        case .none, .verification, .pong, .resolution, .fetched: nil
        }
    }

    /// A `grpc.health.v1.HealthCheckResponse`, or the same state of all services.
    func message(health: RPCHealth) -> [UInt8] {
        var state = MessageBuilder()
        state.set(1, varint: health.rawValue)
        guard method == .healthList else { return coded(state.bytes) }
        var list = MessageBuilder()
        for service in RPCMethod.services {
            var entry = MessageBuilder()
            entry.set(1, text: service)
            entry.set(2, bytes: state.bytes)
            list.set(1, bytes: entry.bytes)
        }
        return coded(list.bytes)
    }

    private func coded(_ message: [UInt8]) -> [UInt8] {
        codec == .json ? RPCSchema.services.json(message, as: method.answer) : message
    }

    // MARK: Bodies

    /// The body of a response with a message.
    func body(_ message: [UInt8]) -> [UInt8] {
        guard framing.hasFrames else { return message }
        var body: [UInt8] = []
        RPCFrame.append(message: message.span, to: &body)
        guard !framing.hasStreams else { return body }
        RPCFrame.append(trailers: RPCStatus.ok.trailers.span, to: &body)
        return framed(body)
    }

    /// The body of a response without a message, in a protocol with frames; of a stream its end.
    func body(_ status: RPCStatus) -> [UInt8] {
        var body: [UInt8] = []
        guard framing != .connectStream else {
            RPCFrame.append(end: status.connectEndJSON.span, to: &body)
            return body
        }
        RPCFrame.append(trailers: status.trailers.span, to: &body)
        return framed(body)
    }

    private func framed(_ body: [UInt8]) -> [UInt8] {
        framing == .grpcWebText ? Base64.encode(body.span) : body
    }
}

/// The states of gRPC's health protocol.
enum RPCHealth: UInt64, Sendable {
    case serving = 1
    case notServing = 2
    case unknownService = 3
}

extension HTTPResponse {
    /// Appends the answer to a call.
    static func append(
        _ message: [UInt8], _ form: RPCForm, _ format: HTTPResponseStyle, at now: Timestamp,
        to output: inout [UInt8]
    ) {
        // The session writes its head: that of gRPC is always the same, a stream has one.
        if form.framing.hasStreams { return output += form.body(message) }
        append(
            200, type: form.type, form.body(message), fields: exposed(format), format,
            isText: false, at: now, to: &output)
    }

    /// Appends the refusal of a call.
    static func append(
        _ status: RPCStatus, _ form: RPCForm, fields: String, _ format: HTTPResponseStyle,
        at now: Timestamp, to output: inout [UInt8]
    ) {
        let fields = fields + exposed(format)
        if form.framing == .grpc {
            // Trailers in the place of a head.
            output += "HTTP/1.1 200 OK\r\nContent-Type: \(form.type)\r\n".utf8
            output += status.trailers
            output += "\r\n".utf8
        } else if form.framing.hasFrames {
            append(
                200, type: form.type, form.body(status), fields: fields, format, isText: false,
                at: now, to: &output)
        } else {
            append(
                status.connectHTTPStatus, type: "application/json", status.connectJSON,
                fields: fields, format, at: now, to: &output)
        }
    }

    /// Lets a page of an allowed origin read the status, which some clients expect in the head.
    private static func exposed(_ format: HTTPResponseStyle) -> String {
        guard format.origin != nil else { return "" }
        return "Access-Control-Expose-Headers: Grpc-Status, Grpc-Message, "
            + "Grpc-Status-Details-Bin\r\n"
    }
}
