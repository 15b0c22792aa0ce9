import AssayBytes
import AssayModels

/// Reads in-app records and remembers their layouts: the attributes and the sizes of their
/// values. Most records repeat an earlier layout. Such a record is compared with the remembered
/// one as a whole, together with the header of its attribute in the receipt, and only the values
/// that can differ are read, by vector instructions where the processor has them. Any other record
/// is read attribute by attribute, with the same result.
struct InAppLayouts: Sendable {
    /// The remembered layouts, one per slot. The arrays below hold the data of all layouts:
    /// separate arrays for each layout would be reference-counted with each record.
    private var layouts: [Layout] = []
    /// The slot of the next new layout.
    private var nextSlot = 0
    /// One record per layout, after its attribute's header, and a mask of the bits that have to
    /// match.
    private var records: [UInt8] = []
    private var fixed: [UInt8] = []
    /// The numbers and dates of each layout that can differ.
    private var numbers: [Varying] = []
    private var dates: [Varying] = []
    /// The same layouts for vector instructions, if the processor has them.
    private var patterns = RecordPatterns(slots: 0, recordBytes: 0)
    private var misses = 0
    /// Whether layouts were added to this copy since `handedOn` made it.
    private(set) var hasGrown = false
    private var parsedDates = InAppDates()
    /// Attributes of unknown type in the record read last.
    private(set) var unknown: [ReceiptAttributeFields] = []

    /// Bytes of memory for the remembered layouts.
    var heldBytes: Int {
        records.capacity + fixed.capacity + patterns.heldBytes
            + (numbers.capacity + dates.capacity) * MemoryLayout<Varying>.stride
            + layouts.capacity * MemoryLayout<Layout>.stride
    }

    private struct Layout: Sendable {
        /// The first octets, which include the size. 0 for an empty slot, with which no
        /// attribute begins.
        var head: UInt64 = 0
        /// Octets per record, with its attribute's header.
        var size = 0
        /// Octets of that header.
        var header = 0
        /// The fields of the remembered record. All but the varying values apply to every record
        /// of the layout.
        var fields = InAppPurchases.Compact()
        var numberCount = 0
        var dateCount = 0
    }

    private struct Varying: Sendable {
        var field = InAppPurchases.Field.quantity
        /// The range of the value, without its tag and length.
        var range = 0..<0
    }

    /// Reads the record in the attribute at the front of the bytes by vector instructions. Returns
    /// its range, whose end is the attribute's; nil for any attribute that `slot` and `readKnown`
    /// have to read.
    @inline(__always)
    mutating func readAtOnce(
        _ bytes: Span<UInt8>, into fields: inout InAppPurchases.Compact
    ) -> Range<Int>? {
        var values = fields.values.mutableSpan
        guard let (slot, hasOtherDates) = patterns.read(bytes, into: &values) else { return nil }
        fields.present = layouts[slot].fields.present
        fields.texts = layouts[slot].fields.texts
        guard !hasOtherDates || readDates(bytes, slot, into: &fields) else { return nil }
        if !unknown.isEmpty { unknown = [] }
        return layouts[slot].header..<layouts[slot].size
    }

    /// Reads the dates of a record, and notes their days for the next one.
    @inline(never)
    private mutating func readDates(
        _ bytes: Span<UInt8>, _ slot: Int, into fields: inout InAppPurchases.Compact
    ) -> Bool {
        let start = slot * Limits.inAppLayoutAttributes
        for index in start..<start + layouts[slot].dateCount {
            let (field, range) = (dates[index].field, dates[index].range)
            guard let date = try? parsedDates.parse(bytes, range, of: field) else { return false }
            fields.values[field.rawValue] = date
            let octets = bytes.extracting(range)
            if let beginning = parsedDates.beginningOfDay(of: octets, field) {
                patterns.setDay(slot, value: field.rawValue, to: octets, beginning: beginning)
            }
        }
        return true
    }

    /// Returns the slot of the layout that the attribute at the front of the bytes has; nil if it
    /// is not an in-app record of a remembered layout.
    @inline(__always)
    func slot(of bytes: Span<UInt8>) -> Int? {
        guard bytes.count >= Self.headOctets else { return nil }
        let head = bytes.word(at: 0)
        for slot in layouts.indices where layouts[slot].head == head && matches(bytes, slot) {
            return slot
        }
        return nil
    }

