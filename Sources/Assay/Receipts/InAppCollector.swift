import AssayBytes
import AssayModels

/// Reads in-app records (attribute 17) and keeps those that the caller asked for.
///
/// Reads every record, whatever the selection: a receipt with a broken record is always refused.
struct InAppCollector {
    private(set) var purchases = InAppPurchases()
    private let selection: InAppSelection
    /// The product id of `InAppSelection.product`.
    private let selectedProduct: [UInt8]
    private let expected: ExpectedRecord?
    /// Product id and transaction id of the first record that meets the expectations.
    private(set) var expectedProduct: String?
    private(set) var expectedTransaction: String?
    private var hasExpected = false
    /// Positions of the latest records so far, by original transaction id.
    private var latest = LatestPositions()
    /// The position that was found last.
    private var lastPosition: Int?
    private var unknown = UnknownAttributes()
    /// The records that were read, kept or not.
    private(set) var recordCount = 0
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

    /// Reads the attribute at the front of the bytes if it is a record of a known layout, and
    /// keeps the record if it is selected. Returns the attribute's size; nil, with nothing read,
    /// for any other attribute and for a record with an error.
    ///
    /// - Parameters:
    ///   - bytes: octets of the receipt that are in memory; mostly more records.
    ///   - meanwhile: called between the stages.
    @inline(__always)
    mutating func readKnown(_ bytes: Span<UInt8>, meanwhile: () -> Void) -> Int? {
        var record = InAppPurchases.Compact()
        guard let content = layouts.readAtOnce(bytes, into: &record) else {
            return readOther(bytes, meanwhile: meanwhile)
        }
        meanwhile()
        keep(record, bytes.extracting(content), arrived: bytes.count)
        return content.upperBound
    }

    /// Reads a record of a known layout that vector instructions cannot read.
    @inline(never)
    private mutating func readOther(_ bytes: Span<UInt8>, meanwhile: () -> Void) -> Int? {
        guard let slot = layouts.slot(of: bytes) else { return nil }
        meanwhile()
        guard let (record, content) = layouts.readKnown(bytes, slot) else { return nil }
        meanwhile()
        keep(record, bytes.extracting(content), arrived: bytes.count)
        return content.upperBound
    }

    /// Reads one in-app record and keeps it if it is selected.
    ///
    /// - Parameters:
    ///   - attribute: the attribute with its header.
    ///   - content: the range of the OCTET STRING's content, a SET of attributes.
    ///   - arrived: octets of the receipt that are in memory, from this attribute on.
    mutating func read(
        _ attribute: Span<UInt8>, _ content: Range<Int>, arrived: Int
    ) throws(DERError) {
        let record = try layouts.read(attribute, content)
        keep(record, attribute.extracting(content), arrived: arrived)
    }

