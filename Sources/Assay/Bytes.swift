/// The few things that the rooms need of bytes and the standard library's Span does not have.

extension Span<UInt8> {
    package var array: [UInt8] { array(0..<count) }

    /// Whether it is well-formed UTF-8; quick for ASCII, which identifiers are.
    package var isUTF8: Bool {
        @inline(__always) get { isASCII || String(validating: array, as: UTF8.self) != nil }
    }

    @inline(__always)
    var isASCII: Bool {
        // Without a branch for each octet, and eight at once.
        var bits: UInt64 = 0
        var index = 0
        while index &+ 8 <= count {
            bits |= word(at: index)
            index &+= 8
        }
        while index < count {
            bits |= UInt64(self[index])
            index &+= 1
        }
        return bits & 0x8080_8080_8080_8080 == 0
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
