extension InAppPurchases {
    /// Where a text lies in the buffer that all records share.
    package struct TextSlice: Equatable, Sendable {
        @usableFromInline package let start: UInt32
        @usableFromInline package let count: UInt32

        @inlinable package init(start: UInt32, count: UInt32) {
            self.start = start
            self.count = count
        }

        var range: Range<Int> { Int(start)..<Int(start) + Int(count) }

        @inlinable package static var none: TextSlice { TextSlice(start: 0, count: 0) }
    }

    /// A record without its text. Whether a field is there takes one bit: Optionals would double
    /// what the records of a large receipt take. Absent fields are zero.
    package struct Compact: Equatable, Sendable {
        @usableFromInline package var present = Fields()
        @usableFromInline package var flags = Fields()
        @usableFromInline package var productTypeValue: Int64 = 0
        @usableFromInline package var quantityValue: Int64 = 0
        @usableFromInline package var webOrderLineItemIdValue: Int64 = 0
        @usableFromInline package var itemIdValue: Int64 = 0
        @usableFromInline package var cancellationReasonValue: Int64 = 0
        @usableFromInline package var purchaseDateValue: Int64 = 0
        @usableFromInline package var originalPurchaseDateValue: Int64 = 0
        @usableFromInline package var expiresDateValue: Int64 = 0
        @usableFromInline package var cancellationDateValue: Int64 = 0
        @usableFromInline package var productIdValue = TextSlice.none
        @usableFromInline package var transactionIdValue = TextSlice.none
        @usableFromInline package var originalTransactionIdValue = TextSlice.none
        @usableFromInline package var promotionalOfferIdValue = TextSlice.none

        package init() {}

        @usableFromInline package struct Fields: OptionSet, Sendable {
            @usableFromInline package var rawValue: UInt16

            @inlinable package init(rawValue: UInt16) { self.rawValue = rawValue }

            @inlinable package static var productType: Fields { Fields(rawValue: 1 << 0) }
            @inlinable package static var quantity: Fields { Fields(rawValue: 1 << 1) }
            @inlinable package static var webOrderLineItemId: Fields { Fields(rawValue: 1 << 2) }
            @inlinable package static var itemId: Fields { Fields(rawValue: 1 << 3) }
            @inlinable package static var cancellationReason: Fields { Fields(rawValue: 1 << 4) }
            @inlinable package static var purchaseDate: Fields { Fields(rawValue: 1 << 5) }
            @inlinable package static var originalPurchaseDate: Fields { Fields(rawValue: 1 << 6) }
            @inlinable package static var expiresDate: Fields { Fields(rawValue: 1 << 7) }
            @inlinable package static var cancellationDate: Fields { Fields(rawValue: 1 << 8) }
            @inlinable package static var productId: Fields { Fields(rawValue: 1 << 9) }
            @inlinable package static var transactionId: Fields { Fields(rawValue: 1 << 10) }
            @inlinable package static var originalTransactionId: Fields {
                Fields(rawValue: 1 << 11)
            }
            @inlinable package static var promotionalOfferId: Fields { Fields(rawValue: 1 << 12) }
            @inlinable package static var isTrialPeriod: Fields { Fields(rawValue: 1 << 13) }
            @inlinable package static var isInIntroOfferPeriod: Fields { Fields(rawValue: 1 << 14) }

            @inlinable package subscript(field: Fields) -> Bool {
                get { rawValue & field.rawValue != 0 }
                set {
                    rawValue =
                        newValue ? rawValue | field.rawValue : rawValue & ~field.rawValue
                }
            }
        }
    }
}

