import AssayModels
import CAssayProto

extension ResponseHead: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ResponseHead>) {
        unsafe assay__v1__response_head__init(message)
    }

    func fill(_ m: inout Assay__V1__ResponseHead, in arena: MessageArena) {
        unsafe arena.set(&m.has_id, &m.id, id)
        unsafe m.has_status = 1
        unsafe m.status = Assay__V1__Status(UInt32(bitPattern: status.rawValue))
        if !message.isEmpty { unsafe arena.set(&m.has_message, &m.message, message) }
        if retryAfterMilliseconds != 0 {
            unsafe arena.set(&m.has_retry_after_ms, &m.retry_after_ms, retryAfterMilliseconds)
        }
        unsafe arena.set(
            &m.has_app_store_error_code, &m.app_store_error_code, appStoreErrorCode)
        switch result {
        case .none: break
        case .verification(let verification):
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_VERIFICATION
            unsafe m.verification = arena.message(verification)
        case .health(let serving):
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_HEALTH
            unsafe m.health = arena.health(serving: serving)
        case .info(let info):
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_INFO
            unsafe m.info = arena.message(info)
        case .pong:
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_PONG
            unsafe m.pong = arena.allocate(Assay__V1__Pong.self)
            unsafe assay__v1__pong__init(m.pong)
        case .resolution(let resolution):
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_RESOLUTION
            unsafe m.resolution = arena.message(resolution)
        case .fetched(let fetched):
            unsafe m.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_FETCHED
            unsafe m.fetched = arena.message(fetched)
        }
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
                m.has_app_store_error_code, m.app_store_error_code))
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

extension MessageArena {
    /// Composes the head of a response with a verdict, optionally with its payload as typed
    /// fields.
    func answer(
        _ id: UInt64, _ verification: Verification, withPayload: Bool
    ) -> UnsafeMutablePointer<Assay__V1__ResponseHead> {
        let head = unsafe compose(ResponseHead(id: id))
        unsafe head.pointee.result_case = ASSAY__V1__RESPONSE_HEAD__RESULT_VERIFICATION
        if withPayload {
            unsafe head.pointee.verification = compose(verification)
        } else {
            let message = unsafe allocate(Assay__V1__Verification.self)
            unsafe Verification.clear(message)
            unsafe verification.fillVerdict(&message.pointee, in: self)
            unsafe head.pointee.verification = message
        }
        return unsafe head
    }

    func health(serving: Bool) -> UnsafeMutablePointer<Assay__V1__HealthResult> {
        let health = unsafe allocate(Assay__V1__HealthResult.self)
        unsafe assay__v1__health_result__init(health)
        unsafe health.pointee.has_status = 1
        unsafe health.pointee.status =
            serving
            ? ASSAY__V1__SERVING_STATUS__SERVING_STATUS_SERVING
            : ASSAY__V1__SERVING_STATUS__SERVING_STATUS_NOT_SERVING
        return unsafe health
    }
}
