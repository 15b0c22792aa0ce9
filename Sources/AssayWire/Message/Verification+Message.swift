import AssayModels
import CAssayProto

extension Verification: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__Verification>) {
        unsafe assay__v1__verification__init(message)
    }

    func fill(_ m: inout Assay__V1__Verification, in arena: MessageArena) {
        unsafe fillVerdict(&m, in: arena)
        unsafe fillPayload(&m, in: arena)
    }

    func fillVerdict(_ m: inout Assay__V1__Verification, in arena: MessageArena) {
        unsafe m.has_verdict = 1
        unsafe m.verdict = Assay__V1__Verdict(UInt32(bitPattern: verdict.rawValue))
        unsafe arena.set(&m.has_detail, &m.detail, detail)
        unsafe arena.set(&m.has_kind, &m.kind, kind)
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(&m.has_dedup_key, &m.dedup_key, dedupKey)
        unsafe m.certificate = arena.message(certificate)
    }

    private func fillPayload(_ m: inout Assay__V1__Verification, in arena: MessageArena) {
        switch evidence {
        case nil: break
        case .transaction(let verified):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_TRANSACTION
            unsafe m.transaction = verified.withPayload { unsafe arena.compose($0) }
        case .renewalInfo(let verified):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_RENEWAL_INFO
            unsafe m.renewal_info = verified.withPayload { unsafe arena.compose($0) }
        case .appTransaction(let verified):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_APP_TRANSACTION
            unsafe m.app_transaction = verified.withPayload { unsafe arena.compose($0) }
        case .notification(let notification):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_NOTIFICATION
            unsafe m.notification = arena.message(notification)
        case .realtimeRequest(let verified):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_REALTIME_REQUEST
            unsafe m.realtime_request = verified.withPayload { unsafe arena.compose($0) }
        case .appReceipt(let receipt):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_APP_RECEIPT
            unsafe m.app_receipt = arena.message(receipt)
        case .transactionReceipt(let receipt):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_TRANSACTION_RECEIPT
            unsafe m.transaction_receipt = arena.message(receipt)
        case .serverAnswer(let answer):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_SERVER_ANSWER
            unsafe m.server_answer = arena.message(answer)
        case .notificationV1(let notification):
            unsafe m.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD_NOTIFICATION_V1
            unsafe m.notification_v1 = arena.message(notification)
        }
    }

    init(_ m: Assay__V1__Verification) throws(MessageError) {
        let number = unsafe m.has_verdict != 0 ? Int32(bitPattern: m.verdict.rawValue) : 0
        guard let verdict = Verdict(rawValue: number) else { throw .unknownVerdict(number) }
        self.init(
            verdict: verdict,
            detail: try unsafe read(m.has_detail, m.detail) ?? "",
            kind: unsafe read(m.has_kind, m.kind),
            environment: try unsafe read(m.has_environment, m.environment),
            dedupKey: try unsafe read(m.has_dedup_key, m.dedup_key),
            certificate: try unsafe read(m.certificate),
            evidence: try unsafe Self.evidence(m))
    }

    private static func evidence(
        _ m: Assay__V1__Verification
    ) throws(MessageError) -> VerifiedEvidence? {
        switch unsafe m.payload_case {
        case ASSAY__V1__VERIFICATION__PAYLOAD_TRANSACTION:
            .transaction(try required(unsafe verified(m.transaction)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_RENEWAL_INFO:
            .renewalInfo(try required(unsafe verified(m.renewal_info)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_APP_TRANSACTION:
            .appTransaction(try required(unsafe verified(m.app_transaction)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_NOTIFICATION:
            .notification(try required(unsafe read(m.notification)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_REALTIME_REQUEST:
            .realtimeRequest(try required(unsafe verified(m.realtime_request)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_APP_RECEIPT:
            .appReceipt(try required(unsafe read(m.app_receipt)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_TRANSACTION_RECEIPT:
            .transactionReceipt(try required(unsafe read(m.transaction_receipt)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_SERVER_ANSWER:
            .serverAnswer(try required(unsafe read(m.server_answer)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_NOTIFICATION_V1:
            .notificationV1(try required(unsafe read(m.notification_v1)))
        default: nil
        }
    }
}

/// Reads a payload from a server. Its JSON is not part of the head.
func verified<M: MessageFields & Equatable & Sendable>(
    _ message: UnsafeMutablePointer<M.Message>?
) throws(MessageError) -> VerifiedPayload<M>? {
    guard let payload: M = try unsafe read(message) else { return nil }
    return VerifiedPayload(payload, json: [])
}

extension VerifiedNotification: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__VerifiedNotification>) {
        unsafe assay__v1__verified_notification__init(message)
    }

    func fill(_ m: inout Assay__V1__VerifiedNotification, in arena: MessageArena) {
        unsafe m.notification = notification.withPayload { unsafe arena.compose($0) }
        unsafe m.transaction = arena.message(transaction?.payload)
        unsafe m.renewal_info = arena.message(renewalInfo?.payload)
        unsafe m.app_transaction = arena.message(appTransaction?.payload)
    }

    init(_ m: Assay__V1__VerifiedNotification) throws(MessageError) {
        self.init(
            notification: try required(unsafe verified(m.notification)),
            transaction: try unsafe verified(m.transaction),
            renewalInfo: try unsafe verified(m.renewal_info),
            appTransaction: try unsafe verified(m.app_transaction))
    }
}
