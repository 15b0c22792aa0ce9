import AssayModels

// What to do about evidence of other stores than Apple's. It states what was bought, and not what
// happened since.

extension Advice {
    func google(_ purchase: GooglePurchase, _ index: Int) -> [String] {
        if let refusal = notPaid(purchase.state, .google) { return [refusal] }
        guard let texts = purchases(in: index, key: "dedupKey") else { return [Self.nothingNew] }
        guard granted(texts) else { return texts }
        let next =
            purchase.acknowledged == true
            ? "It is acknowledged already. "
            : "Acknowledge or consume it within three days; Google refunds it otherwise. "
        return texts + [next + "Ask Google's API whether it was refunded since."]
    }

    func huawei(_ state: PurchaseState?, _ index: Int) -> [String] {
        if let refusal = notPaid(state, .huawei) { return [refusal] }
        guard let texts = purchases(in: index, key: "dedupKey") else { return [Self.nothingNew] }
        guard granted(texts) else { return texts }
        return texts + ["Confirm the delivery, and ask Huawei's API whether it was refunded since."]
    }

    func harmony(
        _ state: PurchaseState?, _ order: HarmonyPurchase?, _ index: Int
    ) -> [String] {
        // The entry has the date and the reason of a refund.
        if state != .refunded, let refusal = notPaid(state, .harmony) { return [refusal] }
        guard let texts = purchases(in: index, key: "dedupKey") else {
            return [order == nil ? "Grant nothing by it: it names no order." : Self.nothingNew]
        }
        guard granted(texts) else { return texts }
        let next = order?.finishStatus == 1 ? "" : "Confirm the delivery. "
        return texts + [next + "Ask Huawei's API whether it was refunded since."]
    }

    func changed(_ notification: HarmonyNotification) -> [String] {
        let order = notification.purchaseOrderId.map { " about the order \(Self.name($0))" } ?? ""
        return [
            "Ask Huawei's API\(order), with its purchaseToken. Grant nothing and take nothing "
                + "back by the notification alone: it says that something changed, and not to what."
        ]
    }

    /// The order inside has a signature of its own, and says more than the event.
    func changed(
        _ notification: HuaweiNotification, _ state: PurchaseState?, _ index: Int
    ) -> [String] {
        guard notification.latestReceiptInfo == nil else { return huawei(state, index) }
        return [
            "Ask Huawei's API with its purchaseToken: it says that something changed, and has no "
                + "order that says to what."
        ]
    }

    func changed(_ notification: GoogleNotification) -> [String] {
        if notification.about == .test { return ["Nothing to do: it is a test, and it arrived."] }
        if notification.about == .pendingRefundReview {
            let order = notification.orderId.map { " \(Self.name($0))" } ?? ""
            return [
                "Answer Google with orders.reviewrefund and its pendingRefundToken"
                    + (notification.respondBy.map { " by " + words.date($0) } ?? " within 24 hours")
                    + ": a bank asks for a refund of the order\(order). Take nothing back yet."
            ]
        }
        let ask = "Ask Google's API with its purchaseToken"
        let caution =
            "Grant nothing and take nothing back by the notification alone: its token signs the "
            + "sender, and not the message."
        guard notification.about == .voidedPurchase else { return [ask + ". " + caution] }
        let order = notification.orderId.map { " \(Self.name($0))" } ?? ""
        return ["\(ask) whether the order\(order) was refunded, and take it back then. \(caution)"]
    }

    /// Whether the advice is to grant something.
    private func granted(_ texts: [String]) -> Bool {
        texts.contains { $0.hasPrefix("Grant once") }
    }

    /// Why a purchase that is not paid is not granted; nil if it is paid.
    private func notPaid(_ state: PurchaseState?, _ store: EvidenceStore) -> String? {
        switch state {
        case .purchased?, nil: nil
        case .pending?:
            "Grant nothing yet: it is not paid (PENDING). Wait for the purchase as paid."
        case .canceled?: "Grant nothing, or take it back: it was canceled (CANCELED)."
        case .refunded?: "Take it back: \(store.phrase) refunded it (REFUNDED)."
        case .some(let other):
            "Grant nothing, and take nothing back: its state is not known (\(other.rawValue)). Ask "
                + "\(store.phrase)'s API."
        }
    }
}
