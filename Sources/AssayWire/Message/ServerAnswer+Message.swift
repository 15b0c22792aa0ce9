import AssayModels
import CAssayProto

extension ServerAnswer: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.setEach(7, dedupKeys)
        output.setEach(6, warnings)
        output.set(5, unsigned)
        output.setEach(4, notifications)
        output.set(3, appTransaction)
        output.setEach(2, renewalInfos)
        output.setEach(1, transactions)
    }

    init(_ m: Assay__V1__ServerAnswer) throws(MessageError) {
        self.init(
            transactions: try unsafe payloads(m.transactions, count: m.n_transactions),
            renewalInfos: try unsafe payloads(m.renewal_infos, count: m.n_renewal_infos),
            appTransaction: try unsafe verified(m.app_transaction),
            notifications: try unsafe models(m.notifications, count: m.n_notifications),
            unsigned: try unsafe read(m.unsigned_members) ?? UnsignedAnswerMembers(),
            warnings: try unsafe models(m.warnings, count: m.n_warnings),
            dedupKeys: try unsafe texts(m.dedup_keys, count: m.n_dedup_keys))
    }
}

extension MessageWriter {
    fileprivate mutating func setEach<M: WritableMessage & Equatable & Sendable>(
        _ number: Int, _ payloads: [VerifiedPayload<M>]
    ) {
        for payload in payloads.reversed() { set(number, payload) }
    }
}

/// Reads payloads from a server. Their JSON is not part of the head.
private func payloads<M: ReadableMessage & Equatable & Sendable>(
    _ messages: UnsafeMutablePointer<UnsafeMutablePointer<M.Message>?>?, count: Int
) throws(MessageError) -> [VerifiedPayload<M>] {
    let payloads: [M] = try unsafe models(messages, count: count)
    return payloads.map { VerifiedPayload($0, json: []) }
}

extension VerifiedNotificationV1: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.setEach(3, warnings)
        output.set(2, unsigned)
        output.set(1, receipt)
    }

    init(_ m: Assay__V1__VerifiedNotificationV1) throws(MessageError) {
        self.init(
            receipt: try required(unsafe read(m.receipt)),
            unsigned: try unsafe read(m.unsigned_members) ?? UnsignedNotificationV1(),
            warnings: try unsafe models(m.warnings, count: m.n_warnings))
    }
}
