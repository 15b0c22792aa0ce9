import AssayBytes
import AssayModels

/// Reads the payload of an app receipt as it arrives. The payload is strict DER: a SET, in any
/// order, of attributes SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }.
struct AppReceiptReader: ContentReader, Sendable {
    private var feeder = ChunkFeeder()
    private var attributes: AppReceiptAttributes

    init(
        inApp selection: InAppSelection, expecting expectations: Expectations, layouts: InAppLayouts
    ) {
        attributes = AppReceiptAttributes(
            inApp: InAppCollector(selection, expecting: expectations, layouts: layouts))
    }

    /// The initial layouts and the added ones; nil if none were added.
    var newLayouts: InAppLayouts? {
        attributes.inApp.layouts.hasGrown ? attributes.inApp.layouts.handedOn : nil
    }

    mutating func receive(
        _ octets: Span<UInt8>, hashingInto digests: inout ContentDigests
    ) throws(Refusal) {
        var hashed = 0
        let taken = try feeder.feed(octets, to: &attributes) { attributes, position in
            attributes.readRecords(octets, from: position) { position in
                let waiting = position - hashed
                let count = digests.octetsOfWholeBlocks(
                    in: waiting > Self.mostWaiting ? waiting : min(waiting, Self.hashedAtOnce))
                guard count > 0 else { return }
                digests.update(octets.extracting(hashed..<hashed + count))
                hashed += count
            }
        }
        guard taken == octets.count else {
            throw Refusal(.malformed, "bytes follow the receipt's payload")
        }
        digests.update(octets.extracting(hashed..<octets.count))
    }

    /// Octets that are hashed at once, unless more than the second number wait. The processor
    /// reads ahead of a few blocks' SHA instructions, not of many.
    private static let hashedAtOnce = 192
    private static let mostWaiting = 1024

    /// Bytes of memory for the attributes and buffers.
    var heldBytes: Int { attributes.heldBytes + feeder.heldBytes }

    /// The attributes that were read, for an inspection. A damaged receipt has some of them.
    var receiptSoFar: AppReceipt {
        var receipt = attributes.receipt
        receipt.inApp = attributes.inApp.purchases
        return receipt
    }

    /// Returns the payload after the content has ended.
    mutating func finish() throws(Refusal) -> UnverifiedAppReceipt {
        guard try feeder.finish(&attributes) else {
            throw Refusal(.malformed, "the receipt's payload ends too early")
        }
        return UnverifiedAppReceipt(
            receipt: attributes.receipt, expectedProduct: attributes.inApp.expectedProduct,
            expectedTransaction: attributes.inApp.expectedTransaction)
    }
}

/// The payload of a receipt whose signature has not been checked.
struct UnverifiedAppReceipt: Sendable {
    let receipt: AppReceipt
    /// The product id and transaction id of the in-app record that meets the caller's
    /// expectations.
    let expectedProduct: String?
    let expectedTransaction: String?
}

/// Reads the SET, one attribute per step.
private struct AppReceiptAttributes: ResumableReader, Sendable {
    private(set) var receipt = AppReceipt()
    private(set) var inApp: InAppCollector
    /// A bit for each type in `single` that has occurred.
    private var seen: UInt64 = 0
    /// Types that Apple writes once. Types that Apple adds later can repeat without refusal.
    private static let single: UInt64 = ([Int64](0...16) + [18, 19, 20, 21, 23, 25, 32])
        .reduce(0) { $0 | 1 << UInt64($1) }
    /// Octets of the SET that are yet to arrive; nil before its header.
    private var remaining: Int?
    private var dates = ReceiptDates()
    private var unknown = UnknownAttributes()
    /// Octets of the attributes with a named field.
    private var namedBytes = 0

    var heldBytes: Int { namedBytes + unknown.bytes + inApp.heldBytes }

    init(inApp: InAppCollector) { self.inApp = inApp }

    mutating func step(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        if let size = readRecord(bytes, meanwhile: {}) { return .consumed(size) }
        return try readNext(bytes)
    }

    /// Reads in-app records of known layouts, up to any other attribute. Returns its position.
    ///
    /// - Parameter meanwhile: called between the stages of reading, with the position up to which
    ///   records were read.
    @inline(__always)
    mutating func readRecords(
        _ octets: Span<UInt8>, from start: Int, meanwhile: (Int) -> Void
    ) -> Int {
        var position = start
        while true {
            meanwhile(position)
            let size = readRecord(
                octets.extracting(position..<octets.count), meanwhile: { meanwhile(position) })
            guard let size else { return position }
            position += size
        }
    }

