import AssayModels
import CAssayProto

extension ServerAnswer: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__ServerAnswer>) {
        unsafe assay__v1__server_answer__init(message)
    }

    func fill(_ m: inout Assay__V1__ServerAnswer, in arena: MessageArena) {
        unsafe m.n_transactions = transactions.count
        unsafe m.transactions = arena.payloads(transactions)
        unsafe m.n_renewal_infos = renewalInfos.count
        unsafe m.renewal_infos = arena.payloads(renewalInfos)
        unsafe m.app_transaction = arena.message(appTransaction?.payload)
        unsafe m.n_notifications = notifications.count
        unsafe m.notifications = arena.messages(notifications)
        unsafe m.unsigned_members = arena.message(unsigned)
        unsafe m.n_warnings = warnings.count
        unsafe m.warnings = arena.messages(warnings)
    }

    init(_ m: Assay__V1__ServerAnswer) throws(MessageError) {
        self.init(
            transactions: try unsafe payloads(m.transactions, count: m.n_transactions),
            renewalInfos: try unsafe payloads(m.renewal_infos, count: m.n_renewal_infos),
            appTransaction: try unsafe verified(m.app_transaction),
            notifications: try unsafe models(m.notifications, count: m.n_notifications),
            unsigned: try unsafe read(m.unsigned_members) ?? UnsignedAnswerMembers(),
            warnings: try unsafe models(m.warnings, count: m.n_warnings))
    }
}

extension MessageArena {
    /// Like `messages`, without copies of the payloads.
    fileprivate func payloads<M: MessageFields & Equatable & Sendable>(
        _ payloads: [VerifiedPayload<M>]
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<M.Message>?> {
        let values = unsafe allocate(
            UnsafeMutablePointer<M.Message>?.self, count: payloads.count)
        for (index, verified) in payloads.enumerated() {
            unsafe (values + index).initialize(to: verified.withPayload { unsafe compose($0) })
        }
        return unsafe values
    }
}

/// Reads payloads from a server. Their JSON is not part of the head.
private func payloads<M: MessageFields & Equatable & Sendable>(
    _ messages: UnsafeMutablePointer<UnsafeMutablePointer<M.Message>?>?, count: Int
) throws(MessageError) -> [VerifiedPayload<M>] {
    let payloads: [M] = try unsafe models(messages, count: count)
    return payloads.map { VerifiedPayload($0, json: []) }
}

extension VerifiedNotificationV1: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__VerifiedNotificationV1>) {
        unsafe assay__v1__verified_notification_v1__init(message)
    }

    func fill(_ m: inout Assay__V1__VerifiedNotificationV1, in arena: MessageArena) {
        unsafe m.receipt = arena.message(receipt)
        unsafe m.unsigned_members = arena.message(unsigned)
        unsafe m.n_warnings = warnings.count
        unsafe m.warnings = arena.messages(warnings)
    }

    init(_ m: Assay__V1__VerifiedNotificationV1) throws(MessageError) {
        self.init(
            receipt: try required(unsafe read(m.receipt)),
            unsigned: try unsafe read(m.unsigned_members) ?? UnsignedNotificationV1(),
            warnings: try unsafe models(m.warnings, count: m.n_warnings))
    }
}
