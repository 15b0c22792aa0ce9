import AssayLocks
import AssayModels

/// Reads in-app records, most of which have the layout of one before: the same attributes, with
/// values of the same size. Such a record is compared with the other in one go, and then only the
/// values are read that may differ. Any other is read attribute by attribute; the outcome is the
/// same.
struct InAppLayouts: Sendable {
    /// One for each place. What is in arrays here lies in few of them for all layouts: one of its
    /// own for each would be counted with each record.
    private var layouts: [Layout] = []
    /// The place that the next new layout takes.
    private var nextPlace = 0
    /// A record of each layout, and FF for each of its octets that another has to have too.
    private var records: [UInt8] = []
    private var fixed: [UInt8] = []
    /// The values of each layout that may differ.
    private var varying: [Varying] = []
    private var misses = 0
    /// Whether layouts were added since this was handed on.
    private(set) var hasGrown = false
    private var dates = InAppDates()
    /// Attributes without a name here, of the record that was read last.
    private(set) var unknown: [ReceiptAttributeFields] = []

    /// Memory of the layouts that are remembered.
    var heldBytes: Int {
        records.capacity + fixed.capacity + varying.capacity * MemoryLayout<Varying>.stride
            + layouts.capacity * MemoryLayout<Layout>.stride
    }

    private struct Layout: Sendable {
        /// Octets of its records; 0: there is none.
        var size = 0
        /// What one of them says: true of another but for the values that may differ.
        var fields = InAppPurchases.Compact()
        var varyingCount = 0
    }

    private struct Varying: Sendable {
        var attribute = InAppAttribute.unpublished
        /// The value itself, without its tag and length.
        var range = 0..<0
    }

    /// - Returns: the record, its text where it was read.
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

    /// - Precondition: the record matches the layout of that place.
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

    /// What `DERReader.readInteger` reads, of an INTEGER whose tag and length were compared: of one
    /// to eight octets.
    @inline(__always)
    private static func integer(
        _ record: Span<UInt8>, _ range: Range<Int>
    ) throws(DERError) -> Int64 {
        let bits = 8 &* range.count
        // A record's headers lie before its first value: there are eight octets up to its end.
        let word = Int64(bitPattern: record.word(at: range.upperBound &- 8))
        let value = (word << (64 &- bits)) >> (64 &- bits)
        // X.690, section 8.3.2: the first nine bits are not all alike.
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
        /// Types that have occurred, of those that Apple writes once.
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
        if layouts.isEmpty { makeRoom() }
        let place = nextPlace
        // Where no two records are alike, remembering each would cost more than it saves.
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
                // Small numbers seldom change but for these; long texts there are none.
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
            // Never compared, and a customer's.
            records.fill(place, with: 0)
        }
    }

    /// How many layouts there are, and the octets that they have of records; for tests.
    var places: Int { layouts.count { $0.size > 0 } }
    var remembered: [UInt8] { records }

    /// The same layouts for another receipt to begin with.
    var handedOn: InAppLayouts {
        var copy = self
        copy.hasGrown = false
        copy.unknown = []
        copy.dates = InAppDates()
        return copy
    }

    private mutating func makeRoom() {
        let count = Limits.inAppLayouts
        layouts = [Layout](repeating: Layout(), count: count)
        records = [UInt8](repeating: 0, count: count * Limits.inAppLayoutBytes)
        fixed = records
        varying = [Varying](repeating: Varying(), count: count * Limits.inAppLayoutAttributes)
    }
}

/// The layouts of receipts that were valid, for the next one to begin with. They decide how quickly
/// a record is read and not what is read. Only valid receipts add to them: others' records prove
/// nothing, and would only be in the way.
final class KnownLayouts: Sendable {
    private let layouts = Locked(InAppLayouts())

    var current: InAppLayouts { layouts.withLock { $0 } }

    func keep(_ new: InAppLayouts) { layouts.withLock { $0 = new } }
}

/// What an attribute of a record is.
enum InAppAttribute: Equatable {
    case number(InAppPurchases.Field)
    case date(InAppPurchases.Field)
    case text(InAppPurchases.TextField)
    /// Seen in every record, empty or 0, and without a published meaning.
    case unpublished

    /// Nil: one that is not known.
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

/// The dates of records. Those of a field mostly lie on the day that it had in the record before.
struct InAppDates: Sendable {
    private var fields = [4 of ReceiptDates](repeating: ReceiptDates())

    /// Milliseconds; nil: there is no date.
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
    /// Sets the field of that attribute, if it is one of these.
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