    /// Reads the record in the attribute at the front of the bytes. Returns its fields and its
    /// range, whose end is the attribute's; nil if a value is invalid.
    ///
    /// - Precondition: the attribute has the layout at that slot.
    @inline(__always)
    mutating func readKnown(
        _ bytes: Span<UInt8>, _ slot: Int
    ) -> (fields: InAppPurchases.Compact, content: Range<Int>)? {
        if !unknown.isEmpty { unknown = [] }
        var fields = layouts[slot].fields
        let start = slot * Limits.inAppLayoutAttributes
        for index in start..<start + layouts[slot].numberCount {
            guard let number = Self.integer(bytes, numbers[index].range) else { return nil }
            fields.values[numbers[index].field.rawValue] = number
        }
        for index in start..<start + layouts[slot].dateCount {
            let field = dates[index].field
            guard let date = try? parsedDates.parse(bytes, dates[index].range, of: field) else {
                return nil
            }
            fields.values[field.rawValue] = date
        }
        return (fields, layouts[slot].header..<layouts[slot].size)
    }

    /// Octets of `Layout.head`.
    private static let headOctets = 8

    @inline(__always)
    private func matches(_ bytes: Span<UInt8>, _ slot: Int) -> Bool {
        let size = layouts[slot].size
        guard size <= bytes.count else { return false }
        let start = slot * Limits.inAppLayoutBytes
        return bytes.extracting(0..<size).equals(
            records.span.extracting(start..<start + size),
            where: fixed.span.extracting(start..<start + size))
    }

    /// Reads the content of an INTEGER whose tag and length were compared: one to eight octets.
    /// The result equals that of `DERReader.readInteger`; nil for its errors.
    @inline(__always)
    private static func integer(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        let bits = 8 &* range.count
        // The record's headers precede its first value, so eight octets exist before the value's
        // end.
        let word = Int64(bitPattern: bytes.word(at: range.upperBound &- 8))
        let value = (word &<< (64 &- bits)) &>> (64 &- bits)
        // X.690, section 8.3.2: the first nine bits are neither all 0 nor all 1.
        if range.count > 1 {
            let first = value &>> (bits &- 9)
            guard first != 0, first != -1 else { return nil }
        }
        return value
    }

