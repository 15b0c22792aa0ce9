/// The digits of a scalar for a `FixedBaseTable`: scalar = Σ digit[w]·2^(b·w), with each digit in
/// −2^(b − 1) ..< 2^(b − 1) and a last one that is not negative, for b bits of a window.
enum SignedDigits {
    /// Digits of a scalar. The last one has the remaining bits, if any, and the carry.
    @inline(__always)
    static func count<Words: FixedWords>(_: Words.Type, windowBits: Int) -> Int {
        Words.byteCount &* 8 / windowBits &+ 1
    }

    /// Writes the digits, the least significant first.
    @inline(__always)
    static func write<Words: FixedWords, Digit: FixedWidthInteger>(
        _ scalar: Words, windowBits: Int, to digits: UnsafeMutablePointer<Digit>
    ) {
        let half = 1 &<< (windowBits &- 1)
        let mask = UInt64(truncatingIfNeeded: 1 &<< windowBits &- 1)
        let count = count(Words.self, windowBits: windowBits)
        var (rest, carry) = (scalar, 0)
        for window in 0..<count {
            // From 2^(b − 1) on, the digit is less by 2^b and the next one more by 1.
            let value = Int(truncatingIfNeeded: rest[0] & mask) &+ carry
            rest.shiftRight(by: windowBits)
            carry = window &+ 1 == count ? 0 : (value &+ half) &>> windowBits
            unsafe digits[window] = Digit(truncatingIfNeeded: value &- carry &<< windowBits)
        }
    }
}

extension FixedWords {
    /// The bits from a position on, at most 16, with zeros beyond the last word.
    @inline(__always)
    func bits(_ count: Int, from start: Int) -> Int {
        let (word, shift) = (start &>> 6, UInt64(truncatingIfNeeded: start & 63))
        guard word < Self.count else { return 0 }
        var bits = self[word] &>> shift
        if shift > 0, word &+ 1 < Self.count { bits |= self[word &+ 1] &<< (64 &- shift) }
        return Int(truncatingIfNeeded: bits) & ((1 &<< count) &- 1)
    }
}
