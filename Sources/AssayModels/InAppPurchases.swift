/// The in-app records of a receipt in compact form: a receipt of many megabytes has tens of
/// thousands. All text is in one buffer; a subscript builds the full record.
public struct InAppPurchases: RandomAccessCollection, Equatable, Sendable {
    @usableFromInline var text: [UInt8] = []
    @usableFromInline var records: [Compact] = []
    /// Attributes without a field, by the index of their record.
    @usableFromInline var unknown: [Int: [ReceiptAttribute]] = [:]
    /// The beginning of the records' keys; nil before the receipt is verified.
    package var keyPrefix: KeyPrefix?
    /// The keys of records that were appended with one, by the index of their record.
    private var keys: [Int: TextSlice] = [:]

    /// Creates an empty value.
    public init() {}

    /// The index of the first record.
    public var startIndex: Int { 0 }
    /// The number of records.
    public var endIndex: Int { records.count }

    /// The record at a position, built from the compact form.
    public subscript(position: Int) -> InAppPurchaseReceipt {
        var purchase = record(at: position)
        if let key = keys[position] {
            purchase.dedupKey = string(key)
        } else if let keyPrefix {
            purchase.dedupKey = PurchaseIdentity(purchase).map { keyPrefix.key(of: $0) }
        }
        return purchase
    }

    /// The records without the work of their keys.
    package var withoutKeys: InAppPurchases {
        var copy = self
        copy.keyPrefix = nil
        copy.keys = [:]
        return copy
    }

    /// The text of all records.
    @inlinable package var allText: [UInt8] {
        @inline(__always)
        get { text }
    }

    /// A record without attributes that have no field, without a key of its own, and not of
    /// Xcode, whose transactions are all 0; nil for another, which the subscript has.
    package func plain(at position: Int) -> Compact? {
        let record = records[position]
        let id = record[.transactionId]
        guard unknown[position] == nil, keys[position] == nil,
            id.count != 1 || text[Int(id.start)] != UInt8(ascii: "0")
        else { return nil }
        return record
    }

    private func record(at position: Int) -> InAppPurchaseReceipt {
        let record = records[position]
        var purchase = InAppPurchaseReceipt()
        purchase.quantity = record[.quantity]
        purchase.productId = string(record[.productId])
        purchase.transactionId = string(record[.transactionId])
        purchase.originalTransactionId = string(record[.originalTransactionId])
        purchase.promotionalOfferId = string(record[.promotionalOfferId])
        purchase.purchaseDate = record[.purchaseDate].map(Timestamp.init)
        purchase.originalPurchaseDate = record[.originalPurchaseDate].map(Timestamp.init)
        purchase.expiresDate = record[.expiresDate].map(Timestamp.init)
        purchase.cancellationDate = record[.cancellationDate].map(Timestamp.init)
        purchase.webOrderLineItemId = record[.webOrderLineItemId]
        purchase.productType = record[.productType].map(InAppProductType.init)
        purchase.itemId = record[.itemId]
        purchase.isTrialPeriod = record[.isTrialPeriod].map { $0 != 0 }
        purchase.isInIntroOfferPeriod = record[.isInIntroOfferPeriod].map { $0 != 0 }
        purchase.cancellationReason = record[.cancellationReason]
        purchase.unknownAttributes = unknown[position] ?? []
        return purchase
    }

    private func string(_ slice: TextSlice) -> String? {
        slice == .none ? nil : String(decoding: text[slice.range], as: UTF8.self)
    }

    /// Appends a record.
    public mutating func append(_ purchase: InAppPurchaseReceipt) {
        var record = Compact()
        record[.quantity] = purchase.quantity
        record[.purchaseDate] = purchase.purchaseDate?.milliseconds
        record[.originalPurchaseDate] = purchase.originalPurchaseDate?.milliseconds
        record[.expiresDate] = purchase.expiresDate?.milliseconds
        record[.cancellationDate] = purchase.cancellationDate?.milliseconds
        record[.webOrderLineItemId] = purchase.webOrderLineItemId
        record[.productType] = purchase.productType?.rawValue
        record[.itemId] = purchase.itemId
        record[.isTrialPeriod] = purchase.isTrialPeriod.map { $0 ? 1 : 0 }
        record[.isInIntroOfferPeriod] = purchase.isInIntroOfferPeriod.map { $0 ? 1 : 0 }
        record[.cancellationReason] = purchase.cancellationReason
        var strings: [UInt8] = []
        func keep(_ string: String?) -> TextSlice {
            let start = strings.count
            strings += Array((string ?? "").utf8)
            return start == strings.count ? .none : TextSlice(start..<strings.count)
        }
        record[.productId] = keep(purchase.productId)
        record[.transactionId] = keep(purchase.transactionId)
        record[.originalTransactionId] = keep(purchase.originalTransactionId)
        record[.promotionalOfferId] = keep(purchase.promotionalOfferId)
        append(record, unknown: purchase.unknownAttributes) { output in
            for octet in strings { output.append(octet) }
        }
        if let key = purchase.dedupKey {
            let start = text.count
            text += Array(key.utf8)
            keys[records.count - 1] = TextSlice(start..<text.count)
        }
    }

