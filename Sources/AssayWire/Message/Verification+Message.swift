import AssayModels
import CAssayProto

extension Verification: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) { write(to: &output, withPayload: true) }

    /// - Parameter withPayload: whether to write the payload as typed fields.
    func write(to output: inout MessageWriter, withPayload: Bool) {
        if withPayload { writePurchase(to: &output) }
        output.set(18, state)
        output.set(17, unwrapped)
        output.set(16, evidenceKey)
        if withPayload { writePayload(to: &output) }
        output.set(6, certificate)
        output.set(5, dedupKey)
        output.set(4, environment)
        output.set(3, kind)
        output.set(2, detail)
        output.set(1, verdict)
    }

    private func writePayload(to output: inout MessageWriter) {
        switch evidence {
        case nil: break
        case .transaction(let payload): output.set(7, payload)
        case .renewalInfo(let payload): output.set(8, payload)
        case .appTransaction(let payload): output.set(9, payload)
        case .notification(let notification): output.nest(10, notification)
        case .realtimeRequest(let payload): output.set(11, payload)
        case .appReceipt(let receipt): output.nest(12, receipt)
        case .transactionReceipt(let receipt): output.nest(13, receipt)
        case .serverAnswer(let answer): output.nest(14, answer)
        case .notificationV1(let notification): output.nest(15, notification)
        case .googlePurchase, .huaweiPurchase, .harmonyPurchase, .harmonySubscription,
            .harmonyNotification, .googleNotification, .huaweiNotification:
            break
        }
    }

    /// The payloads whose fields come after the others, so that the fields are in their order.
    private func writePurchase(to output: inout MessageWriter) {
        switch evidence {
        case .googlePurchase(let payload): output.set(19, payload)
        case .huaweiPurchase(let payload): output.set(20, payload)
        case .harmonyPurchase(let payload): output.set(21, payload)
        case .harmonySubscription(let payload): output.set(22, payload)
        case .harmonyNotification(let payload): output.set(23, payload)
        case .googleNotification(let payload): output.set(24, payload)
        case .huaweiNotification(let payload): output.set(25, payload)
        default: break
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
            evidenceKey: try unsafe read(m.has_evidence_key, m.evidence_key),
            certificate: try unsafe read(m.certificate),
            evidence: try unsafe Self.evidence(m),
            unwrapped: try unsafe read(m.has_unwrapped, m.unwrapped),
            state: try unsafe read(m.has_state, m.state))
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
        case ASSAY__V1__VERIFICATION__PAYLOAD_GOOGLE_PURCHASE:
            .googlePurchase(try required(unsafe verified(m.google_purchase)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_HUAWEI_PURCHASE:
            .huaweiPurchase(try required(unsafe verified(m.huawei_purchase)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_HARMONY_PURCHASE:
            .harmonyPurchase(try required(unsafe verified(m.harmony_purchase)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_HARMONY_SUBSCRIPTION:
            .harmonySubscription(try required(unsafe verified(m.harmony_subscription)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_HARMONY_NOTIFICATION:
            .harmonyNotification(try required(unsafe verified(m.harmony_notification)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_GOOGLE_NOTIFICATION:
            .googleNotification(try required(unsafe verified(m.google_notification)))
        case ASSAY__V1__VERIFICATION__PAYLOAD_HUAWEI_NOTIFICATION:
            .huaweiNotification(try required(unsafe verified(m.huawei_notification)))
        default: nil
        }
    }
}

/// Reads a payload from a server. Its JSON is not part of the head.
func verified<M: ReadableMessage & Equatable & Sendable>(
    _ message: UnsafeMutablePointer<M.Message>?
) throws(MessageError) -> VerifiedPayload<M>? {
    guard let payload: M = try unsafe read(message) else { return nil }
    return VerifiedPayload(payload, json: [])
}

extension VerifiedNotification: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.setEach(6, warnings)
        output.set(5, dedupKey)
        output.set(4, appTransaction)
        output.set(3, renewalInfo)
        output.set(2, transaction)
        output.set(1, notification)
    }

    init(_ m: Assay__V1__VerifiedNotification) throws(MessageError) {
        self.init(
            notification: try required(unsafe verified(m.notification)),
            transaction: try unsafe verified(m.transaction),
            renewalInfo: try unsafe verified(m.renewal_info),
            appTransaction: try unsafe verified(m.app_transaction),
            dedupKey: try unsafe read(m.has_dedup_key, m.dedup_key),
            warnings: try unsafe models(m.warnings, count: m.n_warnings))
    }
}
