/// One value of a document; a light view that keeps the document alive.
package struct JSONValue: Sendable {
    package let document: JSONDocument
    let index: Int

    private var token: JSONToken { document.tokens[index] }

    package var kind: JSONKind { token.kind }
    package var isNull: Bool { kind == .null }

    /// The value's text in `document.text`, quotes or brackets included.
    package var range: Range<Int> { token.range }

    /// A copy of the value's text.
    package var raw: [UInt8] { Array(document.text[range]) }

    /// A string's text, escapes resolved; nil of another kind.
    package var string: String? {
        guard kind == .string else { return nil }
        return document.string(token)
    }

    /// A string's bytes in the text, between its quotes, where none of them is escaped: what can
    /// be decoded further without a copy.
    package var plainContent: Range<Int>? {
        kind == .string && !token.escaped ? token.content : nil
    }

    /// Whether this is a string of exactly this text, escapes resolved.
    package func equals(_ other: String) -> Bool {
        kind == .string && document.equals(token, other)
    }

    /// Whether this is a string of exactly these UTF-8 bytes, escapes resolved.
    package func equals(_ other: Span<UInt8>) -> Bool {
        kind == .string && document.equals(token, other)
    }

    package var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A whole number that fits; also one written with a fraction or exponent, such as 1.0 or 1e3.
    package var int64: Int64? {
        guard let number, number.exact else { return nil }
        return number.floor
    }

    /// A number's whole part, cut towards the past; nil of another kind and out of range.
    package var number: JSONNumber? {
        guard kind == .number else { return nil }
        return JSONNumber(document.text.span.extracting(range))
    }

    /// A cursor over an object's members; nil of another kind.
    package var members: JSONMembers? {
        kind == .object ? JSONMembers(document: document, object: index) : nil
    }

    /// An object's member; nil without it and of another kind. JSON null is a value here.
    package subscript(_ name: String) -> JSONValue? {
        guard var members else { return nil }
        return members.value(name)
    }

    package func hasMember(_ name: String) -> Bool { self[name] != nil }

    /// An array's elements; nil of another kind.
    package var elements: JSONElements? {
        kind == .array ? JSONElements(document: document, array: index) : nil
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
    /// The text of a string token, escapes resolved.
    func string(_ token: JSONToken) -> String {
        guard token.escaped else { return String(decoding: text[token.content], as: UTF8.self) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(token.content.count)
        var bytes = JSONStringBytes(text.span, token)
        while let byte = bytes.next() { decoded.append(byte) }
        return String(decoding: decoded, as: UTF8.self)
    }

    func equals(_ token: JSONToken, _ other: String) -> Bool {
        guard !token.escaped else { return string(token) == other }
        return text.span.equal(token.content, other.utf8.span)
    }

    func equals(_ token: JSONToken, _ other: Span<UInt8>) -> Bool {
        guard token.escaped else { return text.span.equal(token.content, other) }
        var bytes = JSONStringBytes(text.span, token)
        for index in other.indices where bytes.next() != other[index] { return false }
        return bytes.next() == nil
    }
}
