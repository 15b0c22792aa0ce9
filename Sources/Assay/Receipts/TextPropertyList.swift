import AssayBytes

/// The NeXT-style text property list of transaction receipts, limited to the form that Apple
/// writes: one dictionary of quoted strings, `{ "name" = "value"; … }`.
struct TextPropertyList: Equatable, Sendable {
    struct Member: Equatable, Sendable {
        let name: String
        let value: String
    }

    /// The members in their order; names are unique.
    let members: [Member]

    subscript(name: String) -> String? { members.first { $0.name == name }?.value }

    /// Parses one dictionary, with nothing but white space around it.
    init(_ text: Span<UInt8>) throws(TextPropertyListError) {
        var reader = TextPropertyListReader(text)
        var members: [Member] = []
        try reader.expect("{")
        while !reader.skip("}") {
            guard members.count < Limits.textPropertyListMembers else { throw .tooManyMembers }
            let name = try reader.string()
            try reader.expect("=")
            let value = try reader.string()
            try reader.expect(";")
            // Names that are canonically equivalent count as duplicates; Apple writes neither.
            guard !members.contains(where: { $0.name == name }) else { throw .duplicate(name) }
            members.append(Member(name: name, value: value))
        }
        try reader.atEnd()
        self.members = members
    }
}

/// An error in the text of a property list. Offsets count from the text's start.
enum TextPropertyListError: Error, Equatable {
    case truncated
    /// A character that the form does not allow at the offset.
    case unexpected(at: Int)
    /// A backslash before a character that Apple's writer never escapes.
    case invalidEscape(at: Int)
    /// A string that is not UTF-8.
    case notUTF8(at: Int)
    case duplicate(String)
    case tooManyMembers
}

extension TextPropertyListError: CustomStringConvertible {
    var description: String {
        switch self {
        case .truncated: "it ends inside the dictionary"
        case .unexpected(let at): "an unexpected character at offset \(at)"
        case .invalidEscape(let at): "an unknown escape at offset \(at)"
        case .notUTF8(let at): "a string that is not UTF-8 at offset \(at)"
        case .duplicate: "a member occurs twice"
        case .tooManyMembers: "more than \(Limits.textPropertyListMembers) members"
        }
    }
}

private struct TextPropertyListReader: ~Escapable {
    private let text: Span<UInt8>
    private var position = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    /// Skips white space, then `character` if it is next. Returns whether it was.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        while position < text.count, text[position].isWhiteSpace { position += 1 }
        guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func expect(_ character: Unicode.Scalar) throws(TextPropertyListError) {
        guard !skip(character) else { return }
        throw position < text.count ? .unexpected(at: position) : .truncated
    }

    mutating func atEnd() throws(TextPropertyListError) {
        while position < text.count, text[position].isWhiteSpace { position += 1 }
        guard position == text.count else { throw .unexpected(at: position) }
    }

    mutating func string() throws(TextPropertyListError) -> String {
        try expect("\"")
        let start = position
        var bytes: [UInt8] = []
        while position < text.count {
            let byte = text[position]
            position += 1
            switch byte {
            case UInt8(ascii: "\""):
                guard let string = String(validating: bytes, as: UTF8.self) else {
                    throw .notUTF8(at: start)
                }
                return string
            case UInt8(ascii: "\\"): try escape(into: &bytes)
            default: bytes.append(byte)
            }
        }
        throw .truncated
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(TextPropertyListError) {
        guard position < text.count else { throw .truncated }
        let at = position - 1
        let character = text[position]
        position += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(character)
        case UInt8(ascii: "n"): bytes.append(UInt8(ascii: "\n"))
        case UInt8(ascii: "r"): bytes.append(UInt8(ascii: "\r"))
        case UInt8(ascii: "t"): bytes.append(UInt8(ascii: "\t"))
        case UInt8(ascii: "U"):
            var unit = UInt32(try hexadecimalUnit(at))
            // UTF-16: code points above U+FFFF take two units.
            if 0xD800..<0xDC00 ~= unit {
                guard position + 1 < text.count, text[position] == UInt8(ascii: "\\"),
                    text[position + 1] == UInt8(ascii: "U")
                else { throw .invalidEscape(at: at) }
                position += 2
                let low = UInt32(try hexadecimalUnit(at))
                guard 0xDC00..<0xE000 ~= low else { throw .invalidEscape(at: at) }
                unit = 0x1_0000 + (unit - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(unit) else { throw .invalidEscape(at: at) }
            bytes += Array(String(Character(scalar)).utf8)
        default: throw .invalidEscape(at: at)
        }
    }

    private mutating func hexadecimalUnit(_ at: Int) throws(TextPropertyListError) -> UInt16 {
        guard text.count - position >= 4 else { throw .truncated }
        guard let unit = text.hexadecimal4(at: position) else { throw .invalidEscape(at: at) }
        position += 4
        return unit
    }
}
