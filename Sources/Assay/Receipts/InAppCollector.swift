import AssayModels

/// Reads in-app records (attribute 17) and keeps those that the caller asked for.
///
/// Every record is read whatever the selection: a broken one refuses the receipt all the same.
struct InAppCollector {
    private(set) var purchases = InAppPurchases()
    private let selection: InAppSelection
    /// The product of `InAppSelection.product`.
    private let selectedProduct: [UInt8]
    private let expected: ExpectedRecord?
    /// Product and transaction id of the first record that the caller expects.
    private(set) var expectedProduct: String?
    private(set) var expectedTransaction: String?
    private var hasExpected = false
    /// Positions of the latest records so far, by original transaction id.
    private var latest: [SubscriptionId: Int] = [:]
    private var lastId = SubscriptionId(octets: [])
    private var lastPosition: Int?
    private var unknown = UnknownAttributes()
    private(set) var layouts: InAppLayouts

    init(
        _ selection: InAppSelection, expecting expectations: Expectations, layouts: InAppLayouts
    ) {
        self.layouts = layouts
        self.selection = selection
        selectedProduct =
            if case .product(let product) = selection { Array(product.utf8) } else { [] }
        expected = ExpectedRecord(expectations)
    }

    /// - Parameters:
    ///   - octets: the content of the attribute's OCTET STRING, a SET of attributes.
    ///   - arrived: octets of the receipt that are there, from this record on: more records,
    ///     mostly.
    mutating func read(_ octets: Span<UInt8>, arrived: Int) throws(DERError) {
        let record = try layouts.read(octets)
        if let expected, !hasExpected { note(record, octets, expected) }
        switch selection {
        case .none: return
        case .all:
            if purchases.isFull { reserve(record, octets.count, arrived) }
            append(record, octets)
        case .product:
            let id = octets.extracting(record[.productId].range)
            if id.count > 0, id.equals(selectedProduct) { append(record, octets) }
        case .latest: keepLatest(record, octets)
        }
    }

    /// Expectations hold for the receipt where they hold for one of its records, kept or not; a
    /// product and a transaction id for one that has both.
    private mutating func note(
        _ record: InAppPurchases.Compact, _ octets: Span<UInt8>, _ expected: ExpectedRecord
    ) {
        let product = octets.extracting(record[.productId].range)
        let transactionId = octets.extracting(record[.transactionId].range)
        guard expected.matches(product: product, transactionId: transactionId) else { return }
        hasExpected = true
        expectedProduct = String(decoding: product.array, as: UTF8.self)
        expectedTransaction = String(decoding: transactionId.array, as: UTF8.self)
    }

    private mutating func append(_ record: InAppPurchases.Compact, _ octets: Span<UInt8>) {
        purchases.append(record, unknown: unknown(octets)) {
            octets.extracting($0).copy(to: &$2, at: $1)
        }
    }

    /// Room for as many records as have arrived, by the size of this one. What is reserved stays
    /// below what has arrived, so that a receipt cannot have more by what it declares.
    private mutating func reserve(
        _ record: InAppPurchases.Compact, _ size: Int, _ arrived: Int
    ) {
        let text = (0..<4).reduce(0) { $0 + Int(record.texts[$1].count) }
        purchases.reserve(
            arrived / max(size, Limits.smallestReservedRecordBytes),
            textBytes: min(text, Limits.largestReservedTextBytes))
    }

    private mutating func keepLatest(_ record: InAppPurchases.Compact, _ octets: Span<UInt8>) {
        var slice = record[.originalTransactionId]
        if slice.count == 0 { slice = record[.transactionId] }
        let id = octets.extracting(slice.range)
        guard let index = position(ofLatest: id) else {
            lastId = SubscriptionId(octets: id.array)
            lastPosition = purchases.count
            latest[lastId] = purchases.count
            append(record, octets)
            return
        }
        let kept = purchases[compact: index]
        let keptDate = kept[.expiresDate] ?? kept[.purchaseDate]
        let date = record[.expiresDate] ?? record[.purchaseDate]
        guard let date, keptDate.map({ $0 < date }) ?? true else { return }
        purchases.replace(at: index, with: record, unknown: unknown(octets)) {
            octets.extracting($0).copy(to: &$2, at: $1)
        }
    }

    /// Renewals mostly follow one another, so the last subscription is asked for first.
    private mutating func position(ofLatest id: Span<UInt8>) -> Int? {
        if let lastPosition, id.equals(lastId.octets) { return lastPosition }
        let key = SubscriptionId(octets: id.array)
        guard let position = latest[key] else { return nil }
        (lastId, lastPosition) = (key, position)
        return position
    }

    /// The attributes without a name of the record that was read.
    private mutating func unknown(_ octets: Span<UInt8>) -> [ReceiptAttribute] {
        guard !layouts.unknown.isEmpty else { return [] }
        let bytes = layouts.unknown.reduce(0) { $0 + $1.value.content.count }
        guard unknown.keeps(layouts.unknown.count, bytes: bytes) else { return [] }
        return layouts.unknown.map {
            ReceiptAttribute(
                type: $0.type, version: $0.version, value: octets.array($0.value.content))
        }
    }

    /// Memory of what is kept.
    var heldBytes: Int {
        purchases.heldBytes + unknown.bytes + latest.capacity * Self.latestBytes
            + layouts.heldBytes
    }

    /// An original transaction id with its position: an entry, and the array that it refers to.
    private static let latestBytes = 96
}

/// Attributes without a name that are kept for the caller, as far as there is room for them.
struct UnknownAttributes: Sendable {
    private var count = 0
    private(set) var bytes = 0

    /// Whether there is room for these, too.
    mutating func keeps(_ count: Int, bytes: Int) -> Bool {
        guard self.count + count <= Limits.receiptUnknownAttributes,
            self.bytes + bytes <= Limits.receiptUnknownBytes
        else { return false }
        self.count += count
        self.bytes += bytes
        return true
    }
}

/// An original transaction id.
private struct SubscriptionId: Hashable {
    let octets: [UInt8]

    /// All at once; an array would be hashed byte by byte.
    func hash(into hasher: inout Hasher) { octets.span.hash(into: &hasher) }
}
