/// The in-app records of a receipt, kept compactly: a receipt of many megabytes has tens of
/// thousands. Text lies in one buffer; a record becomes a value when it is looked at.
public struct InAppPurchases: RandomAccessCollection, Equatable, Sendable {
    private var text: [UInt8] = []
    private var records: [Compact] = []
    /// Attributes without a name here, by the position of their record.
    private var unknown: [Int: [ReceiptAttribute]] = [:]

    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { records.count }

    public subscript(position: Int) -> InAppPurchaseReceipt {
        let record = records[position]
        var purchase = InAppPurchaseReceipt()
        purchase.quantity = record.quantity
        purchase.productId = string(record.productId)
        purchase.transactionId = string(record.transactionId)
        purchase.originalTransactionId = string(record.originalTransactionId)
        purchase.promotionalOfferId = string(record.promotionalOfferId)
        purchase.purchaseDate = record.purchaseDate
        purchase.originalPurchaseDate = record.originalPurchaseDate
        purchase.expiresDate = record.expiresDate
        purchase.cancellationDate = record.cancellationDate
        purchase.webOrderLineItemId = record.webOrderLineItemId
        purchase.productType = record.productType
        purchase.itemId = record.itemId
        purchase.isTrialPeriod = record.isTrialPeriod
        purchase.isInIntroOfferPeriod = record.isInIntroOfferPeriod
        purchase.cancellationReason = record.cancellationReason
        purchase.unknownAttributes = unknown[position] ?? []
        return purchase
    }

    private func string(_ slice: TextSlice?) -> String? {
        slice.map { String(decoding: text[$0.range], as: UTF8.self) }
    }

    /// The octets of a text field.
    package func octets(_ slice: TextSlice?) -> ArraySlice<UInt8>? {
        slice.map { text[$0.range] }
    }

    /// Appends a record.
    public mutating func append(_ purchase: InAppPurchaseReceipt) {
        var record = Compact()
        record.quantity = purchase.quantity
        record.productId = keep(purchase.productId)
        record.transactionId = keep(purchase.transactionId)
        record.originalTransactionId = keep(purchase.originalTransactionId)
        record.promotionalOfferId = keep(purchase.promotionalOfferId)
        record.purchaseDate = purchase.purchaseDate
        record.originalPurchaseDate = purchase.originalPurchaseDate
        record.expiresDate = purchase.expiresDate
        record.cancellationDate = purchase.cancellationDate
        record.webOrderLineItemId = purchase.webOrderLineItemId
        record.productType = purchase.productType
        record.itemId = purchase.itemId
        record.isTrialPeriod = purchase.isTrialPeriod
        record.isInIntroOfferPeriod = purchase.isInIntroOfferPeriod
        record.cancellationReason = purchase.cancellationReason
        append(record, unknown: purchase.unknownAttributes)
    }

    private mutating func keep(_ string: String?) -> TextSlice? {
        guard let octets = string.map({ Array($0.utf8) }) else { return nil }
        return keep(octets.span, replacing: nil) { $0 += octets }
    }

    package mutating func append(_ record: Compact, unknown attributes: [ReceiptAttribute]) {
        if !attributes.isEmpty { unknown[records.count] = attributes }
        records.append(record)
    }

    package mutating func replace(
        at index: Int, with record: Compact, unknown attributes: [ReceiptAttribute]
    ) {
        unknown[index] = attributes.isEmpty ? nil : attributes
        records[index] = record
    }

    package subscript(compact index: Int) -> Compact { records[index] }

    /// Keeps those octets for a record to refer to, in the place of others where they fit there.
    /// - Parameter append: appends the octets; quicker than anything that can be said here.
    @inline(__always)
    package mutating func keep(
        _ octets: Span<UInt8>, replacing old: TextSlice?, append: (inout [UInt8]) -> Void
    ) -> TextSlice {
        if let old, octets.count <= Int(old.count) {
            for index in octets.indices { text[Int(old.start) + index] = octets[index] }
            return TextSlice(start: old.start, count: UInt32(octets.count))
        }
        let start = text.count
        append(&text)
        return TextSlice(start: UInt32(start), count: UInt32(octets.count))
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 }
    }
}
