import AssayBytes

/// The first bytes of a text, from an offset on. Offsets count from the beginning of the evidence.
struct FormText: Sendable {
    private let bytes: [UInt8]
    /// The offset of the first character.
    let offset: Int
    /// The number of all bytes of the text.
    let total: Int

    /// - Parameter total: the number of all bytes of the text; nil if these are all.
    init(_ bytes: [UInt8], of total: Int? = nil) {
        self.init(bytes, of: total ?? bytes.count, from: 0)
    }

    private init(_ bytes: [UInt8], of total: Int, from offset: Int) {
        self.bytes = bytes
        self.total = total
        self.offset = offset
    }

    /// Whether the text ends here.
    var isWhole: Bool { bytes.count == total }
    /// The number of all bytes, for messages. It is unknown for `Int.max`.
    var size: String { total == .max ? "more than \(bytes.count)" : "\(total)" }

    var end: Int { bytes.count }
    var count: Int { end - offset }
    var first: UInt8 { bytes[offset] }
    var slice: ArraySlice<UInt8> { bytes[offset...] }

    subscript(offset: Int) -> UInt8 { bytes[offset] }

    /// The offset of the first character that is not white space.
    var start: Int? { slice.firstIndex { !$0.isWhiteSpace } }

    /// The same text from an offset on.
    func from(_ offset: Int) -> FormText {
        FormText(bytes, of: total, from: offset)
    }

    /// The text without one line break at its end.
    var withoutLineBreak: FormText {
        guard isWhole else { return self }
        let text = bytes.span.withoutLineBreak.array
        return FormText(text, of: text.count, from: offset)
    }

    /// The offset after the last character that is not white space; nil if the end is not known.
    var trimmedEnd: Int? {
        guard isWhole else { return nil }
        return (slice.lastIndex { !$0.isWhiteSpace }).map { $0 + 1 }
    }

    /// The text without white space at its end, if it is short.
    func short(_ limit: Int) -> String? {
        guard let trimmedEnd, trimmedEnd - offset <= limit else { return nil }
        return String(decoding: bytes[offset..<trimmedEnd], as: UTF8.self)
    }

    /// Whether the text begins with this ASCII text.
    func starts(_ prefix: StaticString, ignoringCase: Bool = false) -> Bool {
        starts(Array("\(prefix)".utf8), ignoringCase: ignoringCase)
    }

    private func starts(_ prefix: [UInt8], ignoringCase: Bool) -> Bool {
        guard count >= prefix.count else { return false }
        return zip(slice, prefix).allSatisfy { byte, wanted in
            byte == wanted || ignoringCase && byte | 0x20 == wanted | 0x20 && wanted | 0x20 >= 0x61
        }
    }

    /// The offset of the first occurrence of a short text.
    func offset(of text: StaticString) -> Int? {
        let wanted = Array("\(text)".utf8)
        guard count >= wanted.count else { return nil }
        return (offset...end - wanted.count).first { bytes[$0...].starts(with: wanted) }
    }

    /// A character and its offset, for messages.
    static func mark(_ byte: UInt8, _ offset: Int) -> String {
        let character =
            switch byte {
            case UInt8(ascii: "\""): "a quotation mark"
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): "a line break"
            case UInt8(ascii: " "): "a space"
            case UInt8(ascii: "\t"): "a tab"
            case 0x21...0x7E: "\"\(Character(Unicode.Scalar(byte)))\""
            default: hexadecimal(byte)
            }
        return "\(character) at offset \(offset)"
    }
}

extension UInt8 {
    var isBase64URL: Bool { Base64URL.isDigit(self) }

    var isStandardBase64: Bool { Base64.isDigit(self) }
}
