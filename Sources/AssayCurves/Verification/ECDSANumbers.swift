/// The numbers of an ECDSA signature and of the digest that it signs, modulo the order.
struct ECDSANumbers<Curve: PrimeCurve> {
    typealias Words = Curve.Field.Words

    let e: Curve.Order
    /// If r or s is out of range, both have other values, and the signature fails.
    let r: Curve.Order
    let s: Curve.Order
    let isInRange: Bool

    /// - Parameters:
    ///   - digest: Only the octets that fit the order count, the leftmost ones.
    ///   - r: Big-endian, of the order's size, as `s`. In range from 1 to n − 1.
    init(digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>) {
        let e = Words(bigEndian: digest.extracting(0..<min(digest.count, Words.byteCount)))
        self.e = Curve.Order(reducing: e)
        if let r = Curve.Order(bigEndian: r), let s = Curve.Order(bigEndian: s), !r.isZero,
            !s.isZero
        {
            (self.r, self.s, isInRange) = (r, s, true)
        } else {
            (self.r, self.s, isInRange) = (.zero, .one, false)
        }
    }

    /// u₁ = e / s and u₂ = r / s, which is not 0, or nil if r or s is out of range.
    var scalars: (u1: Curve.Order, u2: Curve.Order)? {
        guard isInRange else { return nil }
        let inverse = s.inverted()
        return (e * inverse, r * inverse)
    }
}

/// The outcome of a verification.
package enum ECDSAOutcome: Sendable {
    case holds
    case fails
    /// u₁·G + u₂·Q is a sum that the formulas do not know: two equal or opposite points, or
    /// infinity. Another implementation has to decide.
    case undecided

    /// Nil where another implementation has to decide.
    package var holds: Bool? {
        switch self {
        case .holds: true
        case .fails: false
        case .undecided: nil
        }
    }

    /// Whether x of a sum, X / ZZ, is r mod n: it is r, or r + n if that is below p.
    static func comparing<Curve: PrimeCurve>(
        _: Curve.Type, x: Curve.Field, zz: Curve.Field, _ r: Curve.Field.Words
    ) -> Self {
        if zz.isZero { return .undecided }
        if Curve.Field(r) * zz == x { return .holds }
        guard r.isBelow(Curve.fieldMinusOrder) else { return .fails }
        let next = r.adding(Curve.Order.modulus).sum
        return Curve.Field(next) * zz == x ? .holds : .fails
    }
}

extension PrimeField {
    /// The element for a number below twice the modulus.
    package init(reducing number: Words) {
        self.init(
            number.isBelow(Self.modulus) ? number : number.subtracting(Self.modulus).difference)
    }
}
