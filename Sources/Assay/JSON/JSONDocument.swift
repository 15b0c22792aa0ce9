/// A completely parsed JSON text: UTF-8, one value, no duplicate member names in any object.
///
/// Owns the text and a flat list of tokens over it. Values are looked up by token index and
/// decoded on access. A class, so that passing it on costs one reference.
package final class JSONDocument: Sendable {
    /// The original text.
    package let text: [UInt8]
    /// The tokens in depth-first order: a container, then its content. An object's content is
    /// name, value, name, …
    let tokens: [JSONToken]
    /// The places of the root object's members.
    private let rootPlaces: JSONPlaces

    private init(text: [UInt8], tokens: [JSONToken], rootPlaces: JSONPlaces) {
        self.text = text
        self.tokens = tokens
        self.rootPlaces = rootPlaces
    }

    /// Parses a text of at most `limit` bytes, `depth` levels of objects and arrays, and `values`
    /// names and values.
    package static func parse(
        _ text: [UInt8], limit: Int = Limits.jsonSize, depth: Int = Limits.jsonDepth,
        values: Int = .max
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= min(limit, Int(UInt32.max)) else { throw .tooLarge(limit: limit) }
        var reader = JSONReader(text.span, depth: depth, values: values)
        let tokens = try reader.readDocument()
        return JSONDocument(text: text, tokens: tokens, rootPlaces: reader.rootPlaces)
    }

    /// Parses a copy of the text, of at most `limit` bytes.
    package static func parse(
        _ text: Span<UInt8>, limit: Int = Limits.jsonSize
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= limit else { throw .tooLarge(limit: limit) }
        return try parse(text.array, limit: limit)
    }

    /// The root value.
    package var root: JSONValue { JSONValue(document: self, index: 0) }

    /// Returns the members of the root value; throws `notAnObject` if it is not an object.
    package func members() throws(JSONError) -> JSONObject {
        guard let members = root.members else { throw .notAnObject }
        return members
    }

    /// Decodes the root object as one of Apple's payloads.
    package func decode<Payload: PayloadObject>(
        _ type: Payload.Type = Payload.self
    ) throws(JSONError) -> Payload {
        guard root.kind == .object else { throw .notAnObject }
        return try withRootMembers { members throws(JSONError) in try Payload(from: &members) }
    }

    /// Calls `body` with a cursor over the root's members. The root has to be an object.
    func withRootMembers<Result, Failure: Error>(
        _ body: (inout JSONMembers) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (text, tokens) = (text, tokens)
        var members = JSONMembers(
            text: text.span, tokens: tokens.span, places: rootPlaces, object: 0)
        return try body(&members)
    }
}

/// The type of a JSON value.
package enum JSONKind: UInt8, Sendable {
    case object, array, string, number, `true`, `false`, null
}

/// The position of one value or member name in the text.
struct JSONToken: Sendable {
    /// The offset of the value's first byte; for a string, of its opening quote.
    var start: UInt32
    /// The offset after the value's last byte.
    var end: UInt32
    /// The index of the token after this value and its content.
    var next: UInt32
    /// For a member name: `JSONToken.tag` of its bytes, or `anyTag` if it is escaped.
    var tag: UInt16
    var kind: JSONKind
    /// Whether this is a string with at least one escape.
    var escaped: Bool

    /// The byte range of the value.
    var range: Range<Int> { Int(start)..<Int(end) }
    /// The byte range of a string between its quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

    /// The tag of an escaped name, whose bytes differ from its decoded text.
    static let anyTag: UInt16 = 0

    /// Returns a cheap digest of a name, never `anyTag`. Names with different tags are different.
    @inline(__always)
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
