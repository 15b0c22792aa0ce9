package import AssayModels

/// What to do next about items that are VALID: take back, give access, ask the store, or nothing.
///
/// A verdict says only that evidence is genuine. What follows from it depends on its kind, on a
/// notification's type and subtype, and on what the customer owns by all items together.
package struct Advice: Sendable {
    let items: [EvidenceItem]
    let owned: Entitlements
    /// Writes dates.
    let words: AdviceDates
    /// The refunds and revocations that each item states, by transaction.
    let revocations: [[String: Revocation]]
    private let superseded: Set<Int>
    /// When the newest statement about a purchase was signed, by its key.
    private let newest: [String: Timestamp]

    /// - Parameters:
    ///   - owned: what the customer owns by the same items, whole.
    ///   - date: a date as text.
    package init(
        about items: [EvidenceItem], owned: Entitlements,
        date: @escaping @Sendable (Timestamp) -> String
    ) {
        words = AdviceDates(date: date)
        self.items = items
        self.owned = owned
        superseded = Set(owned.superseded)
        revocations = items.map { Revocation.all(in: $0.verification.evidence) }
        var newest: [String: Timestamp] = [:]
        for item in items {
            for (key, transaction) in item.verification.keyedTransactions {
                guard let date = transaction.signedDate else { continue }
                newest[key] = max(newest[key] ?? date, date)
            }
        }
        self.newest = newest
    }

    /// What to do about one item, a sentence or two each, the action first. Empty for an item that
    /// was refused.
    package func texts(for index: Int) -> [String] {
        let verification = items[index].verification
        guard verification.verdict == .valid, let evidence = verification.evidence else {
            return []
        }
        switch evidence {
        case .transaction(let transaction):
            return purchase(transaction.payload, index)
        case .renewalInfo(let renewal): return renewalInfo(renewal.payload)
        case .appTransaction(let transaction): return app(transaction.payload)
        case .notification(let notification): return self.notification(notification, index)
        case .realtimeRequest:
            return [
                "Answer it now with a message or an offer: assay sign retention-answer. There is "
                    + "nothing to grant."
            ]
        case .appReceipt(let receipt):
            return self.receipt(receipt, index)
        case .transactionReceipt:
            return purchases(in: index, key: "dedupKey") ?? [Self.nothingNew]
        case .serverAnswer(let answer): return self.answer(answer, index)
        case .notificationV1(let notification):
            return self.receipt(notification.receipt, index)
                + ["Only the receipt is signed: decide by it, and not by notification_type."]
        case .googlePurchase(let purchase): return google(purchase.payload, index)
        case .huaweiPurchase: return huawei(verification.state, index)
        case .harmonyPurchase(let purchase):
            return harmony(verification.state, purchase.payload, index)
        case .harmonySubscription(let subscription):
            return harmony(nil, subscription.payload.lastPurchaseOrder, index)
        case .harmonyNotification(let notification): return changed(notification.payload)
        case .googleNotification(let notification): return changed(notification.payload)
        case .huaweiNotification(let notification):
            return changed(notification.payload, verification.state, index)
        }
    }

    // MARK: One transaction

    /// What to do about a purchase of one transaction.
    ///
    /// - Parameter isNews: whether the evidence is about what the customer got, rather than about
    ///   something that does not change it.
    func purchase(
        _ transaction: JWSTransactionDecodedPayload, _ index: Int, isNews: Bool = true
    ) -> [String] {
        guard let id = transaction.transactionId else {
            return ["Grant nothing: it names no transaction."]
        }
        guard !isOutdated(transaction, index) else { return [Self.nothingNew] }
        let entry = entry(of: transaction)
        var texts = entry?.isOfAnother == true ? [another(entry)] : []
        if let revocation = Revocation(transaction) {
            // Another purchase of the same product or group can still entitle.
            let isKept = entry?.isEntitled == true
            texts.append(revocation.takingBack(isKept ? .whatCameWithIt : .product, words))
            return isKept ? texts + remaining(entry) : texts
        }
        for item in transaction.advancedCommerceInfo?.items ?? [] {
            guard let date = item.revocationDate else { continue }
            let sku = Self.name(item.sku, or: "an item")
            texts.append("Take \(sku) back: Apple refunded this item\(words.at(date)).")
        }
        if transaction.isUpgraded == true {
            texts.append(
                "Take nothing back for transaction \(Self.name(id)): an upgrade replaced it, which "
                    + "is no refund.")
        }
        guard entry?.isOfAnother != true else { return texts }
        guard let entry else { return texts + [unknownType(transaction)] }
        return texts + self.texts(entry, isNews: isNews && transaction.isUpgraded != true)
    }

    /// Whether a newer statement about the same purchase is among the items.
    func isOutdated(_ transaction: JWSTransactionDecodedPayload, _ index: Int) -> Bool {
        if superseded.contains(index) { return true }
        guard let key = items[index].verification.dedupKey, let date = transaction.signedDate,
            let newest = newest[key]
        else { return false }
        return newest > date
    }

    static let nothingNew =
        "Nothing to do for it: newer evidence about the same is among the items, and decides."

    private func unknownType(_ transaction: JWSTransactionDecodedPayload) -> String {
        guard let type = transaction.type, !Self.types.contains(type) else {
            return "Grant nothing by it: it states no purchase that entitles."
        }
        return "Grant nothing by it, and take nothing back: this version does not know the product "
            + "type \(Self.name(type.rawValue))."
    }

    private static let types: Set<ProductType> = [
        .autoRenewableSubscription, .consumable, .nonConsumable, .nonRenewingSubscription,
    ]

    // MARK: Other kinds

    /// What to do about renewal information, which is of no single purchase.
    func renewalInfo(_ renewal: JWSRenewalInfoDecodedPayload) -> [String] {
        let original = renewal.originalTransactionId ?? ""
        if let entry = entry(ofSubscription: original, in: renewal.environment) {
            return entry.isOfAnother ? [another(entry)] : texts(entry, isNews: false)
        }
        return [
            "Grant nothing by it alone: it states how a subscription renews, and no purchase. "
                + "Ask the App Store about transaction \(Self.name(original)): assay api statuses."
        ]
    }

    private func app(_ transaction: AppTransaction) -> [String] {
        if let date = transaction.revocationDate {
            return ["Take back what came with the app: Apple revoked it\(words.at(date))."]
        }
        var text = "There is no purchase to grant: the customer got the app"
        text += words.at(transaction.originalPurchaseDate)
        if let version = transaction.originalApplicationVersion {
            text += ", as version \(Self.name(version))"
        }
        return [text + ". If that version was sold, unlock what it had."]
    }

    private func receipt(_ receipt: AppReceipt, _ index: Int) -> [String] {
        if owned.warnings.contains(where: { $0.code == .receiptExpired && $0.item == index }) {
            return ["Grant nothing by it: its volume purchase has ended. Ask for a new receipt."]
        }
        if let texts = purchases(in: index, key: "its dedupKey in inApp") { return texts }
        return [
            receipt.inApp.isEmpty
                ? "Grant nothing by it: it lists no purchase." : Self.nothingNew
        ]
    }

    private func answer(_ answer: ServerAnswer, _ index: Int) -> [String] {
        var texts: [String] = []
        let codes = Set(answer.warnings.map(\.code))
        if codes.contains(.noEvidence) {
            texts.append(
                "Grant nothing by it: it proves nothing. Check the bundle id of your request to "
                    + "the App Store.")
        } else if let purchases = purchases(in: index, key: "its key in dedupKeys") {
            texts += purchases
        } else if let renewal = answer.renewalInfos.first, answer.transactions.isEmpty {
            texts += renewalInfo(renewal.payload)
        } else if let transaction = answer.appTransaction {
            texts += app(transaction.payload)
        } else {
            texts.append(Self.nothingNew)
        }
        if !answer.notifications.isEmpty {
            texts.append("Handle each notification in it once, by its notificationUUID.")
        }
        if codes.contains(.incomplete) { texts.append("Ask for the other pages: hasMore is true.") }
        if codes.contains(.customersMixed) {
            texts.append("It names several customers: ask for one at a time.")
        }
        return texts
    }

    // MARK: Names

    /// A name of the evidence, shortened. Apple's longest product id has 255 characters.
    static func name(_ text: String?, or other: String = "the purchase") -> String {
        guard let text, !text.isEmpty else { return other }
        return text.utf8.count <= 255
            ? text : String(decoding: text.utf8.prefix(255), as: UTF8.self)
    }
}

extension Verification {
    /// Its transactions with the keys of their purchases.
    fileprivate var keyedTransactions: [(String, JWSTransactionDecodedPayload)] {
        switch evidence {
        case .transaction(let transaction):
            dedupKey.map { [($0, transaction.payload)] } ?? []
        case .notification(let notification):
            notification.dedupKey.flatMap { key in
                notification.transaction.map { [(key, $0.payload)] }
            } ?? []
        case .serverAnswer(let answer):
            zip(answer.dedupKeys, answer.transactions).map { ($0, $1.payload) }
        default: []
        }
    }
}
