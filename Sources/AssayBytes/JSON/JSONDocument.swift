/// A completely parsed JSON text: UTF-8, one value, no duplicate member names in any object.
///
/// Owns the text and a flat list of tokens over it. Values are looked up by token index and
/// decoded on access. A class, so that passing it on costs one reference.
@usableFromInline
package final class JSONDocument: Sendable {
    /// The original text.
    @usableFromInline
    package let text: [UInt8]
    /// The tokens in depth-first order: a container, then its content. An object's content is
    /// name, value, name, …
    @usableFromInline let tokens: [JSONToken]
    /// The index of the root object's members.
    @usableFromInline let rootNames: JSONNameIndex

    private init(text: [UInt8], tokens: [JSONToken], rootNames: JSONNameIndex) {
        self.text = text
        self.tokens = tokens
        self.rootNames = rootNames
    }

    /// Parses a text of at most `limit` bytes, `depth` levels of objects and arrays, and `values`
    /// names and values.
    package static func parse(
        _ text: [UInt8], limit: Int = JSONLimits.size, depth: Int = JSONLimits.depth,
        values: Int = .max
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= min(limit, Int(UInt32.max)) else { throw .tooLarge(limit: limit) }
        var reader = JSONReader(text.span, depth: depth, values: values)
        let tokens = try reader.readDocument()
        return JSONDocument(text: text, tokens: tokens, rootNames: reader.rootNames)
    }

    /// Parses a copy of the text, of at most `limit` bytes.
    package static func parse(
        _ text: Span<UInt8>, limit: Int = JSONLimits.size
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= limit else { throw .tooLarge(limit: limit) }
        return try parse(text.array, limit: limit)
    }

    /// The root value.
    @inlinable
    package var root: JSONValue { JSONValue(document: self, index: 0) }

    /// Returns the members of the root value; throws `notAnObject` if it is not an object.
    package func members() throws(JSONError) -> JSONObject {
        guard let members = root.members else { throw .notAnObject }
        return members
    }

    /// Calls `body` with a cursor over the root's members. The root has to be an object.
    @inlinable
    package func withRootMembers<Result, Failure: Error>(
        _ body: (inout JSONMembers) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (text, tokens) = (text, tokens)
        var members = JSONMembers(
            text: text.span, tokens: tokens.span, names: rootNames, object: 0)
        return try body(&members)
    }
}

/// The type of a JSON value.
@usableFromInline
package enum JSONKind: UInt8, Sendable {
    case object, array, string, number, `true`, `false`, null
}

/// What the bytes of a string are in the text.
@usableFromInline
enum JSONStringForm: UInt8, Sendable {
    /// The string's own; at least one is not ASCII in `utf8`.
    case ascii, utf8
    /// At least one escape.
    case escaped
}

/// The position of one value or member name in the text.
@usableFromInline
struct JSONToken: Sendable {
    /// The offset of the value's first byte; for a string, of its opening quote.
    @usableFromInline var start: UInt32
    /// The offset after the value's last byte.
    @usableFromInline var end: UInt32
    /// The index of the token after this value and its content.
    @usableFromInline var next: UInt32
    /// For a member name: `JSONToken.tag` of its bytes, or `anyTag` if it is escaped.
    @usableFromInline var tag: UInt16
    @usableFromInline var kind: JSONKind
    /// Of a string.
    @usableFromInline var form: JSONStringForm

    /// Whether this is a string with at least one escape.
    @inlinable var escaped: Bool { form == .escaped }
    /// The byte range of the value.
    @inlinable var range: Range<Int> { Int(start)..<Int(end) }
    /// The byte range of a string between its quotes.
    @inlinable var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

    /// The tag of an escaped name, whose bytes differ from its decoded text.
    @inlinable static var anyTag: UInt16 { 0 }

    /// Returns a cheap digest of a name, never `anyTag`. Names with different tags are different.
    @inlinable @inline(__always)
    static func tag(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt16 {
        let length = range.count
        guard length > 0 else { return 1 }
        let first = UInt32(text[range.lowerBound])
        let middle = UInt32(text[range.lowerBound + length / 2])
        let last = UInt32(text[range.upperBound - 1])
        var digest = UInt32(truncatingIfNeeded: length) &* 0x9E37_79B1
        digest = (digest ^ first) &* 0x85EB_CA6B
        digest = (digest ^ middle) &* 0xC2B2_AE35
        digest = (digest ^ last) &* 0x27D4_EB2F
        return UInt16(truncatingIfNeeded: digest >> 16) | 1
    }
}
