/// An integer modulo n, the order of P-384 (SEC 2, section 2.5.1), stored as itself.
package struct P384Order: PrimeField {
    /// The number, below n.
    private let words: Words6

    /// - Parameter words: Below n.
    package init(_ words: Words6) { self.words = words }

    package var number: Words6 { words }

    package static var modulus: Words6 {
        Words6(
            0xECEC_196A_CCC5_2973, 0x581A_0DB2_48B0_A77A, 0xC763_4D81_F437_2DDF, .max, .max,
            .max)
    }
    /// c = 2³⁸⁴ − n, below 2¹⁹⁰.
    @inline(__always)
    private static var complement: Words6 {
        Words6(
            0x1313_E695_333A_D68D, 0xA7E5_F24D_B74F_5885, 0x389C_B27E_0BC8_D220, 0, 0, 0)
    }
    private static let inversion = ModularInverse<7>(modulus: modulus)

    package static var zero: Self { Self(.zero) }
    package static var one: Self { Self(Words6(1, 0, 0, 0, 0, 0)) }

    package var isZero: Bool { words.isZero }

    package func inverted() -> Self { Self(Self.inversion.inverse(of: words)) }

    package static func + (a: Self, b: Self) -> Self {
        let (sum, carry) = a.words.adding(b.words)
        return Self(sum.reducedOnce(top: carry, complement: complement))
    }

    package static func - (a: Self, b: Self) -> Self {
        let (difference, borrow) = a.words.subtracting(b.words)
        return Self(borrow == 0 ? difference : difference.adding(modulus).sum)
    }

    package static prefix func - (a: Self) -> Self { zero - a }

    package func squared() -> Self { self * self }

    /// 2³⁸⁴ is c mod n, so the high half of a product is replaced by its product with c, twice: it
    /// shrinks to 2¹⁹⁰ and then to the carry of a sum below 2³⁸⁴ + 2³⁸¹ < 2·n.
    package static func * (a: Self, b: Self) -> Self {
        let (low, high) = a.words.multiplied(by: b.words)
        let first = high.multiplied(by: complement)
        let (sum, carry) = low.adding(first.low)
        let rest = first.high.adding(Words6(carry, 0, 0, 0, 0, 0)).sum
        let (last, top) = sum.adding(rest.multiplied(by: complement).low)
        return Self(last.reducedOnce(top: top, complement: complement))
    }
}
