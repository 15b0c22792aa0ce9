/// One value of a document: a light view that keeps the document alive.
@usableFromInline
package struct JSONValue: Sendable {
    @usableFromInline
    package let document: JSONDocument
    @usableFromInline let index: Int

    @inlinable
    init(document: JSONDocument, index: Int) {
        self.document = document
        self.index = index
    }

    @inlinable var token: JSONToken { document.tokens[index] }

    @inlinable package var kind: JSONKind { token.kind }
    package var isNull: Bool { kind == .null }

    /// The range of the value in `document.text`, including quotes or brackets.
    package var range: Range<Int> { token.range }

    /// A copy of the value's text.
    package var raw: [UInt8] { Array(document.text[range]) }

    /// The range of a string between its quotes, if it has no escapes; nil for others.
    package var plainContent: Range<Int>? {
        kind == .string && !token.escaped ? token.content : nil
    }

    /// A string's text with escapes decoded; nil for other types.
    package var string: String? {
        guard kind == .string else { return nil }
        return document.string(token)
    }

    /// Whether this is a string with exactly this text, compared after decoding escapes.
    package func equals(_ other: String) -> Bool {
        kind == .string && document.equals(token, other)
    }

    /// Whether this is a string of exactly these UTF-8 bytes, compared after decoding escapes.
    package func equals(_ other: Span<UInt8>) -> Bool {
        kind == .string && document.equals(token, other)
    }

    /// Calls `body` with a string's UTF-8 bytes, escapes decoded; returns nil for other types.
    /// A string without escapes is not copied.
    @inlinable
    package func withUTF8<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard kind == .string else { return nil }
        let text = document.text
        if token.escaped {
            let decoded = text.span.unescapedBytes(token)
            return try body(decoded.span)
        }
        return try body(text.span.extracting(token.content))
    }

    /// A copy of a string's UTF-8 bytes, escapes decoded; nil for other types.
    package var bytes: [UInt8]? {
        guard kind == .string else { return nil }
        let text = document.text
        return token.escaped ? text.span.unescapedBytes(token) : text.span.array(token.content)
    }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A whole number that fits 64 bits, including forms with a fraction or exponent such as 1.0
    /// or 1e3.
    package var int64: Int64? {
        guard let number, number.exact else { return nil }
        return number.floor
    }

    /// A number's whole part, rounded down; nil for other types and out of range.
    package var number: JSONNumber? {
        guard kind == .number else { return nil }
        let text = document.text
        return JSONNumber(text.span.extracting(range))
    }

    /// An object's members; nil for other types.
    package var members: JSONObject? {
        kind == .object ? JSONObject(document: document, object: index) : nil
    }

    /// An object's member; nil if absent and for other types. JSON null is a value here.
    package subscript(_ name: String) -> JSONValue? { members?[name] }

    package func hasMember(_ name: String) -> Bool { self[name] != nil }

    /// An array's elements; nil for other types.
    package var elements: JSONElements? {
        kind == .array ? JSONElements(document: document, array: index) : nil
    }
}

/// The members of one object.
package struct JSONObject: Sendable {
    private let document: JSONDocument
    private let start: Int
    private let end: Int

    init(document: JSONDocument, object: Int) {
        self.document = document
        start = object + 1
        end = Int(document.tokens[object].next)
    }

    /// The number of members.
    package var count: Int {
        var (count, index) = (0, start)
        while index < end {
            count += 1
            index = Int(document.tokens[index + 1].next)
        }
        return count
    }

    package var isEmpty: Bool { start >= end }

    /// All names and values, in the order of the text.
    package var pairs: [(name: String, value: JSONValue)] {
        var pairs: [(name: String, value: JSONValue)] = []
        var index = start
        while index < end {
            let name = document.string(document.tokens[index])
            pairs.append((name, JSONValue(document: document, index: index + 1)))
            index = Int(document.tokens[index + 1].next)
        }
        return pairs
    }

    /// A member's value; JSON null counts.
    package subscript(_ name: String) -> JSONValue? {
        let wanted = name.utf8.span
        let tag = JSONToken.tag(wanted, 0..<wanted.count)
        var index = start
        while index < end {
            let token = document.tokens[index]
            if token.tag == tag || token.tag == JSONToken.anyTag, document.equals(token, wanted) {
                return JSONValue(document: document, index: index + 1)
            }
            index = Int(document.tokens[index + 1].next)
        }
        return nil
    }
}

/// The elements of one array, in order.
package struct JSONElements: Sequence, IteratorProtocol, Sendable {
    private let document: JSONDocument
    private var index: Int
    private let end: Int

    init(document: JSONDocument, array: Int) {
        self.document = document
        index = array + 1
        end = Int(document.tokens[array].next)
    }

    package mutating func next() -> JSONValue? {
        guard index < end else { return nil }
        defer { index = Int(document.tokens[index].next) }
        return JSONValue(document: document, index: index)
    }
}

extension JSONDocument {
    /// The text of a string token with escapes decoded.
    @usableFromInline
    func string(_ token: JSONToken) -> String {
        let text = text
        return text.span.string(token)
    }

    func equals(_ token: JSONToken, _ other: String) -> Bool {
        equals(token, other.utf8.span)
    }

    func equals(_ token: JSONToken, _ other: Span<UInt8>) -> Bool {
        let text = text
        return text.span.string(token, is: other)
    }
}

extension Span<UInt8> {
    /// The text of a validated string token with escapes decoded.
    @inlinable @inline(__always)
    func string(_ token: JSONToken) -> String {
        token.escaped
            ? unescaped(token)
            : validatedText(token.content, isASCII: token.form == .ascii)
    }

    @usableFromInline
    func unescaped(_ token: JSONToken) -> String {
        let decoded = unescapedBytes(token)
        return decoded.span.validatedText(0..<decoded.count)
    }

    /// Whether a validated string token has exactly these UTF-8 bytes after decoding escapes.
    @inlinable @inline(__always)
    func string(_ token: JSONToken, is other: Span<UInt8>) -> Bool {
        token.escaped
            ? unescaped(token, is: other) : extracting(token.content).equals(other)
    }

    @usableFromInline
    func unescaped(_ token: JSONToken, is other: Span<UInt8>) -> Bool {
        var bytes = JSONStringBytes(self, token)
        for index in other.indices where bytes.next() != other[index] { return false }
        return bytes.next() == nil
    }
}
