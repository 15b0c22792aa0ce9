import AssayModels

/// Reads in-app records (attribute 17) and keeps those that the caller asked for.
///
/// Every record is read whatever the selection: a broken one refuses the receipt all the same.
struct InAppCollector {
    private(set) var purchases = InAppPurchases()
    private let selection: InAppSelection
    private let expectations: Expectations
    /// Whether a record can be what the caller expects.
    private let expectsRecords: Bool
    /// An expected product, or transaction id, that a record has.
    private(set) var expectedProduct: String?
    private(set) var expectedTransaction: String?
    /// Positions of the latest records so far, by original transaction id.
    private var latest: [SubscriptionId: Int] = [:]
    private var lastId = SubscriptionId(octets: [])
    private var lastPosition: Int?
    private var unknownAttributes = 0
    private var dates = ReceiptDates()

    init(_ selection: InAppSelection, expecting expectations: Expectations) {
        self.selection = selection
        self.expectations = expectations
        expectsRecords = !expectations.productIds.isEmpty || expectations.transactionId != nil
    }

    /// - Parameter value: the content of the attribute's OCTET STRING, a SET of attributes.
    mutating func read(_ value: consuming DERReader) throws(DERError) {
        var value = value
        var list = try value.readInside(.set)
        try value.atEnd()
        var fields = InAppFields()
        while !list.isAtEnd { try fields.read(&list, &dates) }
        if expectsRecords { note(fields, list.bytes) }
        switch selection {
        case .none: return
        case .all: append(&fields, list.bytes)
        case .product(let product):
            guard let range = fields.productId,
                list.bytes.extracting(range).equals(Array(product.utf8))
            else { return }
            append(&fields, list.bytes)
        case .latest: keepLatest(&fields, list.bytes)
        }
    }

    /// Expectations hold for the receipt where they hold for one of its records, kept or not.
    private mutating func note(_ fields: InAppFields, _ bytes: Span<UInt8>) {
        func has(_ range: Range<Int>?, _ text: String) -> Bool {
            guard let range else { return false }
            return bytes.extracting(range).equals(Array(text.utf8))
        }
        if expectedProduct == nil, !expectations.productIds.isEmpty {
            expectedProduct = expectations.productIds.first { has(fields.productId, $0) }
        }
        if expectedTransaction == nil, let expected = expectations.transactionId,
            has(fields.transactionId, expected)
        {
            expectedTransaction = expected
        }
    }

    private mutating func append(_ fields: inout InAppFields, _ bytes: Span<UInt8>) {
        fields.keepText(bytes, in: &purchases)
        purchases.append(
            fields.record, unknown: fields.unknown.isEmpty ? [] : unknown(fields.unknown, bytes))
    }

    private mutating func keepLatest(_ fields: inout InAppFields, _ bytes: Span<UInt8>) {
        let id = bytes.extracting(fields.originalTransactionId ?? fields.transactionId ?? 0..<0)
        guard let index = position(ofLatest: id) else {
            lastId = SubscriptionId(octets: id.array)
            lastPosition = purchases.count
            latest[lastId] = purchases.count
            append(&fields, bytes)
            return
        }
        let kept = purchases[compact: index]
        let keptDate = kept.expiresDate ?? kept.purchaseDate
        let date = fields.record.expiresDate ?? fields.record.purchaseDate
        guard let date, keptDate.map({ $0 < date }) ?? true else { return }
        fields.keepText(bytes, in: &purchases, replacing: kept)
        purchases.replace(
            at: index, with: fields.record,
            unknown: fields.unknown.isEmpty ? [] : unknown(fields.unknown, bytes))
    }

    /// Renewals mostly follow one another, so the last subscription is asked for first.
    private mutating func position(ofLatest id: Span<UInt8>) -> Int? {
        if let lastPosition, id.equals(lastId.octets) { return lastPosition }
        let key = SubscriptionId(octets: id.array)
        guard let position = latest[key] else { return nil }
        (lastId, lastPosition) = (key, position)
        return position
    }

