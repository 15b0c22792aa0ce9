/// The digits of a scalar for a `FixedBaseTable`: scalar = Σ digit[w]·256ʷ with each digit in
/// −128 ... 127, and a last one that is 0 or 1.
enum SignedDigits {
    /// Digits of a scalar: one a window, and the carry.
    static func count<Words: FixedWords>(_: Words.Type) -> Int { Words.byteCount + 1 }

    /// Writes the digits, the least significant first.
    @inline(__always)
    static func write<Words: FixedWords>(_ scalar: Words, to digits: UnsafeMutablePointer<Int8>) {
        var carry = 0
        for window in 0..<Words.byteCount {
            // 0 ... 256: from 128 on, the digit is less by 256 and the next one more by 1.
            let value = Int(truncatingIfNeeded: scalar.byte(window)) &+ carry
            unsafe digits[window] = Int8(truncatingIfNeeded: value)
            carry = (value &+ 128) &>> 8
        }
        unsafe digits[Words.byteCount] = Int8(truncatingIfNeeded: carry)
    }
}
