extension InAppPurchases {
    /// Where a text lies in the buffer that all records share.
    package struct TextSlice: Equatable, Sendable {
        let start: UInt32
        let count: UInt32
        var range: Range<Int> { Int(start)..<Int(start) + Int(count) }

        fileprivate static let none = TextSlice(start: 0, count: 0)
    }

    /// A record without its text. Whether a field is there takes one bit: Optionals would double
    /// what the records of a large receipt take. Absent fields are zero.
    package struct Compact: Equatable, Sendable {
        private var present = Fields()
        private var flags = Fields()
        private var productTypeValue: Int64 = 0
        private var quantityValue: Int64 = 0
        private var webOrderLineItemIdValue: Int64 = 0
        private var itemIdValue: Int64 = 0
        private var cancellationReasonValue: Int64 = 0
        private var purchaseDateValue: Int64 = 0
        private var originalPurchaseDateValue: Int64 = 0
        private var expiresDateValue: Int64 = 0
        private var cancellationDateValue: Int64 = 0
        private var productIdValue = TextSlice.none
        private var transactionIdValue = TextSlice.none
        private var originalTransactionIdValue = TextSlice.none
        private var promotionalOfferIdValue = TextSlice.none

        package init() {}

        private struct Fields: OptionSet, Sendable {
            let rawValue: UInt16

            static let productType = Fields(rawValue: 1 << 0)
            static let quantity = Fields(rawValue: 1 << 1)
            static let webOrderLineItemId = Fields(rawValue: 1 << 2)
            static let itemId = Fields(rawValue: 1 << 3)
            static let cancellationReason = Fields(rawValue: 1 << 4)
            static let purchaseDate = Fields(rawValue: 1 << 5)
            static let originalPurchaseDate = Fields(rawValue: 1 << 6)
            static let expiresDate = Fields(rawValue: 1 << 7)
            static let cancellationDate = Fields(rawValue: 1 << 8)
            static let productId = Fields(rawValue: 1 << 9)
            static let transactionId = Fields(rawValue: 1 << 10)
            static let originalTransactionId = Fields(rawValue: 1 << 11)
            static let promotionalOfferId = Fields(rawValue: 1 << 12)
            static let isTrialPeriod = Fields(rawValue: 1 << 13)
            static let isInIntroOfferPeriod = Fields(rawValue: 1 << 14)

            subscript(field: Fields) -> Bool {
                get { contains(field) }
                set { self = newValue ? union(field) : subtracting(field) }
            }
        }
    }
}

extension InAppPurchases.Compact {
    package var quantity: Int64? {
        get { present[.quantity] ? quantityValue : nil }
        set {
            quantityValue = newValue ?? 0
            present[.quantity] = newValue != nil
        }
    }
    package var webOrderLineItemId: Int64? {
        get { present[.webOrderLineItemId] ? webOrderLineItemIdValue : nil }
        set {
            webOrderLineItemIdValue = newValue ?? 0
            present[.webOrderLineItemId] = newValue != nil
        }
    }
    package var itemId: Int64? {
        get { present[.itemId] ? itemIdValue : nil }
        set {
            itemIdValue = newValue ?? 0
            present[.itemId] = newValue != nil
        }
    }
    package var cancellationReason: Int64? {
        get { present[.cancellationReason] ? cancellationReasonValue : nil }
        set {
            cancellationReasonValue = newValue ?? 0
            present[.cancellationReason] = newValue != nil
        }
    }
    package var productType: InAppProductType? {
        get { present[.productType] ? InAppProductType(rawValue: productTypeValue) : nil }
        set {
            productTypeValue = newValue?.rawValue ?? 0
            present[.productType] = newValue != nil
        }
    }
    package var purchaseDate: Timestamp? {
        get { present[.purchaseDate] ? Timestamp(milliseconds: purchaseDateValue) : nil }
        set {
            purchaseDateValue = newValue?.milliseconds ?? 0
            present[.purchaseDate] = newValue != nil
        }
    }
    package var originalPurchaseDate: Timestamp? {
        get {
            present[.originalPurchaseDate]
                ? Timestamp(milliseconds: originalPurchaseDateValue) : nil
        }
        set {
            originalPurchaseDateValue = newValue?.milliseconds ?? 0
            present[.originalPurchaseDate] = newValue != nil
        }
    }
    package var expiresDate: Timestamp? {
        get { present[.expiresDate] ? Timestamp(milliseconds: expiresDateValue) : nil }
        set {
            expiresDateValue = newValue?.milliseconds ?? 0
            present[.expiresDate] = newValue != nil
        }
    }
    package var cancellationDate: Timestamp? {
        get { present[.cancellationDate] ? Timestamp(milliseconds: cancellationDateValue) : nil }
        set {
            cancellationDateValue = newValue?.milliseconds ?? 0
            present[.cancellationDate] = newValue != nil
        }
    }
    package var productId: InAppPurchases.TextSlice? {
        get { present[.productId] ? productIdValue : nil }
        set {
            productIdValue = newValue ?? .none
            present[.productId] = newValue != nil
        }
    }
    package var transactionId: InAppPurchases.TextSlice? {
        get { present[.transactionId] ? transactionIdValue : nil }
        set {
            transactionIdValue = newValue ?? .none
            present[.transactionId] = newValue != nil
        }
    }
    package var originalTransactionId: InAppPurchases.TextSlice? {
        get { present[.originalTransactionId] ? originalTransactionIdValue : nil }
        set {
            originalTransactionIdValue = newValue ?? .none
            present[.originalTransactionId] = newValue != nil
        }
    }
    package var promotionalOfferId: InAppPurchases.TextSlice? {
        get { present[.promotionalOfferId] ? promotionalOfferIdValue : nil }
        set {
            promotionalOfferIdValue = newValue ?? .none
            present[.promotionalOfferId] = newValue != nil
        }
    }
    package var isTrialPeriod: Bool? {
        get { present[.isTrialPeriod] ? flags[.isTrialPeriod] : nil }
        set {
            flags[.isTrialPeriod] = newValue ?? false
            present[.isTrialPeriod] = newValue != nil
        }
    }
    package var isInIntroOfferPeriod: Bool? {
        get { present[.isInIntroOfferPeriod] ? flags[.isInIntroOfferPeriod] : nil }
        set {
            flags[.isInIntroOfferPeriod] = newValue ?? false
            present[.isInIntroOfferPeriod] = newValue != nil
        }
    }
}
