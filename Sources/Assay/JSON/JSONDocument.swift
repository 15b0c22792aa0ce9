/// A JSON text that has been read completely: UTF-8, one value, no name twice in any object.
///
/// Owns the text and a flat list of tokens over it; values are looked up by token index, and
/// nothing is decoded before somebody asks. A class, so that it is handed on at the price of one
/// reference.
package final class JSONDocument: Sendable {
    /// The text as it was given.
    package let text: [UInt8]
    /// Depth first: a container, then its content; an object's content is name, value, name, …
    let tokens: [JSONToken]
    /// Where the outermost object's members are.
    private let rootPlaces: JSONPlaces

    private init(text: [UInt8], tokens: [JSONToken], rootPlaces: JSONPlaces) {
        self.text = text
        self.tokens = tokens
        self.rootPlaces = rootPlaces
    }

    /// Reads a text of at most `limit` bytes and levels of objects and arrays.
    package static func parse(
        _ text: [UInt8], limit: Int = Limits.jsonSize, depth: Int = Limits.jsonDepth
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= min(limit, Int(UInt32.max)) else { throw .tooLarge(limit: limit) }
        var reader = JSONReader(text.span, depth: depth)
        let tokens = try reader.readDocument()
        return JSONDocument(text: text, tokens: tokens, rootPlaces: reader.rootPlaces)
    }

    /// Reads a copy of the text, of at most `limit` bytes.
    package static func parse(
        _ text: Span<UInt8>, limit: Int = Limits.jsonSize
    ) throws(JSONError) -> JSONDocument {
        guard text.count <= limit else { throw .tooLarge(limit: limit) }
        return try parse(text.array, limit: limit)
    }

    /// The text's one value.
    package var root: JSONValue { JSONValue(document: self, index: 0) }

    /// The text's one value, which has to be an object.
    package func members() throws(JSONError) -> JSONObject {
        guard let members = root.members else { throw .notAnObject }
        return members
    }

    /// Decodes the whole text as one of Apple's payloads.
    package func decode<Payload: PayloadObject>(
        _ type: Payload.Type = Payload.self
    ) throws(JSONError) -> Payload {
        guard root.kind == .object else { throw .notAnObject }
        return try withRootMembers { members throws(JSONError) in try Payload(from: &members) }
    }

    /// A cursor over the members of the text's one value, which is an object.
    func withRootMembers<Result, Failure: Error>(
        _ body: (inout JSONMembers) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (text, tokens) = (text, tokens)
        var members = JSONMembers(
            text: text.span, tokens: tokens.span, places: rootPlaces, object: 0)
        return try body(&members)
    }
}

/// What a JSON value is.
package enum JSONKind: UInt8, Sendable {
    case object, array, string, number, `true`, `false`, null
}

/// One value, or one member name, as bytes of the text.
struct JSONToken: Sendable {
    /// Where the value's text begins; of a string, its opening quote.
    var start: UInt32
    /// Behind the value's last byte.
    var end: UInt32
    /// Index of the token behind this value and all that is in it.
    var next: UInt32
    /// Of a member name: `JSONToken.tag` of its bytes, or `anyTag` where it is escaped.
    var tag: UInt16
    var kind: JSONKind
    /// A string with at least one escape.
    var escaped: Bool

    /// The value's text.
    var range: Range<Int> { Int(start)..<Int(end) }
    /// A string's bytes between its quotes.
    var content: Range<Int> { Int(start) + 1..<Int(end) - 1 }

    /// The tag of a name whose bytes are not its text's.
    static let anyTag: UInt16 = 0

    /// A digest of a name, cheap and never `anyTag`: different tags are different names.
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
