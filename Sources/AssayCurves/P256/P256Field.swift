/// An integer modulo p = 2²⁵⁶ − 2²²⁴ + 2¹⁹² + 2⁹⁶ − 1, in Montgomery form with R = 2²⁵⁶.
///
/// −1/p is 1 mod 2⁶⁴, so the multiple of p that clears the low word t of a number is t·p itself,
/// and p's words make t·p of one multiplication and two shifts.
package struct P256Field: PrimeField {
    /// The number times R mod p, below p.
    package let words: Words4

    /// - Parameter words: A number times R mod p, below p.
    @inline(__always)
    package init(montgomery words: Words4) { self.words = words }

    package static var modulus: Words4 {
        Words4(.max, 0xFFFF_FFFF, 0, 0xFFFF_FFFF_0000_0001)
    }
    /// 2²⁵⁶ − p. Also R mod p.
    @inline(__always)
    private static var complement: Words4 {
        Words4(1, 0xFFFF_FFFF_0000_0000, .max, 0xFFFF_FFFE)
    }
    /// R² mod p.
    private static var squareOfR: Self {
        Self(
            montgomery: Words4(
                3, 0xFFFF_FFFB_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFE, 0x4_FFFF_FFFD))
    }
    /// R³ mod p.
    private static var cubeOfR: Self {
        Self(
            montgomery: Words4(
                0xFFFF_FFFD_0000_000A, 0xFFFF_FFED_FFFF_FFF7, 0x5_FFFF_FFFC, 0x18_0000_0001))
    }
    private static let inversion = ModularInverse<5>(modulus: modulus)

    @inline(__always) package static var zero: Self { Self(montgomery: .zero) }
    @inline(__always) package static var one: Self { Self(montgomery: complement) }

    package init(_ number: Words4) { self = Self(montgomery: number) * Self.squareOfR }

    package var number: Words4 { (self * Self(montgomery: Words4(1, 0, 0, 0))).words }

    @inline(__always) package var isZero: Bool { words.isZero }

    package func inverted() -> Self {
        Self(montgomery: Self.inversion.inverse(of: words)) * Self.cubeOfR
    }

    @inline(__always)
    package static func + (a: Self, b: Self) -> Self {
        let (sum, carry) = a.words.adding(b.words)
        return Self(montgomery: sum.reducedOnce(top: carry, complement: complement))
    }

    @inline(__always)
    package static func - (a: Self, b: Self) -> Self {
        let (difference, borrow) = a.words.subtracting(b.words)
        // Adds p after a borrow.
        let mask = 0 &- borrow
        let (sum, _) = difference.adding(
            Words4(mask, mask & 0xFFFF_FFFF, 0, mask & 0xFFFF_FFFF_0000_0001))
        return Self(montgomery: sum)
    }

    @inline(__always)
    package static prefix func - (a: Self) -> Self { zero - a }

    @inline(__always)
    package static func * (a: Self, b: Self) -> Self {
        let (a, b) = (a.words, b.words)
        let (t, t4) = a.multiplied(by: b.w0)
        let (u, u5) = t.afterFirst(t4).adding(a, times: b.w1)
        let (v, v6) = u.afterFirst(u5).adding(a, times: b.w2)
        let (w, w7) = v.afterFirst(v6).adding(a, times: b.w3)
        return reduced(Words4(t.w0, u.w0, v.w0, w.w0), w.afterFirst(w7))
    }

    /// Ten products instead of sixteen.
    @inline(__always)
    package func squared() -> Self {
        let (a0, a1, a2, a3) = (words.w0, words.w1, words.w2, words.w3)
        // The products of two different words, then twice their sum.
        var carry: UInt64 = 0
        var t1 = Carry.add(0, a0, times: a1, &carry)
        var t2 = Carry.add(0, a0, times: a2, &carry)
        var t3 = Carry.add(0, a0, times: a3, &carry)
        var t4 = carry
        carry = 0
        t3 = Carry.add(t3, a1, times: a2, &carry)
        t4 = Carry.add(t4, a1, times: a3, &carry)
        var t5 = carry
        carry = 0
        t5 = Carry.add(t5, a2, times: a3, &carry)
        var t6 = carry
        var t7 = t6 &>> 63
        t6 = t6 &<< 1 | t5 &>> 63
        t5 = t5 &<< 1 | t4 &>> 63
        t4 = t4 &<< 1 | t3 &>> 63
        t3 = t3 &<< 1 | t2 &>> 63
        t2 = t2 &<< 1 | t1 &>> 63
        t1 = t1 &<< 1
        // The squares of the words.
        carry = 0
        var high: UInt64 = 0
        let t0 = Carry.add(0, a0, times: a0, &high)
        t1 = Carry.add(t1, high, &carry)
        high = 0
        t2 = Carry.add(t2, Carry.add(0, a1, times: a1, &high), &carry)
        t3 = Carry.add(t3, high, &carry)
        high = 0
        t4 = Carry.add(t4, Carry.add(0, a2, times: a2, &high), &carry)
        t5 = Carry.add(t5, high, &carry)
        high = 0
        t6 = Carry.add(t6, Carry.add(0, a3, times: a3, &high), &carry)
        t7 = Carry.add(t7, high, &carry)
        return Self.reduced(Words4(t0, t1, t2, t3), Words4(t4, t5, t6, t7))
    }

    /// Returns t·R⁻¹ mod p for t = high·R + low below p².
    ///
    /// Four steps make (low + m·p) / R of `low`, with m below R: at most p. `high` is below
    /// p²/R < p, so the sum is below 2·p.
    @inline(__always)
    private static func reduced(_ low: Words4, _ high: Words4) -> Self {
        let (sum, carry) = low.step().step().step().step().adding(high)
        return Self(montgomery: sum.reducedOnce(top: carry, complement: complement))
    }
}

extension Words4 {
    /// The words from the second on, and one more.
    @inline(__always)
    fileprivate func afterFirst(_ last: UInt64) -> Words4 { Words4(w1, w2, w3, last) }

    /// The sum with a product, in five words.
    @inline(__always)
    fileprivate func adding(
        _ number: Words4, times factor: UInt64
    ) -> (low: Words4, high: UInt64) {
        let (low, high) = number.multiplied(by: factor)
        let (sum, carry) = adding(low)
        return (sum, high &+ carry)
    }

    /// Returns (t + w0·p) / 2⁶⁴ for this number t. The division is exact. The result fits: it is
    /// below (2²⁵⁶ + 2⁶⁴·p) / 2⁶⁴ = p + 2¹⁹².
    ///
    /// w0·p = w0·2⁹⁶ + w0·(2⁶⁴ − 2³² + 1)·2¹⁹² − w0, and the last term clears the low word.
    @inline(__always)
    fileprivate func step() -> Words4 {
        var carry: UInt64 = 0
        var high: UInt64 = 0
        let low = Carry.add(0, w0, times: 0xFFFF_FFFF_0000_0001, &high)
        let t1 = Carry.add(w1, w0 &<< 32, &carry)
        let t2 = Carry.add(w2, w0 &>> 32, &carry)
        let t3 = Carry.add(w3, low, &carry)
        return Words4(t1, t2, t3, high &+ carry)
    }
}
