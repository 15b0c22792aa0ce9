/// Standard base64 with padding (RFC 4648, section 4), in its one canonical form: no white space,
/// no missing or extra padding, no bits set after the last byte. x5c entries have this form.
package enum Base64 {
    package static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var bytes: [UInt8] = []
        try decode(text, into: &bytes)
        return bytes
    }

    /// Appends the decoded bytes; leaves `bytes` unchanged on error.
    package static func decode(
        _ text: Span<UInt8>, into bytes: inout [UInt8]
    ) throws(Base64Error) {
        guard text.count % 4 == 0 else { throw .length }
        var end = text.count
        // At most two padding characters; any other `=` is an invalid digit.
        if end > 0, text[end - 1] == Base64Digits.padding { end -= 1 }
        if end < text.count, text[end - 1] == Base64Digits.padding { end -= 1 }
        try Base64Digits.standard.decode(text.extracting(0..<end), into: &bytes)
    }

    /// Decodes base64 as libraries and consoles write it: in either alphabet, with white space
    /// anywhere, and with or without padding.
    package static func decodeLenient(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        // The canonical form, without a copy.
        if let bytes = try? decode(text) { return bytes }
        let digits = text.withoutWhiteSpace
        var end = digits.count
        if end > 0, digits[end - 1] == Base64Digits.padding { end -= 1 }
        if end > 0, digits[end - 1] == Base64Digits.padding { end -= 1 }
        let isURL = digits.contains { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        var bytes: [UInt8] = []
        try (isURL ? Base64Digits.url : .standard)
            .decode(digits.span.extracting(0..<end), into: &bytes)
        return bytes
    }

    package static func isDigit(_ character: UInt8) -> Bool { value(of: character) != nil }

    /// The value of a digit; nil for other characters, padding included.
    package static func value(of character: UInt8) -> UInt8? {
        Base64Digits.standard.value(of: character)
    }

    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text = Base64Digits.encode(bytes, Base64Digits.standardAlphabet)
        while text.count % 4 != 0 { text.append(Base64Digits.padding) }
        return text
    }
}

/// An error in base64 text of either alphabet. Offsets count from the text's start.
package enum Base64Error: Error, Equatable {
    /// A digit count that encodes no whole number of bytes, or missing padding.
    case length
    /// A byte that is not a digit of this alphabet.
    case invalidCharacter(offset: Int)
    /// Bits after the last byte that are not zero; the canonical text for these bytes is another.
    case trailingBits
}

extension Base64Error: CustomStringConvertible {
    package var description: String {
        switch self {
        case .length: "the length is not valid for base64"
        case .invalidCharacter(let offset): "not a base64 digit at offset \(offset)"
        case .trailingBits: "the last base64 digit sets bits beyond the last byte"
        }
    }
}

/// The coding that both alphabets share: four digits encode three bytes.
final class Base64Digits: Sendable {
    /// The value of each character, or `invalid`.
    private let values: [256 of UInt8]
    /// Maps each position in a block and each character to the octets that it adds, lowest first.
    /// The highest bit marks characters that are not digits.
    private let blocks: [UInt32]
    /// The digits in which the alphabets differ, of the values 62 and 63.
    private let lastDigits: (UInt8, UInt8)

    static let padding = UInt8(ascii: "=")
    /// Bits that no digit's value has.
    private static let invalid: UInt8 = 0xC0

    static let standardAlphabet: [64 of UInt8] = alphabet(
        UInt8(ascii: "+"), UInt8(ascii: "/"))
    static let urlAlphabet: [64 of UInt8] = alphabet(UInt8(ascii: "-"), UInt8(ascii: "_"))
    static let standard = Base64Digits(standardAlphabet)
    static let url = Base64Digits(urlAlphabet)

    private init(_ alphabet: [64 of UInt8]) {
        var values = [256 of UInt8](repeating: Self.invalid)
        for index in alphabet.indices { values[Int(alphabet[index])] = UInt8(index) }
        self.values = values
        var blocks: [UInt32] = []
        for position in 0..<4 {
            for index in values.indices {
                let value = UInt32(values[index])
                let bits = value << UInt32(18 - position * 6)
                blocks.append(value < 64 ? (bits << 8).byteSwapped : 1 << 31)
            }
        }
        self.blocks = blocks
        lastDigits = (alphabet[62], alphabet[63])
    }

