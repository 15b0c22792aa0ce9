/// The numbers of an ECDSA signature and of the digest that it signs, below the order.
struct ECDSANumbers<Curve: PrimeCurve> {
    typealias Words = Curve.Order.Words

    let e: Words
    /// If r or s is out of range, both have other values, and the signature fails.
    let r: Words
    let s: Curve.Order
    let isInRange: Bool

    /// - Parameters:
    ///   - digest: Only the octets that fit the order count, the leftmost ones.
    ///   - r: Big-endian, of the order's size, as `s`. In range from 1 to n − 1.
    init(digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>) {
        e = Curve.Order.reduced(
            Words(bigEndian: digest.extracting(0..<min(digest.count, Words.byteCount))))
        if let r = Curve.Order.number(bigEndian: r), let s = Curve.Order(bigEndian: s),
            r != .zero, !s.isZero
        {
            (self.r, self.s, isInRange) = (r, s, true)
        } else {
            (self.r, self.s, isInRange) = (.zero, .one, false)
        }
    }

    /// u₁ = e / s and u₂ = r / s, which is not 0, or nil if r or s is out of range.
    var scalars: (u1: Words, u2: Words)? { isInRange ? scalars(inverse: s.inverted()) : nil }

    /// u₁ and u₂ with the inverse of s.
    @inline(__always)
    func scalars(inverse: Curve.Order) -> (u1: Words, u2: Words) {
        (inverse.product(e), inverse.product(r))
    }
}

/// The outcome of a verification.
package enum ECDSAOutcome: Sendable {
    case holds
    case fails
    /// u₁·G + u₂·Q is a sum that the formulas do not know: two equal or opposite points, or
    /// infinity. Another implementation has to decide.
    case undecided

    /// Whether the signature holds; nil if another implementation must decide.
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
    package init(reducing number: Words) { self.init(Self.reduced(number)) }

    /// The rest of a number below twice the modulus.
    fileprivate static func reduced(_ number: Words) -> Words {
        number.isBelow(modulus) ? number : number.subtracting(modulus).difference
    }
}