    @inline(__always)
    private mutating func keep(
        _ record: InAppPurchases.Compact, _ octets: Span<UInt8>, arrived: Int
    ) {
        recordCount &+= 1
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

    /// Notes the first record that meets the expectations, whether it is kept or not. One such
    /// record is enough for the receipt. An expected product and transaction id have to be in the
    /// same record.
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

    @inline(__always)
    private mutating func append(_ record: InAppPurchases.Compact, _ octets: Span<UInt8>) {
        if layouts.unknown.isEmpty {
            purchases.append(record) { Self.appendTexts(of: record, octets, to: &$0) }
        } else {
            purchases.append(record, unknown: unknown(octets)) {
                Self.appendTexts(of: record, octets, to: &$0)
            }
        }
    }

    @inline(__always)
    private static func appendTexts(
        of record: InAppPurchases.Compact, _ octets: Span<UInt8>,
        to output: inout OutputSpan<UInt8>
    ) {
        for field in record.texts.indices where record.texts[field].count > 0 {
            octets.extracting(record.texts[field].range).appendIdentifier(to: &output)
        }
    }

    /// Reserves memory for the records that have arrived, estimated from the size of this one.
    /// The reservation stays below the arrived bytes, so lengths that a receipt declares cannot
    /// raise it.
    private mutating func reserve(
        _ record: InAppPurchases.Compact, _ size: Int, _ arrived: Int
    ) {
        let text = (0..<4).reduce(0) { $0 + Int(record.texts[$1].count) }
        purchases.reserve(
            arrived / max(size, Limits.smallestReservedRecordBytes),
            textBytes: min(text, Limits.largestReservedTextBytes))
    }

    private mutating func keepLatest(_ record: InAppPurchases.Compact, _ octets: Span<UInt8>) {
        let id = octets.extracting(Self.subscriptionId(of: record).range)
        guard let index = position(ofLatest: id) else {
            lastPosition = purchases.count
            append(record, octets)
            return
        }
        let kept = purchases[compact: index]
        let keptDate = kept[.expiresDate] ?? kept[.purchaseDate]
        let date = record[.expiresDate] ?? record[.purchaseDate]
        guard let date, keptDate.map({ $0 < date }) ?? true else { return }
        let unknown = layouts.unknown.isEmpty ? [] : unknown(octets)
        purchases.replace(at: index, with: record, unknown: unknown) { range, start, text in
            let new = octets.extracting(range)
            // A renewal has the product and the original of the period before.
            let end = start + new.count
            guard end > text.count || !new.equals(text.span.extracting(start..<end)) else { return }
            new.copy(to: &text, at: start)
        }
    }

    /// The original transaction id, or the transaction id of a record without one.
    private static func subscriptionId(
        of record: InAppPurchases.Compact
    ) -> InAppPurchases.TextSlice {
        let original = record[.originalTransactionId]
        return original.count > 0 ? original : record[.transactionId]
    }

    /// Returns the position of the latest record with that original transaction id. Adds the next
    /// position if there is none. Renewals mostly follow one another, so it checks the last
    /// subscription first.
    private mutating func position(ofLatest id: Span<UInt8>) -> Int? {
        if let lastPosition, isId(id, ofRecordAt: lastPosition) { return lastPosition }
        let hash = LatestPositions.hash(id)
        let position = latest.position(hash) { isId(id, ofRecordAt: $0) }
        if let position {
            lastPosition = position
        } else {
            latest.insert(purchases.count, hash)
        }
        return position
    }

    @inline(__always)
    private func isId(_ id: Span<UInt8>, ofRecordAt position: Int) -> Bool {
        let kept = Self.subscriptionId(of: purchases[compact: position])
        guard kept.count == id.count else { return false }
        return id.equals(purchases.allText.span.extracting(kept.range))
    }

    /// Returns the attributes of unknown type in the record read last.
    private mutating func unknown(_ octets: Span<UInt8>) -> [ReceiptAttribute] {
        let bytes = layouts.unknown.reduce(0) { $0 + $1.value.content.count }
        guard unknown.keeps(layouts.unknown.count, bytes: bytes) else { return [] }
        return layouts.unknown.map {
            ReceiptAttribute(
                type: $0.type, version: $0.version, value: octets.array($0.value.content))
        }
    }

    /// Bytes of memory for the kept records, the ids and the layouts.
    var heldBytes: Int {
        purchases.heldBytes + unknown.bytes + latest.heldBytes + layouts.heldBytes
    }
}

/// Counts the attributes of unknown type that are kept for the caller, up to their limits.
struct UnknownAttributes: Sendable {
    private var count = 0
    private(set) var bytes = 0

    /// Counts `count` more attributes of `bytes` octets; returns false, and counts nothing, if
    /// they exceed a limit.
    mutating func keeps(_ count: Int, bytes: Int) -> Bool {
        guard self.count + count <= Limits.receiptUnknownAttributes,
            self.bytes + bytes <= Limits.receiptUnknownBytes
        else { return false }
        self.count += count
        self.bytes += bytes
        return true
    }
}
