import AssayLocks
import AssayModels

/// Reads in-app records and remembers their layouts: the attributes and the sizes of their
/// values. Most records repeat an earlier layout. Such a record is compared with the remembered
/// one as a whole, and only the values that can differ are read. Any other record is read
/// attribute by attribute, with the same result.
struct InAppLayouts: Sendable {
    /// The remembered layouts, one per place. The arrays below hold the data of all layouts:
    /// separate arrays for each layout would be reference-counted with each record.
    private var layouts: [Layout] = []
    /// The place of the next new layout.
    private var nextPlace = 0
    /// One record per layout, and a mask with FF at each octet that has to match.
    private var records: [UInt8] = []
    private var fixed: [UInt8] = []
    /// The values of each layout that can differ.
    private var varying: [Varying] = []
    private var misses = 0
    /// Whether layouts were added to this copy since `handedOn` made it.
    private(set) var hasGrown = false
    private var dates = InAppDates()
    /// Attributes of unknown type in the record read last.
    private(set) var unknown: [ReceiptAttributeFields] = []

    /// Bytes of memory for the remembered layouts.
    var heldBytes: Int {
        records.capacity + fixed.capacity + varying.capacity * MemoryLayout<Varying>.stride
            + layouts.capacity * MemoryLayout<Layout>.stride
    }

    private struct Layout: Sendable {
        /// Octets per record; 0 for an empty place.
        var size = 0
        /// The fields of the remembered record. All but the varying values apply to every record
        /// of the layout.
        var fields = InAppPurchases.Compact()
        var varyingCount = 0
    }

    private struct Varying: Sendable {
        var attribute = InAppAttribute.unpublished
        /// The range of the value, without its tag and length.
        var range = 0..<0
    }

    /// Reads one in-app record. Text fields are ranges of `record`.
    @inline(__always)
    mutating func read(_ record: Span<UInt8>) throws(DERError) -> InAppPurchases.Compact {
        for place in layouts.indices where matches(record, place) {
            return try readVarying(record, place)
        }
        return try readAttributes(record)
    }

    @inline(__always)
    private func matches(_ record: Span<UInt8>, _ place: Int) -> Bool {
        guard layouts[place].size == record.count else { return false }
        let start = place * Limits.inAppLayoutBytes
        let range = start..<start + record.count
        return record.equals(records.span.extracting(range), where: fixed.span.extracting(range))
    }

    /// Reads the values that can differ.
    ///
    /// - Precondition: the record matches the layout at that place.
    @inline(__always)
    private mutating func readVarying(
        _ record: Span<UInt8>, _ place: Int
    ) throws(DERError) -> InAppPurchases.Compact {
        if !unknown.isEmpty { unknown = [] }
        var fields = layouts[place].fields
        let start = place * Limits.inAppLayoutAttributes
        for index in start..<start + layouts[place].varyingCount {
            let range = varying[index].range
            switch varying[index].attribute {
            case .number(let field):
                fields.values[field.rawValue] = try Self.integer(record, range)
            case .date(let field):
                guard let date = try dates.parse(record, range, of: field) else { break }
                fields.values[field.rawValue] = date
            case .text:
                guard record.extracting(range).isUTF8 else {
                    throw .invalidText(at: range.lowerBound)
                }
            case .unpublished: break
            }
        }
        return fields
    }

    /// Reads the content of an INTEGER whose tag and length were compared: one to eight octets.
    /// The result equals that of `DERReader.readInteger`.
    @inline(__always)
    private static func integer(
        _ record: Span<UInt8>, _ range: Range<Int>
    ) throws(DERError) -> Int64 {
        let bits = 8 &* range.count
        // The record's headers precede its first value, so eight octets exist before the value's
        // end.
        let word = Int64(bitPattern: record.word(at: range.upperBound &- 8))
        let value = (word << (64 &- bits)) >> (64 &- bits)
        // X.690, section 8.3.2: the first nine bits are neither all 0 nor all 1.
        if range.count > 1 {
            let first = value >> (bits &- 9)
            guard first != 0, first != -1 else {
                throw .nonMinimalInteger(at: range.lowerBound &- 2)
            }
        }
        return value
    }

    @inline(never)
    private mutating func readAttributes(
        _ record: Span<UInt8>
    ) throws(DERError) -> InAppPurchases.Compact {
        var reader = DERReader(record)
        var list = try reader.readInside(.set)
        try reader.atEnd()
        var fields = InAppPurchases.Compact()
        /// A bit for each known type that has occurred; Apple writes each once.
        var seen: UInt64 = 0
        var attributes: [ReceiptAttributeFields] = []
        attributes.reserveCapacity(Limits.inAppLayoutAttributes)
        while !list.isAtEnd {
            let attribute = try ReceiptAttributeFields(&list)
            if InAppAttribute(attribute.type) != nil {
                let bit: UInt64 = 1 << UInt64(attribute.type - 1700)
                guard seen & bit == 0 else { throw .duplicate(at: attribute.value.start) }
                seen |= bit
            }
            try fields.set(attribute.type, list.inside(attribute.value), &dates)
            attributes.append(attribute)
        }
        unknown.removeAll(keepingCapacity: true)
        for attribute in attributes where InAppAttribute(attribute.type) == nil {
            unknown.append(attribute)
        }
        remember(record, fields, attributes)
        return fields
    }

