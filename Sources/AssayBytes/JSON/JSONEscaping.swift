/// How strings are escaped in JSON text (RFC 8259, section 7).
package enum JSONEscaping: Sendable {
    /// Only quotes, backslashes and the control characters of ASCII, as JSON requires.
    case required
    /// Also the characters that a terminal or a reader could act on instead of showing them:
    /// other control characters, format characters such as changes of direction, and line and
    /// paragraph separators.
    case unprintable

    /// The byte that a backslash and one character stand for; nil if JSON has no such escape.
    package static func byte(ofEscape character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): character
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// Whether text stands for itself: nothing of it is escaped.
    @inline(__always)
    func isPlain(_ text: Span<UInt8>) -> Bool {
        text.isPlainJSON(upTo: self == .required ? 0x7F : 0x7E)
    }

    /// Appends text in quotes.
    func append(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        let bytes = string.utf8Span.span
        switch self {
        // Most strings, at once: a view of UTF-8 would be appended byte by byte.
        case _ where isPlain(bytes):
            bytes.copy(to: &text, at: text.count)
        case .required:
            for byte in string.utf8 { Self.append(byte, to: &text) }
        case .unprintable:
            for scalar in string.unicodeScalars {
                if scalar.value >= 0x7F, scalar.isUnprintable {
                    Self.append(escape: scalar, to: &text)
                } else {
                    for byte in scalar.utf8 { Self.append(byte, to: &text) }
                }
            }
        }
        text.append(UInt8(ascii: "\""))
    }

    /// Escapes the unprintable characters of JSON text. Its meaning stays the same: outside of
    /// strings JSON allows no such character but white space. Invalid UTF-8 becomes U+FFFD.
    package static func escapingUnprintable(_ json: [UInt8]) -> [UInt8] {
        // JSON has no unescaped control characters of ASCII, except DEL.
        guard json.span.hasByteAboveTilde else { return json }
        var text: [UInt8] = []
        text.reserveCapacity(json.count)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, scalar.isUnprintable {
                append(escape: scalar, to: &text)
            } else {
                text += scalar.utf8
            }
        }
        return text
    }

    /// Appends one byte of a string's UTF-8, escaped if JSON requires it.
    private static func append(_ byte: UInt8, to text: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            text.append(UInt8(ascii: "\\"))
            text.append(byte)
        case 0x08: text += "\\b".utf8
        case 0x09: text += "\\t".utf8
        case 0x0A: text += "\\n".utf8
        case 0x0C: text += "\\f".utf8
        case 0x0D: text += "\\r".utf8
        case 0..<0x20: append(escape: Unicode.Scalar(byte), to: &text)
        default: text.append(byte)
        }
    }

    /// Appends a `\u` escape, or two for a character that has a surrogate pair.
    private static func append(escape scalar: Unicode.Scalar, to text: inout [UInt8]) {
        for unit in scalar.utf16 {
            text += "\\u".utf8
            text += String(unit, width: 4, radix: 16).utf8
        }
    }
}

extension Span<UInt8> {
    /// Whether there is DEL or a byte that is not ASCII.
    fileprivate var hasByteAboveTilde: Bool {
        let start = skipBlocks(from: 0) { word in
            (word | (word &+ 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080
        }
        for index in start..<count where self[index] > 0x7E { return true }
        return false
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a reader could act on this character instead of showing it: control
    /// and format characters, line and paragraph separators.
    package var isUnprintable: Bool {
        if (0x20...0x7E).contains(value) { return false }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
