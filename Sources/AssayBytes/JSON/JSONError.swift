/// The errors of parsing and decoding JSON. Offsets count bytes from the start of the text.
@usableFromInline
package enum JSONError: Error, Equatable {
    /// Longer than the caller's limit.
    case tooLarge(limit: Int)
    /// Begins with a byte order mark (RFC 8259, section 8.1).
    case byteOrderMark
    /// Ends inside a value.
    case unexpectedEnd
    /// A byte that is not allowed in this position.
    case unexpectedByte(offset: Int)
    /// Bytes other than white space after the value.
    case trailingBytes(offset: Int)
    /// Objects and arrays nested deeper than the caller's limit.
    case tooDeep(limit: Int, offset: Int)
    /// More values than the caller's limit; a member's name counts as one.
    case tooManyValues(limit: Int)
    /// A number that violates RFC 8259, section 6.
    case invalidNumber(offset: Int)
    /// An unescaped control character in a string.
    case controlCharacter(offset: Int)
    /// An escape that violates RFC 8259, section 7.
    case invalidEscape(offset: Int)
    /// An escaped UTF-16 surrogate without its other half.
    case loneSurrogate(offset: Int)
    /// Bytes that are not UTF-8 (RFC 3629).
    case invalidUTF8(offset: Int)
    /// Two members of an object with the same name, compared after decoding escapes.
    case duplicateMember(offset: Int)
    /// The value is not an object, where one is required.
    case notAnObject
    /// A required member is missing.
    case missingMember(String)
    /// A member's JSON type differs from its field's.
    case wrongType(member: String, expected: Expected)
    /// A date outside the range of 64-bit milliseconds.
    case dateOutOfRange(member: String)

    /// The expected type of a member.
    @usableFromInline
    package enum Expected: String, Sendable {
        case string = "a string"
        case date = "a number of milliseconds"
        case int32 = "a whole number of 32 bits"
        case int64 = "a whole number of 64 bits"
        case bool = "true or false"
        case object = "an object"
        case strings = "an array of strings"
        case objects = "an array of objects"
    }
}

extension JSONError: CustomStringConvertible {
    /// One sentence that contains none of the text's content.
    @usableFromInline
    package var description: String {
        switch self {
        case .tooLarge(let limit): "the JSON text is longer than \(limit) bytes"
        case .byteOrderMark: "the JSON text begins with a byte order mark"
        case .unexpectedEnd: "the JSON text ends too early"
        case .unexpectedByte(let offset): "unexpected byte in JSON at offset \(offset)"
        case .trailingBytes(let offset): "bytes follow the JSON value at offset \(offset)"
        case .tooDeep(let limit, let offset):
            "JSON nested deeper than \(limit) levels, at offset \(offset)"
        case .tooManyValues(let limit): "the JSON text has more than \(limit) names and values"
        case .invalidNumber(let offset): "invalid number in JSON at offset \(offset)"
        case .controlCharacter(let offset):
            "unescaped control character in a JSON string at offset \(offset)"
        case .invalidEscape(let offset): "invalid escape in a JSON string at offset \(offset)"
        case .loneSurrogate(let offset): "lone surrogate in a JSON string at offset \(offset)"
        case .invalidUTF8(let offset): "JSON is not UTF-8 at offset \(offset)"
        case .duplicateMember(let offset): "duplicate member name in JSON at offset \(offset)"
        case .notAnObject: "the JSON value is not an object"
        case .missingMember(let name): "the JSON member \(name) is missing"
        case .wrongType(let member, let expected):
            "the JSON member \(member) is not \(expected.rawValue)"
        case .dateOutOfRange(let member): "the date in the JSON member \(member) is out of range"
        }
    }
}
