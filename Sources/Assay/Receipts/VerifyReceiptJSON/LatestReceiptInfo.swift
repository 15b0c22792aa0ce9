import AssayBytes
package import AssayModels

/// An entry of `latest_receipt_info`: what a receipt's record has, and what only the App Store
/// knows of the purchase.
package struct LatestReceiptInfo: Equatable, Sendable {
    package var purchase: InAppPurchaseReceipt
    package var ownership: InAppOwnershipType?
    package var subscriptionGroupIdentifier: String?
    package var isUpgraded = false
    package var offerCodeName: String?
    package var appAccountToken: String?

    /// Creates the entry of a purchase that a receipt proves.
    package init(_ purchase: InAppPurchaseReceipt) { self.purchase = purchase }

    /// Creates the entry of a transaction of the App Store.
    package init(_ transaction: JWSTransactionDecodedPayload) {
        purchase = InAppPurchaseReceipt(transaction)
        ownership = transaction.inAppOwnershipType
        subscriptionGroupIdentifier = transaction.subscriptionGroupIdentifier
        isUpgraded = transaction.isUpgraded == true
        if transaction.offerType == .offerCode { offerCodeName = transaction.offerIdentifier }
        appAccountToken = transaction.appAccountToken
    }
}

extension InAppPurchaseReceipt {
    /// Creates the record that a receipt has of a transaction.
    package init(_ transaction: JWSTransactionDecodedPayload) {
        self.init()
        quantity = transaction.quantity.map { Int64($0) } ?? 1
        productId = transaction.productId
        transactionId = transaction.transactionId
        originalTransactionId = transaction.originalTransactionId
        purchaseDate = transaction.purchaseDate
        originalPurchaseDate = transaction.originalPurchaseDate
        // A receipt has an end of subscriptions that renew alone.
        let renews = transaction.type.map { $0 == .autoRenewableSubscription } ?? true
        expiresDate = renews ? transaction.expiresDate : nil
        productType = transaction.type.flatMap(InAppProductType.init)
        webOrderLineItemId = transaction.webOrderLineItemId.flatMap { Int64($0) }
        if webOrderLineItemId == 0 { webOrderLineItemId = nil }
        isTrialPeriod = transaction.isFreeTrial
        if expiresDate != nil {
            isInIntroOfferPeriod =
                transaction.offerType == .introductory && !transaction.isFreeTrial
        }
        if transaction.offerType == .promotional {
            promotionalOfferId = transaction.offerIdentifier
        }
        cancellationDate = transaction.revocationDate
        if cancellationDate != nil {
            cancellationReason = Int64(transaction.revocationReason?.rawValue ?? 0)
        }
    }

    /// Whether the record is of a subscription that renews. Others have no end in a receipt.
    package var isAutoRenewable: Bool {
        expiresDate != nil || productType == .autoRenewableSubscription
    }
}

extension JWSTransactionDecodedPayload {
    /// Older payloads name the offer but not its payment mode.
    fileprivate var isFreeTrial: Bool {
        guard offerType == .introductory else { return false }
        return offerDiscountType.map { $0 == .freeTrial } ?? (price == 0)
    }
}

extension InAppProductType {
    /// The code of a type in records of receipts; nil for a type that came later.
    fileprivate init?(_ type: ProductType) {
        switch type {
        case .nonConsumable: self = .nonConsumable
        case .consumable: self = .consumable
        case .nonRenewingSubscription: self = .nonRenewingSubscription
        case .autoRenewableSubscription: self = .autoRenewableSubscription
        default: return nil
        }
    }
}

/// What the App Store knows beside a receipt.
package enum KnownReceipt: Sendable {
    case app(LatestReceipt)
    case transaction(LatestTransactionReceipt)
}

/// What the App Store knows beside a transaction receipt of a subscription.
package struct LatestTransactionReceipt: Sendable {
    /// The receipt of the latest period, in base64, and its content.
    package var receipt: [UInt8]
    package var content: TransactionReceipt
    package var renewal: JWSRenewalInfoDecodedPayload

    package init(
        receipt: [UInt8], content: TransactionReceipt, renewal: JWSRenewalInfoDecodedPayload
    ) {
        self.receipt = receipt
        self.content = content
        self.renewal = renewal
    }
}

/// What the App Store knows beside an app receipt of a customer.
package struct LatestReceipt: Sendable {
    /// The newest receipt, in base64; empty if it is not at hand.
    package var receipt: [UInt8]
    /// The customer's transactions, in any order.
    package var transactions: [LatestReceiptInfo]
    /// The renewal of each subscription.
    package var renewals: [JWSRenewalInfoDecodedPayload]

    /// The number of transactions to list, the newest; nil for all.
    package var limit: Int?

    package init(
        receipt: [UInt8], transactions: [LatestReceiptInfo],
        renewals: [JWSRenewalInfoDecodedPayload], limit: Int? = Self.largestList
    ) {
        self.receipt = receipt
        self.transactions = transactions
        self.renewals = renewals
        self.limit = limit
    }

    /// Whether the customer has an auto-renewable subscription: by Apple's documentation,
    /// verifyReceipt says what is beside the receipt for these alone.
    var hasSubscription: Bool { transactions.contains { $0.purchase.isAutoRenewable } }

    /// Apple's answers and notifications list this number of transactions at most, the newest.
    package static let largestList = 100
}