    private static func alphabet(_ digit62: UInt8, _ digit63: UInt8) -> [64 of UInt8] {
        [64 of UInt8] { index in
            switch UInt8(index) {
            case 0..<26: UInt8(ascii: "A") + UInt8(index)
            case 26..<52: UInt8(ascii: "a") + UInt8(index - 26)
            case 52..<62: UInt8(ascii: "0") + UInt8(index - 52)
            case 62: digit62
            default: digit63
            }
        }
    }

    /// Appends the decoded digits, which have no padding; leaves `bytes` unchanged on error.
    func decode(_ text: Span<UInt8>, into bytes: inout [UInt8]) throws(Base64Error) {
        guard text.count % 4 != 1 else { throw .length }
        let before = bytes.count
        let size = Self.size(text.count)
        // Appending nothing to an empty array writes to the storage that all empty arrays share.
        guard size > 0 else { return }
        var error: Base64Error?
        bytes.append(addingCapacity: size) { output in error = decode(text, to: &output) }
        if let error {
            bytes.removeLast(bytes.count - before)
            throw error
        }
    }

    /// The number of bytes that `digits` digits without padding encode.
    static func size(_ digits: Int) -> Int { digits / 4 * 3 + max(digits % 4 - 1, 0) }

    /// Decodes digits into an output with space for the bytes. On error, the output's contents
    /// are undefined.
    ///
    /// - Precondition: the number of digits is valid for base64.
    func decode(_ text: Span<UInt8>, to output: inout OutputSpan<UInt8>) -> Base64Error? {
        let whole = text.count / 4 * 4
        let blocks = blocks
        let isGood = text.extracting(0..<whole).decodeBase64Blocks(
            blocks.span, digit62: lastDigits.0, digit63: lastDigits.1, to: &output)
        var seen = isGood ? 0 : Self.invalid
        var unused: UInt8 = 0
        decodeRest(text.extracting(whole...), to: &output, &seen, &unused)
        guard seen & Self.invalid == 0, unused == 0 else {
            return seen & Self.invalid != 0 ? invalidCharacter(text) : .trailingBits
        }
        return nil
    }

    /// Decodes the two or three digits after the last block, if any.
    private func decodeRest(
        _ text: Span<UInt8>, to output: inout OutputSpan<UInt8>, _ seen: inout UInt8,
        _ unused: inout UInt8
    ) {
        guard text.count >= 2 else { return }
        let (a, b) = (value(text[0]), value(text[1]))
        seen |= a | b
        output.append(a << 2 | b >> 4)
        unused = b << 4
        guard text.count > 2 else { return }
        let c = value(text[2])
        seen |= c
        output.append(b << 4 | c >> 2)
        unused = c << 6
    }

    func value(of character: UInt8) -> UInt8? {
        let value = value(character)
        return value & Self.invalid == 0 ? value : nil
    }

    @inline(__always)
    private func value(_ character: UInt8) -> UInt8 { values[Int(character)] }

    private func invalidCharacter(_ text: Span<UInt8>) -> Base64Error {
        for index in text.indices where value(text[index]) & Self.invalid != 0 {
            return .invalidCharacter(offset: index)
        }
        return .length
    }

    /// Encodes bytes as digits, without padding.
    static func encode(_ bytes: Span<UInt8>, _ alphabet: [64 of UInt8]) -> [UInt8] {
        let size = bytes.count / 3 * 4 + (bytes.count % 3 > 0 ? bytes.count % 3 + 1 : 0)
        return [UInt8](capacity: size) { output in
            var index = 0
            while index + 3 <= bytes.count {
                let (a, b, c) = (bytes[index], bytes[index + 1], bytes[index + 2])
                output.append(alphabet[Int(a >> 2)])
                output.append(alphabet[Int((a << 4 | b >> 4) & 63)])
                output.append(alphabet[Int((b << 2 | c >> 6) & 63)])
                output.append(alphabet[Int(c & 63)])
                index += 3
            }
            guard index < bytes.count else { return }
            let a = bytes[index]
            let b = index + 1 < bytes.count ? bytes[index + 1] : 0
            output.append(alphabet[Int(a >> 2)])
            output.append(alphabet[Int((a << 4 | b >> 4) & 63)])
            if index + 1 < bytes.count { output.append(alphabet[Int((b << 2) & 63)]) }
        }
    }
}
