import Assay
import AssayEntitlements
import AssayModels
import AssayWire

/// Answers in frames.
struct FrameForm: AnswerForm {
    var detectsKind: Bool { false }

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
        var body: [UInt8] = []
        var resolved = items.map { item in
            let start = body.count
            if call.returnsPayloadJSON, let json = item.verification.evidence?.json {
                body += json
            }
            return ResolvedItem(
                item, withPayload: call.returnsTypedPayloads, jsonLength: body.count - start)
        }
        for index in entitlements.superseded { resolved[index].isSuperseded = true }
        let result = Resolution(items: resolved, entitlements: entitlements)
        return encode(ResponseHead(id: id, result: .resolution(result)), body, by: codec)
    }

    func encode(
        _ found: CustomerState, answering id: UInt64, _ call: FetchCall, at now: Timestamp,
        by codec: MessageCodec
    ) -> EncodedAnswer {
        var items = found.items.map {
            ResolvedItem($0, withPayload: call.returnsTypedPayloads, jsonLength: 0)
        }
        for index in found.entitlements.superseded { items[index].isSuperseded = true }
        let result = Fetched(
            environment: found.environment, revision: found.revision, items: items,
            entitlements: found.entitlements)
        return encode(ResponseHead(id: id, result: .fetched(result)), [], by: codec)
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

extension ResolvedItem {
    fileprivate init(_ item: EvidenceItem, withPayload: Bool, jsonLength: Int) {
        var verification = item.verification
        if !withPayload { verification.evidence = nil }
        self.init(
            label: item.label, verification: verification,
            payloadJSONLength: UInt32(clamping: jsonLength))
        identifiers = item.identifiers
    }
}
