/// Standard base64 with padding (RFC 4648, section 4), in its one canonical form: no white space,
/// no missing or extra padding, no bits set behind the last byte. So are x5c entries written.
package enum Base64 {
    package static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var bytes: [UInt8] = []
        try decode(text, into: &bytes)
        return bytes
    }

    /// Appends what the text stands for; leaves `bytes` as it was on error.
    package static func decode(
        _ text: Span<UInt8>, into bytes: inout [UInt8]
    ) throws(Base64Error) {
        guard text.count % 4 == 0 else { throw .length }
        var end = text.count
        // At most two signs of padding; any other is no digit.
        if end > 0, text[end - 1] == Base64Digits.padding { end -= 1 }
        if end < text.count, text[end - 1] == Base64Digits.padding { end -= 1 }
        try Base64Digits.standard.decode(text.extracting(0..<end), into: &bytes)
    }

    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text = Base64Digits.encode(bytes, Base64Digits.standardAlphabet)
        while text.count % 4 != 0 { text.append(Base64Digits.padding) }
        return text
    }
}

/// Why a text is not base64 (of either alphabet). Offsets count from the text's start.
package enum Base64Error: Error, Equatable {
    /// A number of digits that no whole number of bytes is written with, or a lack of padding.
    case length
    /// A byte that is no digit of this alphabet.
    case invalidCharacter(offset: Int)
    /// Bits behind the last byte that are not zero: another text already stands for these bytes.
    case trailingBits
}

extension Base64Error: CustomStringConvertible {
    package var description: String {
        switch self {
        case .length: "the length is none of base64"
        case .invalidCharacter(let offset): "no base64 digit at offset \(offset)"
        case .trailingBits: "the last base64 digit has bits set that belong to no byte"
        }
    }
}

/// What both alphabets share: four digits are three bytes.
final class Base64Digits: Sendable {
    /// Of each character its value, or `invalid`.
    private let values: [256 of UInt8]
    /// Of each place in a block and each character the octets that it adds, lowest first; the
    /// highest bit where it is no digit.
    private let blocks: [UInt32]

    static let padding = UInt8(ascii: "=")
    /// Above every value, in bits that no value has.
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
        for place in 0..<4 {
            for index in values.indices {
                let value = UInt32(values[index])
                let bits = value << UInt32(18 - place * 6)
                blocks.append(value < 64 ? (bits << 8).byteSwapped : 1 << 31)
            }
        }
        self.blocks = blocks
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

    /// Decodes digits alone, without padding; appends, and leaves `bytes` as it was on error.
    func decode(_ text: Span<UInt8>, into bytes: inout [UInt8]) throws(Base64Error) {
        guard text.count % 4 != 1 else { throw .length }
        let before = bytes.count
        let size = Self.size(text.count)
        // Appending nothing to an empty array writes to the one that all empty arrays share.
        guard size > 0 else { return }
        var error: Base64Error?
        bytes.append(addingCapacity: size) { output in error = decode(text, to: &output) }
        if let error {
            bytes.removeLast(bytes.count - before)
            throw error
        }
    }

    /// The bytes that so many digits without padding stand for.
    static func size(_ digits: Int) -> Int { digits / 4 * 3 + max(digits % 4 - 1, 0) }

    /// The same where there is room for them; what is in it on error is nothing.
    ///
    /// - Precondition: such a number of digits can be.
    func decode(_ text: Span<UInt8>, to output: inout OutputSpan<UInt8>) -> Base64Error? {
        let whole = text.count / 4 * 4
        let blocks = blocks
        let isGood = text.extracting(0..<whole).decodeBase64Blocks(blocks.span, to: &output)
        var seen = isGood ? 0 : Self.invalid
        var unused: UInt8 = 0
        decodeRest(text.extracting(whole...), to: &output, &seen, &unused)
        guard seen & Self.invalid == 0, unused == 0 else {
            return seen & Self.invalid != 0 ? invalidCharacter(text) : .trailingBits
        }
        return nil
    }

    /// The two or three digits behind the last block, or none.
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

    func isDigit(_ character: UInt8) -> Bool { value(character) & Self.invalid == 0 }

    @inline(__always)
    private func value(_ character: UInt8) -> UInt8 { values[Int(character)] }

    private func invalidCharacter(_ text: Span<UInt8>) -> Base64Error {
        for index in text.indices where value(text[index]) & Self.invalid != 0 {
            return .invalidCharacter(offset: index)
        }
        return .length
    }

    /// The digits of bytes, without padding.
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
