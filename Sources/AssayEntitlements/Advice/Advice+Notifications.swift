import AssayModels

// What to do about a notification. Its type never decides what the customer owns: the signed
// transaction does.

extension Advice {
    /// What to do about a notification, the action first.
    func notification(_ notification: VerifiedNotification, _ index: Int) -> [String] {
        let payload = notification.notification.payload
        let type = payload.notificationType ?? NotificationTypeV2(rawValue: "")
        guard let event = NotificationEvent(type, payload.subtype) else {
            return unknown(type, payload.subtype, notification, index)
        }
        switch type {
        case .refund: return refund(notification, index)
        case .refundReversed: return reversal(notification, index)
        case .consumptionRequest: return consumptionRequest(notification)
        case .revoke: return refund(notification, index)
        case .renewalExtension: return [renewalExtension(payload)]
        case RawTypes.unclaimSeats: return [unclaimed(payload.unclaimInfo)]
        default: break
        }
        switch event.meaning {
        case .apart: return [event.remark]
        case .news:
            let remark = event.remark.isEmpty ? [] : [event.remark]
            let state = state(notification, index, isNews: true)
            return state == [Self.nothingNew] ? state : state + remark
        case .noChange:
            let state = state(notification, index, isNews: false)
            return [event.remark] + (state == [Self.nothingNew] ? [] : state)
        }
    }

    private enum RawTypes {
        static let unclaimSeats = NotificationTypeV2(rawValue: "UNCLAIM_SEATS")
    }

    /// What follows from the signed transaction, or from the renewal information.
    private func state(
        _ notification: VerifiedNotification, _ index: Int, isNews: Bool
    ) -> [String] {
        if let transaction = notification.transaction {
            return purchase(transaction.payload, index, isNews: isNews)
        }
        if let renewal = notification.renewalInfo { return renewalInfo(renewal.payload) }
        return isNews
            ? ["It carries no transaction: ask the App Store what the customer owns."] : []
    }

    /// An unknown event grants nothing and takes nothing back; a refund that is signed counts.
    private func unknown(
        _ type: NotificationTypeV2, _ subtype: Subtype?, _ notification: VerifiedNotification,
        _ index: Int
    ) -> [String] {
        let name = NotificationEvent.isKnown(type) ? "subtype" : "notification type"
        let value = NotificationEvent.isKnown(type) ? subtype?.rawValue : type.rawValue
        let text =
            "This version does not know the \(name) \(Self.name(value, or: "of none")): grant "
            + "nothing and take nothing back by it. What the customer owns decides."
        guard let transaction = notification.transaction?.payload,
            transaction.revocationDate != nil
        else { return [text] }
        return purchase(transaction, index) + [text]
    }

    // MARK: Refunds

    private func refund(_ notification: VerifiedNotification, _ index: Int) -> [String] {
        guard let transaction = notification.transaction?.payload else {
            return [
                "Take back what was refunded: ask the App Store which purchase, the notification "
                    + "carries no transaction."
            ]
        }
        let texts = purchase(transaction, index)
        guard transaction.revocationDate == nil, texts != [Self.nothingNew] else { return texts }
        if let seats = transaction.multiSeatInfo?.revokedSeatQuantity, seats > 0 {
            let all = transaction.quantity.map { " of \($0)" } ?? ""
            return [
                "Take \(seats)\(all) seats of \(Self.name(transaction.productId)) back: Apple "
                    + "refunded them."
            ] + purchase(transaction, index, isNews: false)
        }
        // An item of Advanced Commerce is refunded alone.
        let items = transaction.advancedCommerceInfo?.items ?? []
        if items.contains(where: { $0.revocationDate != nil }) {
            return purchase(transaction, index, isNews: false)
        }
        let id = Self.name(transaction.transactionId, or: "of no id")
        return [
            "Grant nothing by it, and take nothing back yet: its transaction has no "
                + "revocationDate. Ask the App Store about transaction \(id): assay api "
                + "transaction \(id)"
        ]
    }

    private func reversal(_ notification: VerifiedNotification, _ index: Int) -> [String] {
        guard let transaction = notification.transaction?.payload else {
            return state(notification, index, isNews: true)
        }
        let texts = purchase(transaction, index, isNews: false)
        guard transaction.revocationDate == nil, texts != [Self.nothingNew] else { return texts }
        return [
            "Give \(Self.name(transaction.productId)) back where you took it: Apple reversed the "
                + "refund of transaction \(Self.name(transaction.transactionId, or: "of no id"))."
        ] + texts
    }

    // MARK: Requests

    private static let answerTime: Int64 = 12 * 3_600_000

    private func consumptionRequest(_ notification: VerifiedNotification) -> [String] {
        let payload = notification.notification.payload
        let transaction = notification.transaction?.payload
        if let transaction, let revocation = Revocation(transaction) {
            return [revocation.takingBack(.product, words)]
        }
        var texts: [String] = []
        let id = Self.name(transaction?.transactionId, or: "TRANSACTION")
        let app = payload.data?.bundleId.map { " --bundle-id \(Self.name($0))" } ?? ""
        if let deadline = payload.signedDate?.advanced(by: Self.answerTime) {
            if deadline < owned.at {
                texts.append(
                    "Nothing to do: the 12 hours to answer ended\(words.at(deadline)).")
            } else {
                texts.append(
                    "Answer within 12 hours, by \(words.date(deadline)), if the customer "
                        + "consented: assay api consumption\(app) --customer-consented "
                        + "--delivery STATE \(id)")
            }
        }
        texts.append(
            "Grant nothing by it, and take nothing back: Apple has not decided about the refund.")
        if let reason = payload.data?.consumptionRequestReason {
            texts.append("The customer's reason: \(Self.name(reason.rawValue)).")
        }
        return texts
    }

    private func renewalExtension(_ payload: ResponseBodyV2DecodedPayload) -> String {
        let request =
            payload.summary?.requestIdentifier.map { " of request \(Self.name($0))" } ?? ""
        guard payload.subtype == .summary else {
            return
                "Nothing to take back: Apple could not extend a subscription\(request). Its period "
                + "ends as before."
        }
        let succeeded = payload.summary?.succeededCount ?? 0
        let failed = payload.summary?.failedCount ?? 0
        return "Nothing to do: the extension\(request) is complete, \(succeeded) subscriptions "
            + "extended and \(failed) not."
    }

    private func unclaimed(_ info: UnclaimInfo?) -> String {
        let ids = info?.unclaimSeatIds ?? []
        let named = ids.prefix(3).map { Self.name($0) }.joined(separator: ", ")
        let more = ids.count > 3 ? " and \(ids.count - 3) more" : ""
        return "End the access of the seats \(ids.isEmpty ? "that it names" : named + more). The "
            + "buyer's subscription does not change."
    }
}
