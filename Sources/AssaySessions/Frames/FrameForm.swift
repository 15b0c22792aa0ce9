import Assay
import AssayEntitlements
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Answers in frames, to requests without a trace. It has no content, so that a value of
/// `any AnswerForm` holds it without memory of its own.
struct FrameForm: FrameAnswer {
    var trace: RequestTrace? { nil }

    /// How the answer to a request is written.
    static func of(_ head: RequestHead) -> any AnswerForm {
        if let trace = head.requestTrace { TracedFrameForm(trace: trace) } else { FrameForm() }
    }
}

extension RequestHead {
    /// The trace of a request in a frame.
    var requestTrace: RequestTrace? { trace.map { RequestTrace($0, via: .frames) } }
}

/// Answers in frames, to requests with a trace.
struct TracedFrameForm: FrameAnswer {
    let trace: RequestTrace?
}

/// Answers in frames.
protocol FrameAnswer: AnswerForm {}

extension FrameAnswer {
    var detectsKind: Bool { false }
    var isOfApple: Bool { false }

    func isVerifyReceipt(_ call: VerifyCall) -> Bool { call.returnsVerifyReceiptJSON }

    /// Appends a head, and a body if JSON was requested.
    func append(
        _ verification: Verification, answering id: UInt64, _ call: VerifyCall,
        at now: Timestamp, by codec: MessageCodec, to output: inout [UInt8]
    ) {
        var body: [UInt8] = []
        if call.returnsVerifyReceiptJSON {
            body = verifyReceiptResponse(for: verification, requestDate: now)
        } else if call.returnsPayloadJSON {
            body = verification.evidence?.json ?? []
        }
        codec.encodeFrame(
            answering: id, verification, withPayload: call.returnsTypedPayload, body: body,
            into: &output)
    }

    func encode(
        _ entitlements: Entitlements, of items: [EvidenceItem], answering id: UInt64,
        _ call: ResolveCall, at now: Timestamp, by codec: MessageCodec
    ) -> EncodedAnswer {
        let (resolution, json) = Resolution.answer(entitlements, of: items, call)
        return encode(
            ResponseHead(id: id, result: .resolution(resolution)), Array(json.joined()), by: codec)
    }

    func encode(
        _ found: CustomerState, answering id: UInt64, _ call: FetchCall, at now: Timestamp,
        by codec: MessageCodec
    ) -> EncodedAnswer {
        encode(ResponseHead(id: id, result: .fetched(Fetched(found, call))), [], by: codec)
    }

    private func encode(
        _ head: ResponseHead, _ body: [UInt8], by codec: MessageCodec
    ) -> EncodedAnswer {
        var frame: [UInt8] = []
        codec.encodeFrame(head, body: body, into: &frame)
        let count = frame.count - FrameLimits.lengthBytes
        let limit = FrameLimits.response.frameBytes
        guard count <= limit else { return .refused(.answerTooLarge(head.id, count, limit: limit)) }
        return .encoded(frame)
    }
}
