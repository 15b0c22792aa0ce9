/// UUIDs in their text form (RFC 9562): 8-4-4-4-12 hexadecimal digits.
package enum UUIDText {
    private static let length = 36

    private static func isHyphen(_ index: Int) -> Bool {
        switch index {
        case 8, 13, 18, 23: true
        default: false
        }
    }

    /// Whether a text is a UUID, in either case.
    package static func isValid(_ text: String) -> Bool {
        var count = 0
        for byte in text.utf8 {
            guard count < length else { return false }
            guard isHyphen(count) ? byte == UInt8(ascii: "-") : byte.isHexadecimalDigit else {
                return false
            }
            count += 1
        }
        return count == length
    }

    /// A random UUID of version 4, in lower case. The generator is the system's.
    package static func random() -> String {
        // Two numbers: each costs a system call.
        var generator = SystemRandomNumberGenerator()
        var numbers: (UInt64, UInt64) = (generator.next(), generator.next())
        // The version in the 13th digit, the variant in the 17th; from the least significant.
        numbers.0 = numbers.0 & ~(0xF << 48) | 4 << 48
        numbers.1 = numbers.1 & ~0xC | 0x8
        var text: [UInt8] = []
        text.reserveCapacity(length)
        var rest = numbers.0
        for digit in 0..<32 {
            if digit == 16 { rest = numbers.1 }
            if isHyphen(text.count) { text.append(UInt8(ascii: "-")) }
            text.append(hexadecimalDigits[Int(rest & 0xF)])
            rest >>= 4
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let hexadecimalDigits = Array("0123456789abcdef".utf8)
}
