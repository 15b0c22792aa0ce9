/// An integer modulo p = 2³⁸⁴ − 2¹²⁸ − 2⁹⁶ + 2³² − 1, stored as itself.
///
/// 2³⁸⁴ is c = 2¹²⁸ + 2⁹⁶ − 2³² + 1 mod p, so high·2³⁸⁴ + low is high·c + low: additions and one
/// shift by 32 bits. That costs less than Montgomery's reduction, whose steps each wait for the
/// one before.
package struct P384Field: PrimeField {
    /// The number, below p.
    private let words: Words6

    /// - Parameter words: Below p.
    @inline(__always)
    package init(_ words: Words6) { self.words = words }

    @inline(__always) package var number: Words6 { words }

    package static var modulus: Words6 {
        Words6(0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, .max - 1, .max, .max, .max)
    }
    /// c = 2³⁸⁴ − p.
    @inline(__always)
    private static var complement: Words6 { Words6(0xFFFF_FFFF_0000_0001, 0xFFFF_FFFF, 1, 0, 0, 0) }
    private static let inversion = ModularInverse<7>(modulus: modulus)

    @inline(__always) package static var zero: Self { Self(.zero) }
    @inline(__always) package static var one: Self { Self(Words6(1, 0, 0, 0, 0, 0)) }

    @inline(__always) package var isZero: Bool { words.isZero }

    package func inverted() -> Self { Self(Self.inversion.inverse(of: words)) }

    @inline(__always)
    package static func + (a: Self, b: Self) -> Self {
        let (sum, carry) = a.words.adding(b.words)
        return Self(sum.reducedOnce(top: carry, complement: complement))
    }

    @inline(__always)
    package static func - (a: Self, b: Self) -> Self {
        let (difference, borrow) = a.words.subtracting(b.words)
        // Adds p after a borrow.
        let mask = 0 &- borrow
        let (sum, _) = difference.adding(
            Words6(
                mask & 0xFFFF_FFFF, mask & 0xFFFF_FFFF_0000_0000, mask & (.max - 1), mask, mask,
                mask))
        return Self(sum)
    }

    @inline(__always)
    package static prefix func - (a: Self) -> Self { zero - a }

    @inline(__always)
    package static func * (a: Self, b: Self) -> Self {
        let (low, high) = a.words.multiplied(by: b.words)
        return reduced(low, high)
    }

    @inline(__always)
    package func squared() -> Self {
        let (low, high) = words.square()
        return Self.reduced(low, high)
    }

    /// Returns t mod p for any t = high·2³⁸⁴ + low.
    ///
    /// low + high·c is below 2⁵¹² + 2⁴⁸¹, so its words 6 to 8 are a number below 2¹²⁸ + 2⁹⁷. That
    /// number times c is below 2²⁵⁸, and with words 0 to 5 the sum is below 2³⁸⁴ + 2²⁵⁸ < 2·p.
    @inline(__always)
    private static func reduced(_ low: Words6, _ high: Words6) -> Self {
        let (first, rest) = low.addingComplement(times: high)
        let (second, carry) = first.addingComplement(times: rest)
        return Self(second.reducedOnce(top: carry, complement: complement))
    }
}

/// A number below 2¹⁹².
private struct Words3 {
    let w0, w1, w2: UInt64
}

extension Words6 {
    /// Returns this number + high·c, with words 6 to 8 apart.
    ///
    /// high·c = high + high·2¹²⁸ + shifted·2⁶⁴ − shifted, with shifted = high·2³². The last term
    /// is added as its complement to 2⁵¹², because additions compile to shorter code.
    @inline(__always)
    fileprivate func addingComplement(times high: Words6) -> (sum: Words6, rest: Words3) {
        let x0 = high.w0 &<< 32
        let x1 = high.w1 &<< 32 | high.w0 &>> 32
        let x2 = high.w2 &<< 32 | high.w1 &>> 32
        let x3 = high.w3 &<< 32 | high.w2 &>> 32
        let x4 = high.w4 &<< 32 | high.w3 &>> 32
        let x5 = high.w5 &<< 32 | high.w4 &>> 32
        let x6 = high.w5 &>> 32
        var carry: UInt64 = 0
        var t0 = Carry.add(w0, high.w0, &carry)
        var t1 = Carry.add(w1, high.w1, &carry)
        var t2 = Carry.add(w2, high.w2, &carry)
        var t3 = Carry.add(w3, high.w3, &carry)
        var t4 = Carry.add(w4, high.w4, &carry)
        var t5 = Carry.add(w5, high.w5, &carry)
        var t6 = carry
        carry = 0
        t2 = Carry.add(t2, high.w0, &carry)
        t3 = Carry.add(t3, high.w1, &carry)
        t4 = Carry.add(t4, high.w2, &carry)
        t5 = Carry.add(t5, high.w3, &carry)
        t6 = Carry.add(t6, high.w4, &carry)
        var t7 = Carry.add(0, high.w5, &carry)
        var t8 = carry
        carry = 0
        t1 = Carry.add(t1, x0, &carry)
        t2 = Carry.add(t2, x1, &carry)
        t3 = Carry.add(t3, x2, &carry)
        t4 = Carry.add(t4, x3, &carry)
        t5 = Carry.add(t5, x4, &carry)
        t6 = Carry.add(t6, x5, &carry)
        t7 = Carry.add(t7, x6, &carry)
        t8 = t8 &+ carry
        // −shifted is the complement of its bits, plus 1, minus 2⁵¹².
        carry = 1
        t0 = Carry.add(t0, ~x0, &carry)
        t1 = Carry.add(t1, ~x1, &carry)
        t2 = Carry.add(t2, ~x2, &carry)
        t3 = Carry.add(t3, ~x3, &carry)
        t4 = Carry.add(t4, ~x4, &carry)
        t5 = Carry.add(t5, ~x5, &carry)
        t6 = Carry.add(t6, ~x6, &carry)
        t7 = Carry.add(t7, .max, &carry)
        t8 = t8 &+ carry &- 1
        return (Words6(t0, t1, t2, t3, t4, t5), Words3(w0: t6, w1: t7, w2: t8))
    }

    /// Returns this number + high·c, and the carry out of the last word.
    /// - Parameter high: Below 2¹²⁹.
    @inline(__always)
    fileprivate func addingComplement(times high: Words3) -> (sum: Words6, carry: UInt64) {
        let x0 = high.w0 &<< 32
        let x1 = high.w1 &<< 32 | high.w0 &>> 32
        let x2 = high.w2 &<< 32 | high.w1 &>> 32
        // high + high·2¹²⁸, of five words.
        var carry: UInt64 = 0
        var t2 = Carry.add(high.w2, high.w0, &carry)
        var t3 = Carry.add(high.w1, 0, &carry)
        var t4 = high.w2 &+ carry
        // − shifted, as above.
        carry = 1
        let t0 = Carry.add(high.w0, ~x0, &carry)
        var t1 = Carry.add(high.w1, ~x1, &carry)
        t2 = Carry.add(t2, ~x2, &carry)
        t3 = Carry.add(t3, .max, &carry)
        t4 = t4 &+ carry &- 1
        // + shifted·2⁶⁴
        carry = 0
        t1 = Carry.add(t1, x0, &carry)
        t2 = Carry.add(t2, x1, &carry)
        t3 = Carry.add(t3, x2, &carry)
        t4 = t4 &+ carry
        return adding(Words6(t0, t1, t2, t3, t4, 0))
    }
}
