import AssayBytes

/// An error in bytes that should be DER (or, where allowed, BER). Offsets count from the first
/// byte of the certificate or message.
package enum DERError: Error, Equatable, Sendable {
    /// The bytes end inside an encoding.
    case truncated
    /// Bytes follow the end of the structure.
    case trailingBytes(at: Int)
    case unexpectedTag(expected: UInt8, found: UInt8, at: Int)
    /// Multi-octet tags do not occur in certificates or receipts.
    case highTagNumber(at: Int)
    case indefiniteLength(at: Int)
    case nonMinimalLength(at: Int)
    case lengthTooLarge(at: Int)
    /// An element larger than the limit for its kind.
    case elementTooLarge(octets: Int, limit: Int)
    /// An INTEGER that is empty, or padded with needless octets (X.690, section 8.3.2).
    case nonMinimalInteger(at: Int)
    /// An INTEGER outside the range of its field.
    case integerOutOfRange(at: Int)
    /// A BOOLEAN other than 00 and FF (X.690, section 11.1).
    case invalidBoolean(at: Int)
    /// A BIT STRING with unused bits in place of whole octets, or not in its minimal form.
    case invalidBitString(at: Int)
    /// Neither `YYMMDDHHMMSSZ` nor `YYYYMMDDHHMMSSZ` (RFC 5280, section 4.1.2.5), or not a real
    /// date.
    case invalidTime(at: Int)
    /// A default value that is encoded although DER omits it (X.690, section 11.5).
    case defaultEncoded(at: Int)
    /// Text that is not UTF-8.
    case invalidText(at: Int)
    /// More elements in one list than the limit.
    case tooManyElements(limit: Int, at: Int)
    /// A SET OF whose members are not in ascending order (X.690, section 11.6).
    case unorderedSet(at: Int)
    /// A version that contradicts the contents of the structure (RFC 5652, section 5.3).
    case contradictoryVersion(at: Int)
    /// A second occurrence of an attribute that Apple writes once.
    case duplicate(at: Int)
}

extension DERError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .truncated: "the bytes end inside an element"
        case .trailingBytes(let at): "bytes follow the structure at offset \(at)"
        case .unexpectedTag(let expected, let found, let at):
            "tag \(hexadecimal(found)) at offset \(at), not \(hexadecimal(expected))"
        case .highTagNumber(let at): "a multi-octet tag at offset \(at)"
        case .indefiniteLength(let at): "an indefinite length at offset \(at)"
        case .nonMinimalLength(let at): "a length that is not minimal at offset \(at)"
        case .lengthTooLarge(let at): "a length beyond 4 GiB at offset \(at)"
        case .elementTooLarge(let octets, let limit):
            "an element of \(octets) bytes, above the limit of \(limit)"
        case .nonMinimalInteger(let at): "an INTEGER that is not minimal at offset \(at)"
        case .integerOutOfRange(let at): "an INTEGER out of range at offset \(at)"
        case .invalidBoolean(let at): "a BOOLEAN that is neither 00 nor FF at offset \(at)"
        case .invalidBitString(let at): "an invalid BIT STRING at offset \(at)"
        case .invalidTime(let at): "an invalid time at offset \(at)"
        case .defaultEncoded(let at): "an explicitly encoded default value at offset \(at)"
        case .invalidText(let at): "text that is not UTF-8 at offset \(at)"
        case .tooManyElements(let limit, let at):
            "a list of more than \(limit) elements at offset \(at)"
        case .unorderedSet(let at): "a SET OF out of order at offset \(at)"
        case .contradictoryVersion(let at):
            "a version that contradicts what follows it, at offset \(at)"
        case .duplicate(let at): "an attribute that occurs twice, at offset \(at)"
        }
    }
}