    private mutating func remember(
        _ record: Span<UInt8>, _ fields: InAppPurchases.Compact,
        _ attributes: [ReceiptAttributeFields]
    ) {
        guard unknown.isEmpty, record.count <= Limits.inAppLayoutBytes,
            attributes.count <= Limits.inAppLayoutAttributes
        else { return }
        if layouts.isEmpty { allocateLayouts() }
        let place = nextPlace
        // Once the places are full, only every fourth miss replaces a layout: if no two records
        // are alike, remembering each costs more than it saves.
        misses += 1
        guard layouts[place].size == 0 || misses % 4 == 0 else { return }
        nextPlace = (place + 1) % Limits.inAppLayouts
        layouts[place] = Layout(size: record.count, fields: fields)
        let start = place * Limits.inAppLayoutBytes
        hasGrown = true
        record.copy(to: &records, at: start)
        fixed.fill(start..<start + record.count, with: 0xFF)
        for attribute in attributes {
            guard let known = InAppAttribute(attribute.type) else { continue }
            var range = attribute.value.content
            if known != .unpublished {
                // Small numbers seldom change, except these two flags. Texts with a long-form
                // length do not occur.
                let isFlag =
                    known == .number(.isTrialPeriod) || known == .number(.isInIntroOfferPeriod)
                guard range.count > 3 || isFlag && range.count == 3,
                    record[range.lowerBound + 1] < 0x80
                else { continue }
                range = range.lowerBound + 2..<range.upperBound
                let next = place * Limits.inAppLayoutAttributes + layouts[place].varyingCount
                varying[next] = Varying(attribute: known, range: range)
                layouts[place].varyingCount += 1
            }
            let place = start + range.lowerBound..<start + range.upperBound
            fixed.fill(place, with: 0)
            // Clears the values: they are a customer's and are never compared.
            records.fill(place, with: 0)
        }
    }

    /// The number of remembered layouts, and the octets of their records; for tests.
    var places: Int { layouts.count { $0.size > 0 } }
    var remembered: [UInt8] { records }

    /// A copy of the layouts as the starting point for another receipt.
    var handedOn: InAppLayouts {
        var copy = self
        copy.hasGrown = false
        copy.unknown = []
        copy.dates = InAppDates()
        return copy
    }

    private mutating func allocateLayouts() {
        let count = Limits.inAppLayouts
        layouts = [Layout](repeating: Layout(), count: count)
        records = [UInt8](repeating: 0, count: count * Limits.inAppLayoutBytes)
        fixed = records
        varying = [Varying](repeating: Varying(), count: count * Limits.inAppLayoutAttributes)
    }
}

/// The layouts of valid receipts, as the starting point for the next receipt. They affect how
/// fast a record is read, never the result. Only valid receipts add layouts: records of other
/// receipts prove nothing and would displace useful layouts.
final class KnownLayouts: Sendable {
    private let layouts = Locked(InAppLayouts())

    var current: InAppLayouts { layouts.withLock { $0 } }

    func keep(_ new: InAppLayouts) { layouts.withLock { $0 = new } }
}

/// The kind of an in-app record's attribute.
enum InAppAttribute: Equatable {
    case number(InAppPurchases.Field)
    case date(InAppPurchases.Field)
    case text(InAppPurchases.TextField)
    /// Occurs in every record, empty or 0; its meaning is not published.
    case unpublished

    /// Returns nil for an unknown type.
    init?(_ type: Int64) {
        switch type {
        case 1701: self = .number(.quantity)
        case 1702: self = .text(.productId)
        case 1703: self = .text(.transactionId)
        case 1704: self = .date(.purchaseDate)
        case 1705: self = .text(.originalTransactionId)
        case 1706: self = .date(.originalPurchaseDate)
        case 1707: self = .number(.productType)
        case 1708: self = .date(.expiresDate)
        case 1710: self = .number(.itemId)
        case 1711: self = .number(.webOrderLineItemId)
        case 1712: self = .date(.cancellationDate)
        case 1713: self = .number(.isTrialPeriod)
        case 1719: self = .number(.isInIntroOfferPeriod)
        case 1720: self = .number(.cancellationReason)
        case 1721: self = .text(.promotionalOfferId)
        case 1709, 1714...1718, 1722: self = .unpublished
        default: return nil
        }
    }
}

/// Reads the dates of records. A field's date mostly falls on the same day as in the previous
/// record.
struct InAppDates: Sendable {
    private var fields = [4 of ReceiptDates](repeating: ReceiptDates())

    /// Returns milliseconds since 1970, or nil for an empty date.
    @inline(__always)
    mutating func parse(
        _ octets: Span<UInt8>, _ range: Range<Int>, of field: InAppPurchases.Field
    ) throws(DERError) -> Int64? {
        do throws(ReceiptDateError) {
            return try fields[field.rawValue & 3].parse(octets.extracting(range))?.milliseconds
        } catch {
            throw .invalidTime(at: range.lowerBound)
        }
    }
}

extension InAppPurchases.Compact {
    /// Sets the field of the attribute; ignores attributes without a field.
    fileprivate mutating func set(
        _ type: Int64, _ value: consuming DERReader, _ dates: inout InAppDates
    ) throws(DERError) {
        var value = value
        switch InAppAttribute(type) {
        case .number(let field):
            let number = try value.readNumber()
            self[field] = field == .webOrderLineItemId && number == 0 ? nil : number
        case .date(let field):
            guard let range = try value.readTextRange() else { return }
            self[field] = try dates.parse(value.bytes, range, of: field)
        case .text(let field):
            guard let range = try value.readTextRange() else { return }
            guard value.bytes.extracting(range).isUTF8 else {
                throw .invalidText(at: range.lowerBound)
            }
            self[field] = InAppPurchases.TextSlice(range)
        case .unpublished, nil: return
        }
    }
}
