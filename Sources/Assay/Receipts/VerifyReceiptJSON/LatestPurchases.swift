package import AssayModels

/// What the App Store Server API says of the customer of a receipt. Each payload is verified.
package struct LatestPurchases: Sendable {
    private(set) var transactions: [JWSTransactionDecodedPayload] = []
    private(set) var renewalInfos: [JWSRenewalInfoDecodedPayload] = []

    /// Takes the payloads of the answers that are valid.
    package init(_ verifications: some Sequence<Verification>) {
        for verification in verifications where verification.verdict == .valid {
            switch verification.evidence {
            case .serverAnswer(let answer):
                transactions += answer.transactions.map(\.payload)
                renewalInfos += answer.renewalInfos.map(\.payload)
            case .transaction(let transaction): transactions.append(transaction.payload)
            case .renewalInfo(let renewalInfo): renewalInfos.append(renewalInfo.payload)
            default: break
            }
        }
    }

    /// Whether the App Store lists the subscription that it was asked about. An answer without it
    /// says nothing about the receipt.
    package func has(_ subscription: InAppPurchaseReceipt) -> Bool {
        let id = subscription.originalTransactionId ?? subscription.transactionId
        return transactions.contains {
            $0.originalTransactionId == id || $0.transactionId == subscription.transactionId
                || $0.previousOriginalTransactionId == id
        }
    }

    /// The newest statement about each subscription, in the order of the answers.
    var renewals: [JWSRenewalInfoDecodedPayload] {
        Self.deciding(among: renewalInfos, by: \.originalTransactionId) {
            $0.signedDate ?? .distantPast < $1.signedDate ?? .distantPast
        }
    }

    /// Of the statements with one id, that which no other one replaces; in the order of the ids.
    /// Statements without an id are about nothing.
    private static func deciding<Statement>(
        among statements: some Sequence<Statement>, by id: (Statement) -> String?,
        isReplaced: (Statement, Statement) -> Bool
    ) -> [Statement] {
        var positions: [String: Int] = [:]
        var deciding: [Statement] = []
        for statement in statements {
            guard let id = id(statement) else { continue }
            if let position = positions[id] {
                if isReplaced(deciding[position], statement) { deciding[position] = statement }
            } else {
                positions[id] = deciding.count
                deciding.append(statement)
            }
        }
        return deciding
    }

    /// What is known of the customer of a receipt.
    ///
    /// - Parameter receiptData: the receipt as it was sent; nil if it was not kept.
    package func latestReceipt(with receipt: AppReceipt, receiptData: [UInt8]?) -> LatestReceipt {
        LatestReceipt(
            receipt: receiptData ?? [], transactions: purchases(with: receipt), renewals: renewals,
            limit: nil)
    }

    /// The purchases of the App Store's lists, and those that only the receipt has. Apple's
    /// endpoint omits consumables that the app has finished, which the lists can have: a consumable
    /// is listed if it is in the receipt.
    private func purchases(with receipt: AppReceipt) -> [LatestReceiptInfo] {
        var records: [String: InAppPurchaseReceipt] = [:]
        for record in receipt.inApp.withoutKeys {
            if let id = record.transactionId { records[id] = record }
        }
        let finished = { (transaction: JWSTransactionDecodedPayload) in
            transaction.type == .consumable
                && transaction.transactionId.flatMap { records[$0] } == nil
        }
        let newest = Self.deciding(
            among: transactions.lazy.filter { !finished($0) }, by: \.transactionId
        ) { $0.isOlder(than: $1) }
        let known = Set(newest.compactMap(\.transactionId))
        var listed = newest.map { transaction in
            LatestReceiptInfo(
                transaction, transaction.transactionId.flatMap { records[$0] },
                upgradedAt: Self.upgrade(of: transaction, among: newest))
        }
        for record in receipt.inApp.withoutKeys
        where record.transactionId.map({ !known.contains($0) }) ?? true {
            listed.append(LatestReceiptInfo(record))
        }
        return listed
    }

    /// When a later purchase of the same subscription or group replaced an upgraded one, which ends
    /// then. Nil for others.
    private static func upgrade(
        of transaction: JWSTransactionDecodedPayload, among all: [JWSTransactionDecodedPayload]
    ) -> Timestamp? {
        guard transaction.isUpgraded == true, let begin = transaction.purchaseDate else {
            return nil
        }
        let later = all.lazy.filter { other in
            let isOfGroup =
                other.subscriptionGroupIdentifier != nil
                && other.subscriptionGroupIdentifier == transaction.subscriptionGroupIdentifier
            return isOfGroup || other.originalTransactionId == transaction.originalTransactionId
        }
        return later.compactMap(\.purchaseDate).filter { begin < $0 }.min()
    }
}

extension LatestReceiptInfo {
    /// Creates the entry of a purchase that the App Store lists.
    ///
    /// - Parameters:
    ///   - known: the record of the receipt, which says which offer it was.
    ///   - end: when an upgrade replaced it.
    fileprivate init(
        _ transaction: JWSTransactionDecodedPayload, _ known: InAppPurchaseReceipt?,
        upgradedAt end: Timestamp?
    ) {
        self.init(transaction)
        purchase.originalTransactionId =
            purchase.originalTransactionId ?? purchase.transactionId
        purchase.isTrialPeriod = known?.isTrialPeriod ?? purchase.isTrialPeriod
        purchase.isInIntroOfferPeriod =
            known?.isInIntroOfferPeriod ?? purchase.isInIntroOfferPeriod
        purchase.promotionalOfferId = purchase.promotionalOfferId ?? known?.promotionalOfferId
        purchase.cancellationDate = purchase.cancellationDate ?? end
    }
}

extension JWSTransactionDecodedPayload {
    /// Whether another statement about the purchase decides. Of two of one time, that decides which
    /// has the refund.
    fileprivate func isOlder(than other: JWSTransactionDecodedPayload) -> Bool {
        let (own, others) = (signedDate ?? .distantPast, other.signedDate ?? .distantPast)
        return own < others || own == others && revocationDate == nil
    }
}

extension Timestamp {
    /// Before all dates of evidence: the place of a missing date.
    fileprivate static let distantPast = Timestamp(milliseconds: .min)
}

extension Verification {
    /// The auto-renewable subscription of a valid app receipt that was bought last, about which the
    /// App Store can be asked. Nil without any.
    package var latestSubscription: InAppPurchaseReceipt? {
        guard verdict == .valid, case .appReceipt(let receipt) = evidence else { return nil }
        var latest: InAppPurchaseReceipt?
        for record in receipt.inApp.withoutKeys
        where record.isAutoRenewable && record.transactionId?.isEmpty == false {
            let date = latest?.purchaseDate ?? .distantPast
            if latest == nil || date < record.purchaseDate ?? .distantPast { latest = record }
        }
        return latest
    }

    /// Whether an answer of the App Store is about the environment of this receipt. One that names
    /// none is of Production.
    package func isOf(_ environment: StoreEnvironment) -> Bool {
        self.environment?.nameOfApple == environment.rawValue
    }
}