    private mutating func unknown(
        _ attributes: [ReceiptAttributeFields], _ bytes: Span<UInt8>
    ) -> [ReceiptAttribute] {
        unknownAttributes += attributes.count
        guard unknownAttributes <= Limits.receiptUnknownAttributes else { return [] }
        return attributes.map {
            ReceiptAttribute(
                type: $0.type, version: $0.version, value: bytes.array($0.value.content))
        }
    }
}

/// An original transaction id.
private struct SubscriptionId: Hashable {
    let octets: [UInt8]

    /// All at once; an array would be hashed byte by byte.
    func hash(into hasher: inout Hasher) { octets.span.hash(into: &hasher) }
}

/// One record, its text still where it was read.
private struct InAppFields {
    var record = InAppPurchases.Compact()
    var productId: Range<Int>?
    var transactionId: Range<Int>?
    var originalTransactionId: Range<Int>?
    var promotionalOfferId: Range<Int>?
    var unknown: [ReceiptAttributeFields] = []
    /// Types 1700 to 1763 that have occurred.
    private var seen: UInt64 = 0

    @inline(__always)
    mutating func read(_ list: inout DERReader, _ dates: inout ReceiptDates) throws(DERError) {
        let attribute = try ReceiptAttributeFields(&list)
        if (1700..<1764).contains(attribute.type) {
            let bit: UInt64 = 1 << UInt64(attribute.type - 1700)
            guard seen & bit == 0 else { throw .duplicate(at: attribute.value.start) }
            seen |= bit
        }
        try set(attribute, list.inside(attribute.value), &dates)
    }

    @inline(__always)
    private mutating func set(
        _ attribute: ReceiptAttributeFields, _ value: consuming DERReader,
        _ dates: inout ReceiptDates
    ) throws(DERError) {
        var value = value
        switch attribute.type {
        case 1701: record.quantity = try value.readNumber()
        case 1702: productId = try text(&value)
        case 1703: transactionId = try text(&value)
        case 1704: record.purchaseDate = try value.readDate(&dates)
        case 1705: originalTransactionId = try text(&value)
        case 1706: record.originalPurchaseDate = try value.readDate(&dates)
        case 1707: record.productType = InAppProductType(rawValue: try value.readNumber())
        case 1708: record.expiresDate = try value.readDate(&dates)
        case 1710: record.itemId = try value.readNumber()
        case 1711:
            let number = try value.readNumber()
            record.webOrderLineItemId = number == 0 ? nil : number
        case 1712: record.cancellationDate = try value.readDate(&dates)
        case 1713: record.isTrialPeriod = try value.readNumber() != 0
        case 1719: record.isInIntroOfferPeriod = try value.readNumber() != 0
        case 1720: record.cancellationReason = try value.readNumber()
        case 1721: promotionalOfferId = try text(&value)
        // Seen in every record, empty or 0, and without a published meaning.
        case 1709, 1714...1718, 1722: return
        default: unknown.append(attribute)
        }
    }

    /// - Parameter old: the record that it takes the place of, whose text it overwrites.
    mutating func keepText(
        _ bytes: Span<UInt8>, in purchases: inout InAppPurchases,
        replacing old: InAppPurchases.Compact? = nil
    ) {
        func keep(
            _ range: Range<Int>?, _ old: InAppPurchases.TextSlice?
        ) -> InAppPurchases.TextSlice? {
            guard let range else { return nil }
            let octets = bytes.extracting(range)
            return purchases.keep(octets, replacing: old) { octets.append(to: &$0) }
        }
        record.productId = keep(productId, old?.productId)
        record.transactionId = keep(transactionId, old?.transactionId)
        record.originalTransactionId = keep(originalTransactionId, old?.originalTransactionId)
        record.promotionalOfferId = keep(promotionalOfferId, old?.promotionalOfferId)
    }

    /// Text is checked where it is read and becomes a String where it is looked at.
    @inline(__always)
    private func text(_ value: inout DERReader) throws(DERError) -> Range<Int>? {
        guard let range = try value.readTextRange() else { return nil }
        guard value.bytes.extracting(range).isUTF8 else {
            throw .invalidText(at: range.lowerBound)
        }
        return range
    }
}
