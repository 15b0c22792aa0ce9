import AssayBytes

/// The members at the top of a JSON object, as far as a text goes. Not a parser: it also reads
/// text that is cut off or not quite JSON, in one pass and without recursion.
struct TopMembers: Sendable {
    /// A member's value: its first character, and its text if it is a short string.
    struct Value: Sendable {
        let first: UInt8
        let text: String?
    }

    /// In the order of the text, each name once.
    private(set) var names: [String] = []
    private var values: [String: Value] = [:]

    /// - Parameter text: begins with an opening brace.
    init(_ text: FormText) {
        var offset = text.offset + 1
        while names.count < FormLimits.members {
            guard let name = Self.string(text, &offset), Self.skip(UInt8(ascii: ":"), text, &offset)
            else { return }
            Self.skipWhiteSpace(text, &offset)
            guard offset < text.end else { return }
            let first = text[offset]
            var value = Value(first: first, text: nil)
            if first == UInt8(ascii: "\"") {
                guard let content = Self.string(text, &offset) else {
                    add(name, value)
                    return
                }
                value = Value(first: first, text: content)
            } else {
                Self.skipValue(text, &offset)
            }
            add(name, value)
            guard Self.skip(UInt8(ascii: ","), text, &offset) else { return }
        }
    }

    subscript(name: String) -> Value? { values[name] }

    func has(_ name: String) -> Bool { values[name] != nil }

    func has(any names: String...) -> Bool { names.contains(where: has) }

    private mutating func add(_ name: String, _ value: Value) {
        guard values[name] == nil else { return }
        names.append(name)
        values[name] = value
    }

    private static func skipWhiteSpace(_ text: FormText, _ offset: inout Int) {
        while offset < text.end, text[offset].isWhiteSpace { offset += 1 }
    }

    private static func skip(_ byte: UInt8, _ text: FormText, _ offset: inout Int) -> Bool {
        skipWhiteSpace(text, &offset)
        guard offset < text.end, text[offset] == byte else { return false }
        offset += 1
        return true
    }

    /// Reads a string; a long one is read as its beginning. Nil if there is none, or no end of it.
    private static func string(_ text: FormText, _ offset: inout Int) -> String? {
        guard skip(UInt8(ascii: "\""), text, &offset) else { return nil }
        let start = offset
        while offset < text.end {
            switch text[offset] {
            case UInt8(ascii: "\\"): offset += 2
            case UInt8(ascii: "\""):
                let end = min(offset, start + FormLimits.nameBytes)
                offset += 1
                return String(decoding: text.slice[start..<end], as: UTF8.self)
            default: offset += 1
            }
        }
        return nil
    }

    /// Skips a value that is no string, up to the comma after it.
    private static func skipValue(_ text: FormText, _ offset: inout Int) {
        var depth = 0
        while offset < text.end {
            switch text[offset] {
            case UInt8(ascii: "\""):
                guard string(text, &offset) != nil else { return }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return
            default: break
            }
            offset += 1
        }
    }
}