extension JSONWriter {
    /// Writes `latest_receipt_info`, `latest_receipt` and `pending_renewal_info`.
    package mutating func members(of latest: LatestReceipt, excludingOld: Bool = false) {
        let list = LatestReceiptInfo.list(
            latest.transactions, excludingOld: excludingOld, isOldestFirst: false)
        member(listing: list.prefix(latest.limit ?? list.count))
        if !latest.receipt.isEmpty {
            member("latest_receipt", String(decoding: latest.receipt, as: UTF8.self))
        }
        guard !latest.renewals.isEmpty else { return }
        array("pending_renewal_info") { list in
            for renewal in latest.renewals { list.object { $0.members(of: renewal) } }
        }
    }

    /// Writes `latest_receipt_info`.
    mutating func member(listing entries: some Sequence<LatestReceiptInfo>) {
        array("latest_receipt_info") { array in
            for entry in entries { array.object { $0.members(of: entry) } }
        }
    }

    /// Writes what Apple's answers to transaction receipts have: the latest period, under another
    /// name where it is over.
    mutating func members(of latest: LatestTransactionReceipt, at now: Timestamp) {
        let isOver = latest.content.expiresDate.map { $0 <= now } ?? false
        object(isOver ? "latest_expired_receipt_info" : "latest_receipt_info") {
            $0.members(of: latest.content)
        }
        if !isOver { member("latest_receipt", String(decoding: latest.receipt, as: UTF8.self)) }
        member("auto_renew_status", latest.renewal.autoRenewStatus.map { Int64($0.rawValue) })
        member("auto_renew_product_id", latest.renewal.autoRenewProductId)
        guard isOver else { return }
        member("expiration_intent", latest.renewal.expirationIntent.map { String($0.rawValue) })
        let isRetried = latest.renewal.isInBillingRetryPeriod == true
        member("is_in_billing_retry_period", isRetried ? "1" : "0")
    }

    mutating func members(of entry: LatestReceiptInfo) {
        members(of: entry.purchase)
        member("in_app_ownership_type", entry.ownership?.rawValue)
        member("subscription_group_identifier", entry.subscriptionGroupIdentifier)
        if entry.isUpgraded { member("is_upgraded", "true") }
        member("offer_code_ref_name", entry.offerCodeName)
        member("app_account_token", entry.appAccountToken)
    }

    /// Writes an entry of `pending_renewal_info`, in Apple's order.
    private mutating func members(of renewal: JWSRenewalInfoDecodedPayload) {
        let intent = renewal.expirationIntent
        let isRetried = renewal.isInBillingRetryPeriod == true
        member("expiration_intent", intent.map { String($0.rawValue) })
        dates("grace_period_expires_date", renewal.gracePeriodExpiresDate)
        member("auto_renew_product_id", renewal.autoRenewProductId)
        // Apple says so of subscriptions whose period is over.
        if intent != nil || isRetried {
            member("is_in_billing_retry_period", isRetried ? "1" : "0")
        }
        member("product_id", renewal.productId)
        member("original_transaction_id", renewal.originalTransactionId)
        member("auto_renew_status", renewal.autoRenewStatus.map { String($0.rawValue) })
        if let status = renewal.priceIncreaseStatus {
            // A consent that was given looks like a price that needs none.
            if status == .notResponded { member("price_consent_status", "0") }
            member("price_increase_status", String(status.rawValue))
        }
        switch renewal.offerType {
        case .promotional?: member("promotional_offer_id", renewal.offerIdentifier)
        case .offerCode?: member("offer_code_ref_name", renewal.offerIdentifier)
        default: break
        }
    }
}

extension LatestReceiptInfo {
    /// The entries of `latest_receipt_info`, sorted by purchase date; entries of one date keep
    /// their order.
    ///
    /// - Parameter excludingOld: of each subscription, only the renewal that was bought last.
    static func list(
        _ entries: [LatestReceiptInfo], excludingOld: Bool, isOldestFirst: Bool
    ) -> [LatestReceiptInfo] {
        let latest = excludingOld ? latestRenewals(of: entries) : [:]
        var listed: [(date: Int64, entry: LatestReceiptInfo)] = []
        for (index, entry) in entries.enumerated() {
            let purchase = entry.purchase
            let subscription = purchase.expiresDate.map { _ in purchase.originalTransactionId }
            if let subscription, let last = latest[subscription], last.index != index { continue }
            listed.append((purchase.purchaseDate?.milliseconds ?? .min, entry))
        }
        let sorted =
            isOldestFirst
            ? listed.sorted { $0.date < $1.date } : listed.sorted { $0.date > $1.date }
        return sorted.map(\.entry)
    }

    /// The index of the latest renewal of each subscription, by its original transaction id. A
    /// longer period that an upgrade replaced ends later than it.
    private static func latestRenewals(of entries: [LatestReceiptInfo]) -> [String?: LastRenewal] {
        var latest: [String?: LastRenewal] = [:]
        for (index, entry) in entries.enumerated() {
            guard let ends = entry.purchase.expiresDate else { continue }
            let bought = entry.purchase.purchaseDate ?? Timestamp(milliseconds: .min)
            let original = entry.purchase.originalTransactionId
            if let last = latest[original], (last.bought, last.ends) > (bought, ends) { continue }
            latest[original] = (index, bought, ends)
        }
        return latest
    }

    private typealias LastRenewal = (index: Int, bought: Timestamp, ends: Timestamp)
}