    /// Reads the attribute at the front of the bytes if it is an in-app record of a known layout.
    /// Returns its size; nil, with nothing read, for any other.
    @inline(__always)
    private mutating func readRecord(_ bytes: Span<UInt8>, meanwhile: () -> Void) -> Int? {
        guard let remaining else { return nil }
        let own = bytes.extracting(0..<min(remaining, bytes.count))
        guard let size = inApp.readKnown(own, meanwhile: meanwhile) else { return nil }
        self.remaining = remaining - size
        return size
    }

    /// Reads the header of the SET, or the next attribute.
    @inline(never)
    private mutating func readNext(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        do throws(DERError) {
            if remaining == 0 {
                receipt.inApp = inApp.purchases
                return .finished
            }
            guard let header = try TLVHeader.decode(bytes, at: 0, rules: .der),
                let length = header.length
            else { return .needs(bytes.count + 1) }
            guard let remaining else {
                guard header.tag == .set else {
                    throw .unexpectedTag(
                        expected: Tag.set.rawValue, found: header.tag.rawValue, at: 0)
                }
                self.remaining = length
                return .consumed(header.size)
            }
            let whole = header.size + length
            guard whole <= remaining else { throw .truncated }
            guard whole <= Limits.receiptAttributeBytes else {
                throw .elementTooLarge(octets: whole, limit: Limits.receiptAttributeBytes)
            }
            guard bytes.count >= whole else { return .needs(whole) }
            try read(bytes.extracting(0..<whole), arrived: bytes.count)
            self.remaining = remaining - whole
            return .consumed(whole)
        } catch {
            var reason = error.description
            if case .invalidTime = error {
                let record = inApp.recordCount + 1
                reason = ReceiptDateFault.sentence(bytes, record: record) ?? reason
            }
            throw Refusal(.malformed, "the receipt's payload is invalid: " + reason)
        }
    }

    private mutating func read(_ bytes: Span<UInt8>, arrived: Int) throws(DERError) {
        var reader = DERReader(bytes)
        let attribute = try ReceiptAttributeFields(large: &reader)
        if attribute.type == 17 {
            try inApp.read(bytes, attribute.value.content, arrived: arrived)
            return
        }
        if (0..<64).contains(attribute.type) {
            let bit = 1 << UInt64(attribute.type) & Self.single
            guard seen & bit == 0 else { throw .duplicate(at: attribute.value.start) }
            seen |= bit
        }
        try set(attribute, reader.inside(attribute.value))
    }

    private mutating func set(
        _ attribute: ReceiptAttributeFields, _ value: consuming DERReader
    ) throws(DERError) {
        var value = value
        let size = attribute.value.content.count
        switch attribute.type {
        case 0: receipt.receiptType = try value.readText()
        case 1: receipt.adamId = try value.readNumber()
        case 2:
            receipt.bundleIdOctets = value.bytes.array(attribute.value.content)
            receipt.bundleId = try value.readText()
        case 3: receipt.applicationVersion = try value.readText()
        case 4: receipt.opaqueValue = value.bytes.array(attribute.value.content)
        case 5: receipt.sha1Hash = value.bytes.array(attribute.value.content)
        case 10: receipt.ageRating = try value.readText()
        case 12: receipt.receiptCreationDate = try value.readDate(&dates)
        case 15: receipt.downloadId = try value.readNumber()
        case 16: receipt.versionExternalIdentifier = try value.readNumber()
        case 18: receipt.originalPurchaseDate = try value.readDate(&dates)
        case 19: receipt.originalApplicationVersion = try value.readText()
        case 21: receipt.expirationDate = try value.readDate(&dates)
        case 32: receipt.preorderDate = try value.readDate(&dates)
        default:
            guard unknown.keeps(1, bytes: size) else { return }
            receipt.unknownAttributes.append(
                ReceiptAttribute(
                    type: attribute.type, version: attribute.version,
                    value: value.bytes.array(attribute.value.content)))
            return
        }
        namedBytes += size
    }
}

/// SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }.
struct ReceiptAttributeFields {
    let type: Int64
    let version: Int64
    let value: DERElement

    @inline(__always)
    init(_ reader: inout DERReader) throws(DERError) {
        if let short = reader.readShortAttribute() {
            self = short
        } else {
            try self.init(general: &reader)
        }
    }

    /// Reads an attribute of the receipt itself; most are in-app records.
    @inline(__always)
    fileprivate init(large reader: inout DERReader) throws(DERError) {
        if let large = reader.readLargeAttribute() {
            self = large
        } else {
            try self.init(general: &reader)
        }
    }

    fileprivate init(type: Int64, version: Int64, value: DERElement) {
        self.type = type
        self.version = version
        self.value = value
    }

    @inline(never)
    private init(general reader: inout DERReader) throws(DERError) {
        var fields = try reader.readInside(.sequence)
        type = try fields.readInteger()
        version = try fields.readInteger()
        value = try fields.read(.octetString)
        try fields.atEnd()
    }
}

