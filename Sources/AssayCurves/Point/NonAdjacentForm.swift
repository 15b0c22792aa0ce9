/// The digits of a scalar for a point without a table: scalar = Σ digit[i]·2ⁱ. Each digit is 0 or
/// odd, from −15 to 15, and of five digits in a row at most one is not 0 (the non-adjacent form of
/// width 5).
package enum NonAdjacentForm {
    /// Of a window. With one more, the odd multiples would cost more than they save.
    package static var width: Int { 5 }
    /// The odd multiples 1·P, 3·P ... 15·P.
    static var multiples: Int { 1 << (width - 2) }

    /// Digits of a scalar: one a bit, and one for the carry.
    package static func count<Words: FixedWords>(_: Words.Type) -> Int { Words.byteCount * 8 + 1 }

    /// Writes the digits, the least significant first.
    package static func write<Words: FixedWords>(
        _ scalar: Words, to digits: UnsafeMutablePointer<Int8>
    ) {
        let count = count(Words.self)
        unsafe digits.update(repeating: 0, count: count)
        var (position, carry) = (0, 0)
        while position < count {
            if scalar.bits(1, from: position) == carry {
                // The bit and the carry make 0, or 2 with the carry kept.
                position += 1
                continue
            }
            let value = scalar.bits(width, from: position) + carry
            // From 2⁴ on, the digit is less by 2⁵ and the rest more by 1.
            carry = value >> (width - 1)
            unsafe digits[position] = Int8(truncatingIfNeeded: value - carry << width)
            position += width
        }
    }
}
