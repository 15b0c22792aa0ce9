/// The few things that the rooms need of bytes and the standard library's Span does not have.

extension Span<UInt8> {
    package var array: [UInt8] { array(0..<count) }

    /// Whether it is well-formed UTF-8; quick for ASCII, which identifiers are.
    package var isUTF8: Bool {
        // Without a branch for each octet, the loop works on many at once.
        var bits: UInt8 = 0
        for index in indices { bits |= self[index] }
        return bits < 0x80 || String(validating: array, as: UTF8.self) != nil
    }

    package func equals(_ other: [UInt8]) -> Bool { equals(other.span) }
}

/// `0x`-prefixed hexadecimal of one octet, for people.
package func hexadecimal(_ byte: UInt8) -> String { "0x" + hexadecimal([byte].span) }

/// Lower-case hexadecimal.
package func hexadecimal(_ bytes: Span<UInt8>) -> String {
    let digits: [UInt8] = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for index in bytes.indices {
        text.append(digits[Int(bytes[index] >> 4)])
        text.append(digits[Int(bytes[index] & 0x0F)])
    }
    return String(decoding: text, as: UTF8.self)
}
