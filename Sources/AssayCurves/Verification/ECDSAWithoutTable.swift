/// Verifies one ECDSA signature (SEC 1, section 4.1.4) of a key that has no table.
enum ECDSAWithoutTable<Curve: PrimeCurve> {
    /// - Parameters:
    ///   - key: The key's point, `04 ‖ x ‖ y`.
    ///   - digest: Only the octets that fit the order count, the leftmost ones.
    ///   - r: Big-endian, of the order's size, as `s`.
    /// - Returns: Undecided for octets that are no point on the curve.
    static func verify(
        key: Span<UInt8>, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> ECDSAOutcome {
        guard let point = AffinePoint<Curve>(uncompressed: key) else { return .undecided }
        let numbers = ECDSANumbers<Curve>(digest: digest, r: r, s: s)
        guard numbers.isInRange else { return .fails }
        let inverse = numbers.s.inverted()
        let (u1, u2) = (numbers.e * inverse, numbers.r * inverse)
        // u₂ is not 0, because r is not.
        guard let product = VariableBaseProduct.product(u2.number, point) else {
            return .undecided
        }
        let sum = product.adding(u1.number, of: Curve.generatorTable)
        return .comparing(Curve.self, x: sum.x, zz: sum.z.squared(), numbers.r.number)
    }
}

extension JacobianPoint {
    /// The sum with the product of a scalar and the table's point.
    fileprivate func adding(
        _ scalar: Curve.Order.Words, of table: FixedBaseTable<Curve>
    ) -> Self {
        let (windows, windowBits) = (table.windows, table.windowBits)
        return unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: windows) { digits in
            unsafe SignedDigits.write(scalar, windowBits: windowBits, to: digits.baseAddress!)
            var sum = self
            var window = unsafe table.points - 1
            for index in 0..<windows {
                let digit = unsafe Int(digits[index])
                if digit != 0 {
                    let point = unsafe window[Int(digit.magnitude)]
                    sum = sum.adding(digit < 0 ? -point : point)
                }
                unsafe window += table.windowPoints
            }
            return sum
        }
    }
}
