/// The encoding rules of ITU-T X.690 for decoding a header.
package enum EncodingRules: Sendable {
    /// Distinguished Encoding Rules: definite, minimal lengths only.
    case der
    /// Basic Encoding Rules: any definite length form, and indefinite lengths for constructed
    /// encodings.
    case ber
}

/// The identifier and length octets of one encoding (X.690, sections 8.1.2 and 8.1.3).
///
/// Bytes in memory and streams share this decoder.
package struct TLVHeader: Equatable, Sendable {
    package var tag: Tag
    /// Content octets; nil for an indefinite length, which ends with end-of-contents octets.
    package var length: Int?
    /// Octets of the header itself.
    package var size: Int

    /// Decodes the header at `position`; returns nil if the bytes end inside it. Inlined because
    /// receipts have hundreds of thousands of headers, nearly all of two octets.
    @inline(__always)
    package static func decode(
        _ bytes: Span<UInt8>, at position: Int, rules: EncodingRules
    ) throws(DERError) -> TLVHeader? {
        guard position < bytes.count else { return nil }
        let tag = Tag(rawValue: bytes[position])
        // Tag number 31 announces a multi-octet tag (8.1.2.4); certificates and receipts have
        // none.
        guard tag.number != 0x1F else { throw .highTagNumber(at: position) }
        guard position + 1 < bytes.count else { return nil }
        let first = bytes[position + 1]
        if first < 0x80 {
            return TLVHeader(tag: tag, length: Int(first), size: 2)
        }
        if first == 0x80 {
            guard rules == .ber, tag.isConstructed else { throw .indefiniteLength(at: position) }
            return TLVHeader(tag: tag, length: nil, size: 2)
        }
        // Most longer lengths have two octets.
        if first == 0x82, position + 3 < bytes.count, bytes[position + 2] != 0 {
            let length = Int(bytes[position + 2]) << 8 | Int(bytes[position + 3])
            return TLVHeader(tag: tag, length: length, size: 4)
        }
        return try decodeLongForm(bytes, at: position, tag: tag, octets: Int(first & 0x7F), rules)
    }

    @inline(never)
    private static func decodeLongForm(
        _ bytes: Span<UInt8>, at position: Int, tag: Tag, octets: Int, _ rules: EncodingRules
    ) throws(DERError) -> TLVHeader? {
        // Four octets cover 4 GiB. BER allows zeros before the length (8.1.3.5 note 2), but
        // receipts do not need them: both rules refuse more than four octets.
        guard octets <= 4 else { throw .lengthTooLarge(at: position) }
        guard position + 2 + octets <= bytes.count else { return nil }
        var length = 0
        for index in 0..<octets {
            length = length << 8 | Int(bytes[position + 2 + index])
        }
        if rules == .der {
            // 10.1: the definite form with the fewest octets.
            guard length >= 0x80, bytes[position + 2] != 0 else {
                throw .nonMinimalLength(at: position)
            }
        }
        return TLVHeader(tag: tag, length: length, size: 2 + octets)
    }
}

/// An identifier octet: class, constructed bit and tag number below 31.
package struct Tag: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package var number: UInt8 { rawValue & 0x1F }
    package var isConstructed: Bool { rawValue & 0x20 != 0 }

    /// Returns the DER of an element with this tag.
    func encoding(_ content: [UInt8]) -> [UInt8] {
        let count = content.count
        guard count >= 0x80 else { return [rawValue, UInt8(count)] + content }
        let octets = (count.bitWidth - count.leadingZeroBitCount + 7) / 8
        let length = (0..<octets).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
        return [rawValue, 0x80 | UInt8(octets)] + length + content
    }

    package static let boolean = Tag(rawValue: 0x01)
    package static let integer = Tag(rawValue: 0x02)
    package static let bitString = Tag(rawValue: 0x03)
    package static let octetString = Tag(rawValue: 0x04)
    package static let null = Tag(rawValue: 0x05)
    package static let objectIdentifier = Tag(rawValue: 0x06)
    package static let utf8String = Tag(rawValue: 0x0C)
    package static let printableString = Tag(rawValue: 0x13)
    package static let ia5String = Tag(rawValue: 0x16)
    package static let utcTime = Tag(rawValue: 0x17)
    package static let generalizedTime = Tag(rawValue: 0x18)
    package static let sequence = Tag(rawValue: 0x30)
    package static let set = Tag(rawValue: 0x31)

    /// Context-specific and constructed: `[number] EXPLICIT`, or IMPLICIT of a constructed type.
    package static func context(_ number: UInt8) -> Tag { Tag(rawValue: 0xA0 | number) }
    /// Context-specific and primitive: `[number] IMPLICIT` of a primitive type.
    package static func contextPrimitive(_ number: UInt8) -> Tag { Tag(rawValue: 0x80 | number) }
}