    /// Reads one in-app record. Text fields are ranges of its content.
    ///
    /// - Parameters:
    ///   - attribute: the attribute of the receipt, with its header.
    ///   - content: the range of the record.
    mutating func read(
        _ attribute: Span<UInt8>, _ content: Range<Int>
    ) throws(DERError) -> InAppPurchases.Compact {
        let record = attribute.extracting(content)
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
            try fields.set(attribute.type, list.inside(attribute.value), &parsedDates)
            attributes.append(attribute)
        }
        unknown.removeAll(keepingCapacity: true)
        for attribute in attributes where InAppAttribute(attribute.type) == nil {
            unknown.append(attribute)
        }
        remember(attribute, content, fields, attributes)
        return fields
    }

    private mutating func remember(
        _ whole: Span<UInt8>, _ content: Range<Int>, _ fields: InAppPurchases.Compact,
        _ attributes: [ReceiptAttributeFields]
    ) {
        guard unknown.isEmpty, whole.count == content.upperBound,
            whole.count <= Limits.inAppLayoutBytes, whole.count >= Self.smallestBytes,
            attributes.count <= Limits.inAppLayoutAttributes,
            // Other text matches no layout.
            fields.texts.indices.allSatisfy({
                whole.extracting(content).extracting(fields.texts[$0].range).isASCII
            })
        else { return }
        if layouts.isEmpty { allocateLayouts() }
        let slot = nextSlot
        // Once the slots are full, only every fourth miss replaces a layout: if no two records
        // are alike, remembering each costs more than it saves.
        misses += 1
        guard layouts[slot].size == 0 || misses % 4 == 0 else { return }
        nextSlot = (slot + 1) % Limits.inAppLayouts
        layouts[slot] = Layout(
            head: whole.word(at: 0), size: whole.count, header: content.lowerBound,
            fields: fields)
        let start = slot * Limits.inAppLayoutBytes
        hasGrown = true
        whole.copy(to: &records, at: start)
        fixed.fill(start..<start + whole.count, with: 0xFF)
        for attribute in attributes {
            guard let known = InAppAttribute(attribute.type) else { continue }
            let value = attribute.value.content
            vary(
                known,
                value.lowerBound + content.lowerBound..<value.upperBound + content.lowerBound,
                of: whole, at: slot)
        }
        rememberPattern(whole, at: slot)
    }

    private mutating func rememberPattern(_ whole: Span<UInt8>, at slot: Int) {
        let start = slot * Limits.inAppLayoutBytes
        let octets = start..<start + whole.count
        let (layout, records, fixed) = (layouts[slot], records, fixed)
        let numbers = Self.varying(numbers, slot, layout.numberCount)
        let dates = Self.varying(dates, slot, layout.dateCount)
        patterns.set(
            slot, to: records.span.extracting(octets), mask: fixed.span.extracting(octets),
            values: layout.fields.values.span, numbers: numbers, dates: dates)
    }

    private static func varying(
        _ list: [Varying], _ slot: Int, _ count: Int
    ) -> [RecordPatterns.Varying] {
        let start = slot * Limits.inAppLayoutAttributes
        return list[start..<start + count].map {
            RecordPatterns.Varying(value: $0.field.rawValue, range: $0.range)
        }
    }

    /// Excludes an attribute's value from the comparison with the layout, if it can differ.
    private mutating func vary(
        _ attribute: InAppAttribute, _ value: Range<Int>, of whole: Span<UInt8>, at slot: Int
    ) {
        var range = value
        var mask: UInt8 = 0
        if attribute != .unpublished {
            // Small numbers seldom change, except these two flags. Texts with a long-form
            // length do not occur.
            let isFlag =
                attribute == .number(.isTrialPeriod) || attribute == .number(.isInIntroOfferPeriod)
            guard value.count > 3 || isFlag && value.count == 3,
                whole[value.lowerBound + 1] < 0x80
            else { return }
            range = value.lowerBound + 2..<value.upperBound
        }
        switch attribute {
        case .number(let field):
            let next = slot * Limits.inAppLayoutAttributes + layouts[slot].numberCount
            numbers[next] = Varying(field: field, range: range)
            layouts[slot].numberCount += 1
        case .date(let field):
            let next = slot * Limits.inAppLayoutAttributes + layouts[slot].dateCount
            dates[next] = Varying(field: field, range: range)
            layouts[slot].dateCount += 1
        case .text:
            // Text that is ASCII needs no further check; other text is left to `read`.
            mask = 0x80
        case .unpublished: break
        }
        let start = slot * Limits.inAppLayoutBytes
        let octets = start + range.lowerBound..<start + range.upperBound
        fixed.fill(octets, with: mask)
        // Clears the values: they are a customer's and are never compared.
        records.fill(octets, with: 0)
    }

    /// Octets of the smallest record that is remembered. The comparison takes that many at once.
    private static let smallestBytes = 32

    /// The number of remembered layouts, and the octets of their records; for tests.
    var slots: Int { layouts.count { $0.size > 0 } }
    var remembered: [UInt8] { records }

    /// A copy of the layouts as the starting point for another receipt.
    var handedOn: InAppLayouts {
        var copy = self
        copy.hasGrown = false
        copy.unknown = []
        copy.parsedDates = InAppDates()
        copy.patterns.forgetDays()
        return copy
    }

    private mutating func allocateLayouts() {
        let count = Limits.inAppLayouts
        layouts = [Layout](repeating: Layout(), count: count)
        records = [UInt8](repeating: 0, count: count * Limits.inAppLayoutBytes)
        fixed = records
        numbers = [Varying](repeating: Varying(), count: count * Limits.inAppLayoutAttributes)
        dates = numbers
        patterns = RecordPatterns(slots: count, recordBytes: Limits.inAppLayoutBytes)
    }
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

    /// Returns the beginning of the day of a field's last date, in milliseconds since 1970; nil
    /// for a date of another day.
    func beginningOfDay(of date: Span<UInt8>, _ field: InAppPurchases.Field) -> Int64? {
        fields[field.rawValue & 3].beginningOfDay(of: date)
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
