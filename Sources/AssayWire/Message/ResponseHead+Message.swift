import AssayModels
import CAssayProto

extension ResponseHead: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(12, traceId)
        output.set(11, appStoreErrorCode)
        switch result {
        case .none: break
        case .verification(let verification): output.nest(5, verification)
        case .health(let serving): output.setHealth(6, serving: serving)
        case .info(let info): output.nest(7, info)
        case .pong: output.setEmpty(8)
        case .resolution(let resolution): output.nest(9, resolution)
        case .fetched(let fetched): output.nest(10, fetched)
        }
        if retryAfterMilliseconds != 0 { output.set(4, retryAfterMilliseconds) }
        if !message.isEmpty { output.set(3, message) }
        output.set(2, status)
        output.set(1, id)
    }

    init(_ m: Assay__V1__ResponseHead) throws(MessageError) {
        let number = unsafe m.has_status != 0 ? Int32(bitPattern: m.status.rawValue) : 0
        self.init(
            id: unsafe read(m.has_id, m.id) ?? 0,
            // Like gRPC, maps an unknown code to UNKNOWN.
            status: Status(rawValue: number) ?? .unknown,
            message: try unsafe read(m.has_message, m.message) ?? "",
            retryAfterMilliseconds: unsafe read(m.has_retry_after_ms, m.retry_after_ms) ?? 0,
            appStoreErrorCode: unsafe read(
                m.has_app_store_error_code, m.app_store_error_code),
            traceId: try unsafe read(m.has_trace_id, m.trace_id))
        do {
            result = try unsafe Self.result(m)
        } catch .unknownVerdict(let verdict) {
            // A verdict of a newer server. The id is kept, so that its call ends with an error.
            status = .unknown
            message = "\(MessageError.unknownVerdict(verdict))"
        }
    }

    private static func result(_ m: Assay__V1__ResponseHead) throws(MessageError) -> CallResult {
        switch unsafe m.result_case {
        case ASSAY__V1__RESPONSE_HEAD__RESULT_VERIFICATION:
            return .verification(try unsafe required(read(m.verification)))
        case ASSAY__V1__RESPONSE_HEAD__RESULT_RESOLUTION:
            return .resolution(try unsafe required(read(m.resolution)))
        case ASSAY__V1__RESPONSE_HEAD__RESULT_FETCHED:
            return .fetched(try unsafe required(read(m.fetched)))
        case ASSAY__V1__RESPONSE_HEAD__RESULT_HEALTH:
            let status = unsafe m.health.pointee.status
            return .health(serving: status == ASSAY__V1__SERVING_STATUS__SERVING_STATUS_SERVING)
        case ASSAY__V1__RESPONSE_HEAD__RESULT_INFO:
            return .info(try unsafe required(read(m.info)))
        case ASSAY__V1__RESPONSE_HEAD__RESULT_PONG: return .pong
        default: return .none
        }
    }
}

extension MessageWriter {
    /// Writes the head of a response with a verdict: `ResponseHead(id: id, result: .verification)`,
    /// optionally without its payload as typed fields.
    mutating func setAnswer(_ id: UInt64, _ verification: Verification, withPayload: Bool) {
        wrap(5) { verification.write(to: &$0, withPayload: withPayload) }
        set(2, Status.ok)
        set(1, id)
    }

    fileprivate mutating func setHealth(_ number: Int, serving: Bool) {
        let status =
            serving
            ? ASSAY__V1__SERVING_STATUS__SERVING_STATUS_SERVING
            : ASSAY__V1__SERVING_STATUS__SERVING_STATUS_NOT_SERVING
        wrap(number) { $0.set(1, status.rawValue) }
    }
}
