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
        guard let (u1, u2) = numbers.scalars else { return .fails }
        guard let product = VariableBaseProduct.product(u2, point) else {
            return .undecided
        }
        return .comparing(product, plus: u1, numbers.r)
    }
}

/// Verifies one ECDSA signature of a key with a table by additions one after the other. Where
/// `hasFastPoints`, that takes less time than `ECDSABatch` with its inversions.
enum ECDSAWithTable<Curve: PrimeCurve> {
    /// - Parameters: those of `ECDSABatch.append`.
    static func verify(
        _ table: FixedBaseTable<Curve>, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> ECDSAOutcome {
        let numbers = ECDSANumbers<Curve>(digest: digest, r: r, s: s)
        guard let (u1, u2) = numbers.scalars else { return .fails }
        var product: JacobianPoint<Curve>?
        table.add(u2, to: &product)
        guard let product else { return .undecided }
        return .comparing(product, plus: u1, numbers.r)
    }
}

extension ECDSAOutcome {
    /// Whether x of u₂·Q + u₁·G is r.
    fileprivate static func comparing<Curve: PrimeCurve>(
        _ product: JacobianPoint<Curve>, plus u1: Curve.Order.Words, _ r: Curve.Order.Words
    ) -> Self {
        var sum: JacobianPoint? = product
        Curve.generatorTable.add(u1, to: &sum)
        guard let sum else { return .undecided }
        return .comparing(Curve.self, x: sum.x, zz: sum.z.squared(), r)
    }
}

extension FixedBaseTable {
    /// Adds the product of a scalar and the table's point. Nil, before and after, is no point yet.
    fileprivate func add(_ scalar: Curve.Order.Words, to sum: inout JacobianPoint<Curve>?) {
        unsafe withUnsafeTemporaryAllocation(
            of: AffinePoint<Curve>.self, capacity: windows
        ) { terms in
            // All loads come first: an addition takes longer than the processor looks ahead, and
            // most points of a table are in no near cache.
            let count = unsafe write(scalar, to: terms.baseAddress!)
            for index in 0..<count {
                if sum == nil {
                    sum = unsafe JacobianPoint(terms[index])
                } else {
                    unsafe sum!.add(terms[index])
                }
            }
        }
    }

    /// Writes the points of which the product is the sum.
    /// - Returns: Their number.
    private func write(
        _ scalar: Curve.Order.Words, to terms: UnsafeMutablePointer<AffinePoint<Curve>>
    ) -> Int {
        unsafe withUnsafeTemporaryAllocation(of: Int16.self, capacity: windows) { digits in
            unsafe SignedDigits.write(scalar, windowBits: windowBits, to: digits.baseAddress!)
            var count = 0
            for index in 0..<windows {
                let digit = unsafe Int(digits[index])
                if digit == 0 { continue }
                let multiple = unsafe points[index &* windowPoints &+ Int(digit.magnitude) &- 1]
                unsafe terms[count] = digit < 0 ? -multiple : multiple
                count += 1
            }
            return count
        }
    }
}
