/// Base64 with padding (RFC 4648, 4), as `x5c` and PEM use it.
enum Base64 {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    struct Malformed: Error {}

    static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let size = min(3, bytes.count - start)
            var bits: UInt32 = 0
            for index in 0..<3 {
                bits = bits << 8 | (index < size ? UInt32(bytes[start + index]) : 0)
            }
            for index in 0..<4 {
                let digit = Int(bits >> UInt32(18 - 6 * index)) & 0x3F
                text.append(index <= size ? alphabet[digit] : UInt8(ascii: "="))
            }
        }
        return text
    }

    static func decode(_ text: Span<UInt8>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for index in text.indices where text[index] != UInt8(ascii: "=") {
            guard let digit = alphabet.firstIndex(of: text[index]) else { throw Malformed() }
            bits = bits << 6 | UInt32(digit)
            count += 1
            if count % 4 != 1 {
                bytes.append(UInt8(truncatingIfNeeded: bits >> [0, 0, 4, 2][count % 4]))
            }
        }
        return bytes
    }
}

enum Base64URL {
    static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        Base64.encode(bytes).compactMap {
            switch $0 {
            case UInt8(ascii: "="): nil
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: $0
            }
        }
    }
}
