/// Byte operations that the standard library's Span lacks.

extension Span<UInt8> {
    @inlinable
    package var array: [UInt8] { array(0..<count) }

    /// Whether the bytes are well-formed UTF-8. Fast for ASCII, which identifiers are.
    package var isUTF8: Bool {
        @inlinable @inline(__always) get {
            isASCII || String(validating: array, as: UTF8.self) != nil
        }
    }

    @inlinable @inline(__always)
    package var isASCII: Bool {
        // Blocks first: a nested token has thousands of octets.
        let start = skipBlocks(from: 0) { $0 & 0x8080_8080_8080_8080 }
        guard count &- start < 32 else { return false }
        // Then without a branch per octet, and eight octets at once.
        var bits: UInt64 = 0
        if count >= 8 {
            // The last word overlaps the word before it.
            bits = word(at: count &- 8)
            for index in start / 8..<count / 8 { bits |= word(at: index &* 8) }
        } else {
            for index in indices { bits |= UInt64(self[index]) }
        }
        return bits & 0x8080_8080_8080_8080 == 0
    }

    @inlinable
    package func equals(_ other: [UInt8]) -> Bool { equals(other.span) }

    /// Whether the bytes are those of a secret. The time depends on the lengths, and not on where
    /// they differ.
    package func equalsSecret(_ secret: Span<UInt8>) -> Bool {
        guard secret.count > 0 else { return false }
        var difference: UInt8 = count == secret.count ? 0 : 1
        for index in indices { difference |= self[index] ^ secret[index % secret.count] }
        return difference == 0
    }

    /// Whether this octet string sorts before `other`.
    @inlinable
    package func precedes(_ other: Span<UInt8>) -> Bool {
        for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
            return self[index] < other[index]
        }
        return count < other.count
    }

    /// A copy without CR, LF, tab and space, for base64 with line breaks.
    package var withoutWhiteSpace: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for index in indices where !self[index].isWhiteSpace { bytes.append(self[index]) }
        return bytes
    }
}

extension String {
    /// Whether both have the same bytes. Swift's own comparison uses canonical equivalence, which
    /// does not suit identifiers.
    @inlinable
    package func equalsByBytes(_ other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.span.equals(other.utf8.span)
    }
}

extension String {
    /// The digits of a number that is not negative, with zeros in front up to `width` digits.
    @inlinable
    package init(_ number: some BinaryInteger, width: Int, radix: Int = 10) {
        // Dates are written often: `description` and short strings need no memory of their own.
        self = radix == 10 ? number.description : String(number, radix: radix)
        while utf8.count < width { self = "0" + self }
    }
}