extension DERReader {
    /// Reads an attribute in the form that is most common in an in-app record: a type of two
    /// octets, a version of one octet and a value below 116 octets. The general parser returns
    /// the same for this form. Returns nil, and reads nothing, for any other form.
    @inline(__always)
    fileprivate mutating func readShortAttribute() -> ReceiptAttributeFields? {
        let start = position
        guard remaining >= Self.shortAttributeHeader else { return nil }
        // 30 LL 02 02 TT TT 02 01 VV 04 NN, in two overlapping words.
        let (word, end) = (bytes.word(at: start), bytes.word(at: start &+ 3))
        let length = Int(word >> 48 & 0x7F)
        let type = Int64(word >> 16 & 0xFFFF)
        let version = Int64(end >> 16 & 0xFF)
        guard word & 0xFF80_FFFF_0000_FFFF == 0x3000_0202_0000_0201,
            end >> 8 & 0xFF == UInt64(Tag.octetString.rawValue),
            type >= 0x100, type < 0x8000, version < 0x80,
            Int(end & 0xFF) == length &- 9, length &+ 2 <= remaining
        else { return nil }
        let content = start &+ Self.shortAttributeHeader
        skip(length &+ 2)
        return ReceiptAttributeFields(
            type: type, version: version,
            value: DERElement(
                tag: .octetString, start: start &+ 9, content: content..<position))
    }

    /// Reads an attribute in the form of an in-app record: type and version of one octet each, a
    /// value of 256 to 65535 octets. Returns nil, and reads nothing, for any other form.
    @inline(__always)
    fileprivate mutating func readLargeAttribute() -> ReceiptAttributeFields? {
        let start = position
        guard remaining >= Self.largeAttributeHeader else { return nil }
        // 30 82 LL LL 02 01 TT 02 01 VV 04 82 NN NN, in two overlapping words.
        let (word, end) = (bytes.word(at: start), bytes.word(at: start &+ 6))
        let length = Int(word >> 32 & 0xFFFF)
        let value = Int(end & 0xFFFF)
        let (type, version) = (Int64(end >> 56), Int64(end >> 32 & 0xFF))
        guard word >> 48 == 0x3082, word & 0xFFFF_00FF == 0x0201_0002,
            end & 0x00FF_FF00_FFFF_0000 == 0x0002_0100_0482_0000,
            type < 0x80, version < 0x80, value >= 0x100, length == value &+ 10,
            length &+ 4 <= remaining
        else { return nil }
        let content = start &+ Self.largeAttributeHeader
        skip(length &+ 4)
        return ReceiptAttributeFields(
            type: type, version: version,
            value: DERElement(
                tag: .octetString, start: start &+ 10, content: content..<position))
    }

    private static var largeAttributeHeader: Int { 14 }

    /// Octets before the value.
    private static var shortAttributeHeader: Int { 11 }

    /// Reads the single character string of an attribute; nil if it is empty. Apple writes
    /// UTF8String and IA5String; the choice carries no meaning.
    mutating func readText() throws(DERError) -> String? {
        guard let range = try readTextRange() else { return nil }
        guard let text = String(validating: bytes.array(range), as: UTF8.self) else {
            throw .invalidText(at: range.lowerBound)
        }
        return text
    }

    /// Reads the range of the attribute's text; nil if it is empty.
    @inline(__always)
    mutating func readTextRange() throws(DERError) -> Range<Int>? {
        let element = try readElement()
        guard
            element.tag == .utf8String || element.tag == .ia5String
                || element.tag == .printableString
        else {
            throw .unexpectedTag(
                expected: Tag.utf8String.rawValue, found: element.tag.rawValue, at: element.start)
        }
        try atEnd()
        return element.content.isEmpty ? nil : element.content
    }

    /// Reads the single INTEGER of an attribute.
    @inline(__always)
    mutating func readNumber() throws(DERError) -> Int64 {
        // Most numbers are 0, 1 or another one-octet value.
        if remaining == 3 {
            let octets = bytes.extracting(position..<position &+ 3)
            if octets[0] == Tag.integer.rawValue, octets[1] == 1 {
                skip(3)
                return Int64(Int8(bitPattern: octets[2]))
            }
        }
        return try readLongNumber()
    }

    @inline(never)
    private mutating func readLongNumber() throws(DERError) -> Int64 {
        let value = try readInteger()
        try atEnd()
        return value
    }

    /// Reads a date written as text; nil if it is empty.
    @inline(__always)
    mutating func readDate(_ dates: inout ReceiptDates) throws(DERError) -> Timestamp? {
        guard let range = try readTextRange() else { return nil }
        do throws(ReceiptDateError) {
            return try dates.parse(bytes.extracting(range))
        } catch {
            throw .invalidTime(at: range.lowerBound)
        }
    }
}
