/// Builds DER (X.690) by nested closures, one element at a time:
///
///     writer.sequence { $0.integer(1); $0.oid("1.2.840.10045.2.1") }
///
/// Also writes forms that DER forbids, for parser tests: indefinite, overlong and constructed
/// forms, and raw bytes.
package struct DERWriter: Sendable {
    /// The encoded elements in the order of writing.
    package private(set) var elements: [[UInt8]] = []

    package init() {}

    package var bytes: [UInt8] { Array(elements.joined()) }

    /// The encoding of an element's length.
    package enum Length: Sendable {
        /// The shortest form, the only one that DER allows.
        case shortest
        /// BER: 0x80, and two zero octets at the end. Only for constructed tags.
        case indefinite
        /// The long form in exactly this many octets.
        case octets(Int)
    }

    /// Returns the bytes of the elements that `body` writes.
    package static func build(_ body: (inout DERWriter) -> Void) -> [UInt8] {
        var writer = DERWriter()
        body(&writer)
        return writer.bytes
    }

    // MARK: Any tag

    /// Writes bytes as is.
    package mutating func raw(_ bytes: [UInt8]) { elements.append(bytes) }

    package mutating func element(
        tag: UInt8, content: [UInt8], length: Length = .shortest
    ) {
        var encoded = [tag]
        switch length {
        case .shortest: encoded += DERWriter.shortestLength(content.count)
        case .indefinite: encoded.append(0x80)
        case .octets(let count): encoded += DERWriter.longLength(content.count, octets: count)
        }
        encoded += content
        if case .indefinite = length { encoded += [0, 0] }
        elements.append(encoded)
    }

    package mutating func constructed(
        tag: UInt8, length: Length = .shortest, _ body: (inout DERWriter) -> Void
    ) {
        element(tag: tag, content: DERWriter.build(body), length: length)
    }

    /// Returns the identifier and length octets of an element with `count` content octets.
    package static func header(tag: UInt8, count: Int) -> [UInt8] { [tag] + shortestLength(count) }

    private static func shortestLength(_ count: Int) -> [UInt8] {
        if count < 0x80 { return [UInt8(count)] }
        let octets = (Int.bitWidth - count.leadingZeroBitCount + 7) / 8
        return longLength(count, octets: octets)
    }

    private static func longLength(_ count: Int, octets: Int) -> [UInt8] {
        let digits = (0..<octets).reversed().map { index in
            index < 8 ? UInt8(truncatingIfNeeded: count >> (8 * index)) : 0
        }
        return [0x80 | UInt8(octets)] + digits
    }

    // MARK: Constructed types

    package mutating func sequence(
        length: Length = .shortest, _ body: (inout DERWriter) -> Void
    ) {
        constructed(tag: 0x30, length: length, body)
    }

    /// Writes a SET OF. Sorts the elements as DER requires, unless a test turns that off.
    package mutating func set(
        sorted: Bool = true, length: Length = .shortest, _ body: (inout DERWriter) -> Void
    ) {
        var inner = DERWriter()
        body(&inner)
        if sorted { inner.elements.sort { $0.lexicographicallyPrecedes($1) } }
        element(tag: 0x31, content: inner.bytes, length: length)
    }

    /// Writes `[number]`, constructed: an EXPLICIT tag, or an IMPLICIT tag of a constructed type.
    package mutating func context(
        _ number: UInt8, length: Length = .shortest, _ body: (inout DERWriter) -> Void
    ) {
        constructed(tag: 0xA0 | number, length: length, body)
    }

    /// Writes `[number]` IMPLICIT of a primitive type.
    package mutating func contextPrimitive(_ number: UInt8, _ content: [UInt8]) {
        element(tag: 0x80 | number, content: content)
    }

    // MARK: Primitive types

    package mutating func boolean(_ value: Bool) {
        element(tag: 0x01, content: [value ? 0xFF : 0])
    }

    package mutating func null() { element(tag: 0x05, content: []) }

    package mutating func integer(_ value: Int64) {
        var content = (0..<8).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        // DER omits leading octets that only repeat the sign.
        while content.count > 1,
            (content[0] == 0 && content[1] < 0x80) || (content[0] == 0xFF && content[1] >= 0x80)
        {
            content.removeFirst()
        }
        element(tag: 0x02, content: content)
    }

    /// Writes a non-negative integer of any size, from big-endian octets.
    package mutating func unsignedInteger(_ magnitude: [UInt8]) {
        var content = Array(magnitude.drop { $0 == 0 })
        if content.first.map({ $0 >= 0x80 }) ?? true { content.insert(0, at: 0) }
        element(tag: 0x02, content: content)
    }

    package mutating func octetString(_ content: [UInt8]) { element(tag: 0x04, content: content) }

    /// Writes a BER OCTET STRING in segments, as Xcode does.
    package mutating func constructedOctetString(
        _ segments: [[UInt8]], length: Length = .indefinite
    ) {
        constructed(tag: 0x24, length: length) { content in
            for segment in segments { content.octetString(segment) }
        }
    }

    package mutating func bitString(_ content: [UInt8], unusedBits: UInt8 = 0) {
        element(tag: 0x03, content: [unusedBits] + content)
    }

    package mutating func utf8String(_ text: String) {
        element(tag: 0x0C, content: Array(text.utf8))
    }

    package mutating func printableString(_ text: String) {
        element(tag: 0x13, content: Array(text.utf8))
    }

    package mutating func ia5String(_ text: String) {
        element(tag: 0x16, content: Array(text.utf8))
    }

    /// Writes an object identifier given in dotted form.
    package mutating func oid(_ dotted: String) {
        element(tag: 0x06, content: DERWriter.objectIdentifier(dotted))
    }

    /// Returns the content octets of an OBJECT IDENTIFIER.
    package static func objectIdentifier(_ dotted: String) -> [UInt8] {
        let arcs = dotted.split(separator: ".").compactMap { UInt64($0) }
        precondition(arcs.count >= 2, "an object identifier has at least two arcs")
        return ([arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)).flatMap(base128)
    }

    private static func base128(_ arc: UInt64) -> [UInt8] {
        var digits = [UInt8(arc & 0x7F)]
        var rest = arc >> 7
        while rest > 0 {
            digits.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
            rest >>= 7
        }
        return digits
    }
}