extension InAppPurchases.Compact {
    @inlinable package var quantity: Int64? {
        get { present[.quantity] ? quantityValue : nil }
        set {
            quantityValue = newValue ?? 0
            present[.quantity] = newValue != nil
        }
    }
    @inlinable package var webOrderLineItemId: Int64? {
        get { present[.webOrderLineItemId] ? webOrderLineItemIdValue : nil }
        set {
            webOrderLineItemIdValue = newValue ?? 0
            present[.webOrderLineItemId] = newValue != nil
        }
    }
    @inlinable package var itemId: Int64? {
        get { present[.itemId] ? itemIdValue : nil }
        set {
            itemIdValue = newValue ?? 0
            present[.itemId] = newValue != nil
        }
    }
    @inlinable package var cancellationReason: Int64? {
        get { present[.cancellationReason] ? cancellationReasonValue : nil }
        set {
            cancellationReasonValue = newValue ?? 0
            present[.cancellationReason] = newValue != nil
        }
    }
    @inlinable package var productType: InAppProductType? {
        get {
            present[.productType] ? InAppProductType(rawValue: productTypeValue) : nil
        }
        set {
            productTypeValue = newValue?.rawValue ?? 0
            present[.productType] = newValue != nil
        }
    }
    @inlinable package var purchaseDate: Timestamp? {
        get {
            present[.purchaseDate] ? Timestamp(milliseconds: purchaseDateValue) : nil
        }
        set {
            purchaseDateValue = newValue?.milliseconds ?? 0
            present[.purchaseDate] = newValue != nil
        }
    }
    @inlinable package var originalPurchaseDate: Timestamp? {
        get {
            present[.originalPurchaseDate]
                ? Timestamp(milliseconds: originalPurchaseDateValue) : nil
        }
        set {
            originalPurchaseDateValue = newValue?.milliseconds ?? 0
            present[.originalPurchaseDate] = newValue != nil
        }
    }
    @inlinable package var expiresDate: Timestamp? {
        get {
            present[.expiresDate] ? Timestamp(milliseconds: expiresDateValue) : nil
        }
        set {
            expiresDateValue = newValue?.milliseconds ?? 0
            present[.expiresDate] = newValue != nil
        }
    }
    @inlinable package var cancellationDate: Timestamp? {
        get {
            present[.cancellationDate] ? Timestamp(milliseconds: cancellationDateValue) : nil
        }
        set {
            cancellationDateValue = newValue?.milliseconds ?? 0
            present[.cancellationDate] = newValue != nil
        }
    }
    @inlinable package var productId: InAppPurchases.TextSlice? {
        get { present[.productId] ? productIdValue : nil }
        set {
            productIdValue = newValue ?? .none
            present[.productId] = newValue != nil
        }
    }
    @inlinable package var transactionId: InAppPurchases.TextSlice? {
        get { present[.transactionId] ? transactionIdValue : nil }
        set {
            transactionIdValue = newValue ?? .none
            present[.transactionId] = newValue != nil
        }
    }
    @inlinable package var originalTransactionId: InAppPurchases.TextSlice? {
        get { present[.originalTransactionId] ? originalTransactionIdValue : nil }
        set {
            originalTransactionIdValue = newValue ?? .none
            present[.originalTransactionId] = newValue != nil
        }
    }
    @inlinable package var promotionalOfferId: InAppPurchases.TextSlice? {
        get { present[.promotionalOfferId] ? promotionalOfferIdValue : nil }
        set {
            promotionalOfferIdValue = newValue ?? .none
            present[.promotionalOfferId] = newValue != nil
        }
    }
    @inlinable package var isTrialPeriod: Bool? {
        get { present[.isTrialPeriod] ? flags[.isTrialPeriod] : nil }
        set {
            flags[.isTrialPeriod] = newValue ?? false
            present[.isTrialPeriod] = newValue != nil
        }
    }
    @inlinable package var isInIntroOfferPeriod: Bool? {
        get {
            present[.isInIntroOfferPeriod] ? flags[.isInIntroOfferPeriod] : nil
        }
        set {
            flags[.isInIntroOfferPeriod] = newValue ?? false
            present[.isInIntroOfferPeriod] = newValue != nil
        }
    }
}
