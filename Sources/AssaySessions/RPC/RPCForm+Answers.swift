import Assay
import AssayBytes
import AssayEntitlements
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// The messages of answers, and what surrounds them in each protocol.
extension RPCForm {
    // MARK: Messages

    /// Appends the body of the answer to a verification.
    func append(
        _ verification: Verification, _ call: VerifyCall, at now: Timestamp,
        by codec: MessageCodec, to output: inout [UInt8]
    ) {
        var json: [UInt8]?
        if call.returnsVerifyReceiptJSON {
            json = verifyReceiptResponse(for: verification, requestDate: now)
        } else if call.returnsPayloadJSON {
            json = verification.evidence?.json
        }
        guard self.codec == .proto, framing.hasStreams else {
            var message = numbered
            codec.encodeVerifyResponse(
                verification, withPayload: call.returnsTypedPayload, json: json, into: &message)
            return append(coded(message), to: &output)
        }
        let start = RPCFrame.begin(in: &output)
        if item != nil { output += numbered }
        codec.encodeVerifyResponse(
            verification, withPayload: call.returnsTypedPayload, json: json, into: &output)
        RPCFrame.end(from: start, in: &output)
    }

    /// The answer to a retention request. A refused one gets the verification alone.
    func message(
        _ verification: Verification, to respond: RetentionResponder, by codec: MessageCodec
    ) throws(AnswerFault) -> [UInt8] {
        let json = verification.verdict == .valid ? try verification.answered(by: respond) : nil
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

    /// An answer that was encoded as a message.
    func answer(_ message: [UInt8], to id: UInt64) -> EncodedAnswer {
        let limit = FrameLimits.response.frameBytes
        guard message.count <= limit else {
            return .refused(.answerTooLarge(id, message.count, limit: limit))
        }
        return .encoded(body(message))
    }

    /// The body of a response with a message.
    func body(_ message: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        append(message, to: &body)
        return body
    }

    /// Appends the body of a response with a message.
    func append(_ message: [UInt8], to output: inout [UInt8]) {
        guard framing.hasFrames else { return output += message }
        guard !framing.hasStreams else {
            return RPCFrame.append(message: message.span, to: &output)
        }
        var body: [UInt8] = []
        RPCFrame.append(message: message.span, to: &body)
        RPCFrame.append(trailers: RPCStatus.ok.trailers.span, to: &body)
        output += framed(body)
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
