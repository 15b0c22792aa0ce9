import AssayBytes

/// Reads DER from borrowed bytes, forward only.
///
/// Each `read` consumes one field of a structure, and `atEnd()` ends it. Offsets count from the
/// start of the bytes that the first reader was made from, so an element can be kept as a range.
package struct DERReader: ~Escapable {
    package let bytes: Span<UInt8>
    private(set) var position: Int
    private let end: Int

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) {
        self.init(bytes, range: 0..<bytes.count)
    }

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, range: Range<Int>) {
        precondition(range.upperBound <= bytes.count)
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    package var isAtEnd: Bool { position == end }

    /// Octets left to read.
    var remaining: Int { end &- position }

    /// Skips octets that were already read from `bytes`.
    mutating func skip(_ count: Int) {
        precondition(count <= remaining)
        position &+= count
    }

    /// Throws if octets are left.
    package func atEnd() throws(DERError) {
        guard position == end else { throw .trailingBytes(at: position) }
    }

    /// The tag of the next element; nil at the end.
    package var nextTag: Tag? { position < end ? Tag(rawValue: bytes[position]) : nil }

    /// Reads the next element, with any tag. All other reads use this one.
    @inline(__always)
    package mutating func readElement() throws(DERError) -> DERElement {
        let start = position
        // Octets after the end belong to the outer structure and have no effect here.
        let own = bytes.extracting(0..<end)
        guard let header = try TLVHeader.decode(own, at: start, rules: .der),
            let length = header.length
        else { throw .truncated }
        let content = start + header.size
        guard length <= end - content else { throw .truncated }
        position = content + length
        return DERElement(tag: header.tag, start: start, content: content..<content + length)
    }

    @inline(__always)
    package mutating func read(_ tag: Tag) throws(DERError) -> DERElement {
        let element = try readElement()
        guard element.tag == tag else {
            throw .unexpectedTag(
                expected: tag.rawValue, found: element.tag.rawValue, at: element.start)
        }
        return element
    }

    package mutating func readOptional(_ tag: Tag) throws(DERError) -> DERElement? {
        nextTag == tag ? try read(tag) : nil
    }

    /// Returns a reader of the element's content.
    @_lifetime(copy self)
    package func inside(_ element: DERElement) -> DERReader {
        DERReader(bytes, range: element.content)
    }

    /// Reads a constructed element and returns a reader of its content.
    @inline(__always)
    @_lifetime(copy self)
    package mutating func readInside(_ tag: Tag) throws(DERError) -> DERReader {
        let element = try read(tag)
        return inside(element)
    }

    /// Throws if the remaining elements are not in the order of a SET OF (X.690, section 11.6):
    /// ascending, the encodings compared as octet strings.
    func checkSetOrder() throws(DERError) {
        var reader = self
        var last = position..<position
        while !reader.isAtEnd {
            let element = try reader.readElement()
            guard !bytes.extracting(element.whole).precedes(bytes.extracting(last)) else {
                throw .unorderedSet(at: element.start)
            }
            last = element.whole
        }
    }

    /// Reads a BOOLEAN (X.690, section 11.1).
    package mutating func readBoolean() throws(DERError) -> Bool {
        let element = try read(.boolean)
        guard element.content.count == 1 else { throw .invalidBoolean(at: element.start) }
        switch bytes[element.content.lowerBound] {
        case 0x00: return false
        case 0xFF: return true
        default: throw .invalidBoolean(at: element.start)
        }
    }

    /// Reads an INTEGER of any size. Its content octets are minimal two's complement (section
    /// 8.3.2).
    @inline(__always)
    package mutating func readIntegerOctets() throws(DERError) -> DERElement {
        let element = try read(.integer)
        let octets = element.content
        guard let first = octets.first else { throw .nonMinimalInteger(at: element.start) }
        if octets.count > 1 {
            let sign = bytes[first + 1] & 0x80
            guard !(bytes[first] == 0x00 && sign == 0), !(bytes[first] == 0xFF && sign != 0) else {
                throw .nonMinimalInteger(at: element.start)
            }
        }
        return element
    }

    /// Reads an INTEGER that fits 64 bits.
    @inline(__always)
    package mutating func readInteger() throws(DERError) -> Int64 {
        let element = try readIntegerOctets()
        guard element.content.count <= 8 else { throw .integerOutOfRange(at: element.start) }
        var value: Int64 = bytes[element.content.lowerBound] & 0x80 == 0 ? 0 : -1
        for index in element.content { value = value << 8 | Int64(bytes[index]) }
        return value
    }

    /// Reads a BIT STRING of whole octets and returns the range of those octets.
    package mutating func readBitStringOctets() throws(DERError) -> Range<Int> {
        let element = try read(.bitString)
        guard let first = element.content.first, bytes[first] == 0 else {
            throw .invalidBitString(at: element.start)
        }
        return first + 1..<element.content.upperBound
    }

    /// Whether the element's content is exactly these octets.
    package func matches(_ element: DERElement, _ octets: [UInt8]) -> Bool {
        bytes.extracting(element.content).equals(octets)
    }
}

/// One element: its tag and its position.
package struct DERElement: Equatable, Sendable {
    package var tag: Tag
    package var start: Int
    package var content: Range<Int>
    /// Header and content.
    package var whole: Range<Int> { start..<content.upperBound }
}
