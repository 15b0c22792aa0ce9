extension UInt8 {
    /// The value of a hexadecimal digit of either case; nil for other characters.
    @inlinable
    package var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    package var isHexadecimalDigit: Bool { hexadecimalDigit != nil }
}

extension Span<UInt8> {
    /// The value of the four hexadecimal digits at `position`, or nil for other characters.
    package func hexadecimal4(at position: Int) -> UInt16? {
        var unit: UInt16 = 0
        for index in position..<position + 4 {
            guard let digit = self[index].hexadecimalDigit else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

extension [UInt8] {
    /// Decodes two hexadecimal digits for each byte; nil for other characters and for half a byte.
    package init?(hexadecimal text: Span<UInt8>) {
        guard text.count % 2 == 0 else { return nil }
        self = []
        reserveCapacity(text.count / 2)
        for index in stride(from: 0, to: text.count, by: 2) {
            guard let high = text[index].hexadecimalDigit,
                let low = text[index + 1].hexadecimalDigit
            else { return nil }
            append(high << 4 | low)
        }
    }
}

/// Hexadecimal of one octet with the prefix `0x`, for messages.
package func hexadecimal(_ byte: UInt8) -> String { "0x" + hexadecimal([byte].span) }

/// Lower-case hexadecimal.
package func hexadecimal(_ bytes: Span<UInt8>) -> String {
    func digit(_ value: UInt8) -> UInt8 {
        value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
    }
    let text = [UInt8](capacity: bytes.count * 2) { output in
        for index in bytes.indices {
            output.append(digit(bytes[index] >> 4))
            output.append(digit(bytes[index] & 0x0F))
        }
    }
    return String(decoding: text, as: UTF8.self)
}
