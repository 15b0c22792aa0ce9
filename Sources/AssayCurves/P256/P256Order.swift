/// An integer modulo n, the order of P-256 (SEC 2, section 2.4.2), in Montgomery form with
/// R = 2²⁵⁶.
package struct P256Order: PrimeField {
    /// The number times R mod n, below n.
    package let words: Words4

    /// - Parameter words: A number times R mod n, below n.
    @inline(__always)
    package init(montgomery words: Words4) { self.words = words }

    @inline(__always) package static var modulus: Words4 {
        Words4(
            0xF3B9_CAC2_FC63_2551, 0xBCE6_FAAD_A717_9E84, .max, 0xFFFF_FFFF_0000_0000)
    }
    /// −1/n mod 2⁶⁴.
    @inline(__always) private static var negativeInverse: UInt64 { 0xCCD1_C8AA_EE00_BC4F }
    /// 2²⁵⁶ − n. Also R mod n.
    @inline(__always)
    private static var complement: Words4 {
        Words4(0x0C46_353D_039C_DAAF, 0x4319_0552_58E8_617B, 0, 0xFFFF_FFFF)
    }
    /// R² mod n.
    private static var squareOfR: Self {
        Self(
            montgomery: Words4(
                0x8324_4C95_BE79_EEA2, 0x4699_799C_49BD_6FA6, 0x2845_B239_2B6B_EC59,
                0x66E1_2D94_F3D9_5620))
    }
    /// R³ mod n.
    private static var cubeOfR: Self {
        Self(
            montgomery: Words4(
                0xAC8E_BEC9_0B65_A624, 0x111F_28AE_0C05_55C9, 0x2543_B924_6BA5_E93F,
                0x503A_54E7_6407_BE65))
    }
    private static let inversion = ModularInverse<5>(modulus: modulus)

    @inline(__always) package static var zero: Self { Self(montgomery: .zero) }
    @inline(__always) package static var one: Self { Self(montgomery: complement) }

    package init(_ number: Words4) { self = Self(montgomery: number) * Self.squareOfR }

    package var number: Words4 { (self * Self(montgomery: Words4(1, 0, 0, 0))).words }

    package var isZero: Bool { words.isZero }

    package func inverted() -> Self {
        Self(montgomery: Self.inversion.inverse(of: words)) * Self.cubeOfR
    }

    package static func + (a: Self, b: Self) -> Self {
        let (sum, carry) = a.words.adding(b.words)
        return Self(montgomery: sum.reducedOnce(top: carry, complement: complement))
    }

    package static func - (a: Self, b: Self) -> Self {
        let (difference, borrow) = a.words.subtracting(b.words)
        return Self(montgomery: borrow == 0 ? difference : difference.adding(modulus).sum)
    }

    package static prefix func - (a: Self) -> Self { zero - a }

    package func squared() -> Self { self * self }

    /// One multiplication: the R of this element is the one that it divides by.
    package func product(_ number: Words4) -> Words4 { (Self(montgomery: number) * self).words }

    /// Word by word: adds a·b[i], then the multiple of n that clears the low word, and divides by
    /// 2⁶⁴. The sum stays below 2·n, so `top` is 0 or 1.
    package static func * (a: Self, b: Self) -> Self {
        var sum = Words4.zero
        var top: UInt64 = 0
        for index in 0..<Words4.count {
            var high: UInt64 = 0
            sum.add(a.words, times: b.words[index], &high)
            var overflow: UInt64 = 0
            top = Carry.add(top, high, &overflow)
            high = 0
            sum.add(modulus, times: sum.w0 &* negativeInverse, &high)
            var carry: UInt64 = 0
            let last = Carry.add(top, high, &carry)
            sum = Words4(sum.w1, sum.w2, sum.w3, last)
            top = overflow &+ carry
        }
        return Self(montgomery: sum.reducedOnce(top: top, complement: complement))
    }
}

extension Words4 {
    /// Adds number·factor. The word that does not fit goes to `high`, which is zero before.
    @inline(__always)
    fileprivate mutating func add(_ number: Words4, times factor: UInt64, _ high: inout UInt64) {
        w0 = Carry.add(w0, number.w0, times: factor, &high)
        w1 = Carry.add(w1, number.w1, times: factor, &high)
        w2 = Carry.add(w2, number.w2, times: factor, &high)
        w3 = Carry.add(w3, number.w3, times: factor, &high)
    }
}