    /// Appends a record whose text is in another buffer.
    /// - Parameter copy: Appends the texts to the output, in the order of their fields. A parameter
    ///   because the caller's copy is faster than a generic one.
    @inlinable @inline(__always)
    package mutating func append(
        _ record: Compact, unknown attributes: [ReceiptAttribute],
        copy: (inout OutputSpan<UInt8>) -> Void
    ) {
        if !attributes.isEmpty { unknown[records.count] = attributes }
        append(record, copy: copy)
    }

    /// Appends a record without attributes of unknown type, in the same way.
    @inlinable @inline(__always)
    package mutating func append(
        _ record: Compact, copy: (inout OutputSpan<UInt8>) -> Void
    ) {
        var record = record
        let start = UInt32(text.count)
        var end = start
        for field in record.texts.indices where record.texts[field].count > 0 {
            let count = record.texts[field].count
            record.texts[field] = TextSlice(start: end, count: count)
            end += count
        }
        // Appending nothing to an empty array writes to the storage that all empty arrays share.
        if end > start { text.append(addingCapacity: Int(end - start)) { copy(&$0) } }
        records.append(record)
    }

    /// Reserves capacity for `count` more records with `textBytes` of text each, if the storage
    /// is full. Grows at least twofold, to amortize the moves.
    package mutating func reserve(_ count: Int, textBytes: Int) {
        if records.count == records.capacity {
            records.reserveCapacity(records.count + Swift.max(count, records.count))
        }
        if text.capacity - text.count < textBytes {
            text.reserveCapacity(text.count + Swift.max(count * textBytes, text.count))
        }
    }

    /// Whether the next record needs a reallocation.
    @inlinable package var isFull: Bool { records.count == records.capacity }

    /// Replaces a record. Reuses the place of the old text where the new text is not longer.
    @inlinable @inline(__always)
    package mutating func replace(
        at index: Int, with record: Compact, unknown attributes: [ReceiptAttribute], copy: TextCopy
    ) {
        if !unknown.isEmpty || !attributes.isEmpty {
            unknown[index] = attributes.isEmpty ? nil : attributes
        }
        var record = record
        keepText(of: &record, replacing: records[index].texts, copy)
        records[index] = record
    }

    @usableFromInline package typealias TextCopy = (Range<Int>, Int, inout [UInt8]) -> Void

    @inlinable package subscript(compact index: Int) -> Compact {
        @inline(__always)
        get { records[index] }
    }

    /// The memory of records and text, in bytes. Reserved memory that a large array has not
    /// touched is not resident, so it does not count in full.
    package var heldBytes: Int {
        let stride = MemoryLayout<Compact>.stride
        return Swift.min(text.capacity, text.count + Self.reserveLimit)
            + Swift.min(records.capacity * stride, records.count * stride + Self.reserveLimit)
    }

    private static let reserveLimit = 16 << 10

    @inlinable @inline(__always)
    mutating func keepText(
        of record: inout Compact, replacing old: [4 of TextSlice], _ copy: TextCopy
    ) {
        for field in old.indices where record.texts[field].count > 0 {
            let slice = record.texts[field]
            let start = slice.count <= old[field].count ? Int(old[field].start) : text.count
            copy(slice.range, start, &text)
            record.texts[field] = TextSlice(start: UInt32(start), count: slice.count)
        }
    }

    /// Whether both have equal records in the same order.
    public static func == (left: Self, right: Self) -> Bool {
        left.count == right.count && zip(left, right).allSatisfy { $0 == $1 }
    }
}
