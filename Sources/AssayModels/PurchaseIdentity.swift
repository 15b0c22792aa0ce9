/// Names one purchase within its environment and app, in the same way for every kind of evidence.
///
/// A purchase can have several transaction ids: Apple makes a new one when a purchase is restored
/// or seen on another device, and a refund can name any of them.
package struct PurchaseIdentity: Hashable, Sendable {
    /// The transaction id, or the id of the original purchase.
    package let id: String
    /// Distinguishes the periods of one subscription; nil where `id` alone names the purchase.
    package let lineItem: String?

    private init(id: String, lineItem: String? = nil) {
        self.id = id
        self.lineItem = lineItem
    }
}

extension PurchaseIdentity {
    /// The products by how many transaction ids a purchase can have.
    private enum ProductClass {
        case subscription, ownedForever, boughtAgain
        /// The evidence does not name the type, or names one that this version does not know.
        case unknown

        init(_ type: InAppProductType?) {
            switch type {
            case .autoRenewableSubscription: self = .subscription
            case .nonConsumable: self = .ownedForever
            case .consumable, .nonRenewingSubscription: self = .boughtAgain
            default: self = .unknown
            }
        }
    }

    private init?(
        _ productClass: ProductClass, transaction: String?, original: String?, lineItem: String?,
        hasEnd: Bool
    ) {
        let lineItem = lineItem == "0" || lineItem == "" ? nil : lineItem
        let names = Self.names(productClass, hasLineItem: lineItem != nil, hasEnd: hasEnd)
        let id = names.original ? original ?? transaction : transaction ?? original
        guard let id else { return nil }
        self.init(id: id, lineItem: names.lineItem ? lineItem : nil)
    }

    /// Whether the id of the original purchase names this one rather than its own, and whether a
    /// line item does with it.
    private static func names(
        _ productClass: ProductClass, hasLineItem: Bool, hasEnd: Bool
    ) -> (original: Bool, lineItem: Bool) {
        switch productClass {
        case .ownedForever: (true, false)
        case .boughtAgain: (false, false)
        case .subscription: (hasLineItem, hasLineItem)
        // Only what is owned forever can be restored without a line item and an end.
        case .unknown: (hasLineItem || !hasEnd, hasLineItem)
        }
    }

    /// Returns nil if the transaction has no identifier.
    package init?(_ transaction: borrowing JWSTransactionDecodedPayload) {
        let productClass: ProductClass =
            switch transaction.type {
            case .autoRenewableSubscription: .subscription
            case .nonConsumable: .ownedForever
            case .consumable, .nonRenewingSubscription: .boughtAgain
            default: .unknown
            }
        self.init(
            productClass, transaction: transaction.transactionId,
            original: transaction.originalTransactionId,
            lineItem: transaction.webOrderLineItemId, hasEnd: transaction.expiresDate != nil)
    }

    /// Returns nil if the record has no identifier. Xcode writes 0 for every transaction: product
    /// and purchase date name the purchase then.
    package init?(_ record: borrowing InAppPurchaseReceipt) {
        if record.transactionId == "0" {
            guard let product = record.productId, let date = record.purchaseDate else {
                return nil
            }
            self.init(id: "0/" + product, lineItem: String(date.milliseconds))
            return
        }
        self.init(
            ProductClass(record.productType), transaction: record.transactionId,
            original: record.originalTransactionId,
            lineItem: record.webOrderLineItemId.map { String($0) },
            hasEnd: record.expiresDate != nil)
    }

    /// The same names of a record in its compact form, whose transaction id is not 0.
    package static func names(
        of record: InAppPurchases.Compact
    ) -> (id: InAppPurchases.TextSlice, lineItem: Int64?)? {
        let lineItem = record[.webOrderLineItemId].flatMap { $0 == 0 ? nil : $0 }
        let names = names(
            ProductClass(record[.productType].map(InAppProductType.init)),
            hasLineItem: lineItem != nil,
            hasEnd: record[.expiresDate] != nil)
        let (own, original) = (record[.transactionId], record[.originalTransactionId])
        let (first, second) = names.original ? (original, own) : (own, original)
        let id = first == .none ? second : first
        return id == .none ? nil : (id, names.lineItem ? lineItem : nil)
    }

    /// Returns nil if the receipt has no transaction identifier.
    package init?(_ receipt: borrowing TransactionReceipt) {
        self.init(
            .unknown, transaction: receipt.transactionId,
            original: receipt.originalTransactionId, lineItem: receipt.webOrderLineItemId,
            hasEnd: receipt.expiresDate != nil)
    }

    /// A purchase of another store.
    package init(purchaseToken: String) { self.init(id: purchaseToken) }

    /// The purchase of the app itself.
    package init(appTransactionId: String) {
        self.init(id: EvidenceKind.appTransaction.name, lineItem: appTransactionId)
    }
}
