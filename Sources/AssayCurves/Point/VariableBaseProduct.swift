/// The product of a scalar with a point that has no table: doublings, and an addition of an odd
/// multiple for every sixth bit.
package enum VariableBaseProduct<Curve: PrimeCurve> {
    package typealias Point = AffinePoint<Curve>

    /// Returns scalar·P, or nil for a scalar of zero. Where a sum is one that the formula does not
    /// know, Z is zero.
    ///
    /// That happens for no scalar below the order: only the last addition, (n − d)·P − d·P, can be
    /// of equal points, and n − d is no multiple of 2⁵ for any odd d up to 15.
    package static func product(
        _ scalar: Curve.Order.Words, _ point: Point
    ) -> JacobianPoint<Curve>? {
        let count = NonAdjacentForm.count(Curve.Order.Words.self)
        return unsafe withUnsafeTemporaryAllocation(of: Int8.self, capacity: count) { digits in
            unsafe withUnsafeTemporaryAllocation(
                of: Point.self, capacity: NonAdjacentForm.multiples
            ) { multiples in
                let digits = digits.baseAddress!
                let multiples = multiples.baseAddress!
                unsafe NonAdjacentForm.write(scalar, to: digits)
                unsafe fill(multiples, point)
                return unsafe sum(digits, count, multiples)
            }
        }
    }

    /// From the most significant digit on. Nil if all are 0.
    private static func sum(
        _ digits: UnsafePointer<Int8>, _ count: Int, _ multiples: UnsafePointer<Point>
    ) -> JacobianPoint<Curve>? {
        var position = count - 1
        while position >= 0, unsafe digits[position] == 0 { position -= 1 }
        guard position >= 0 else { return nil }
        // The first digit is positive, as the scalar is.
        var sum = unsafe JacobianPoint(multiples[Int(digits[position]) >> 1])
        while position > 0 {
            position &-= 1
            sum.double()
            let digit = unsafe Int(digits[position])
            if digit == 0 { continue }
            let multiple = unsafe multiples[Int(digit.magnitude) &>> 1]
            sum.add(digit < 0 ? -multiple : multiple)
        }
        return sum
    }

    /// The odd multiples of a point: 1·P, 3·P, 5·P and so on, with one shared inversion.
    ///
    /// With Z of the double, x·Z² and y·Z³ map the curve to another one, where the double is an
    /// affine point. The additions do not depend on the curve. No two of the points are equal or
    /// opposite, because the order is larger than the sum of their multiples.
    private static func fill(_ multiples: UnsafeMutablePointer<Point>, _ point: Point) {
        let double = JacobianPoint(point).doubled()
        let step = Point(x: double.x, y: double.y)
        let scale = double.z.squared()
        var sum = JacobianPoint(Point(x: point.x * scale, y: point.y * (scale * double.z)))
        let scratch = SharedInversion<Curve.Field>.Scratch(capacity: NonAdjacentForm.multiples)
        var inversion = SharedInversion<Curve.Field>(scratch)
        unsafe withUnsafeTemporaryAllocation(
            of: JacobianPoint<Curve>.self, capacity: NonAdjacentForm.multiples
        ) { sums in
            unsafe multiples[0] = point
            for index in 1..<NonAdjacentForm.multiples {
                sum.add(step)
                unsafe sums[index] = sum
                inversion.append(sum.z * double.z)
            }
            inversion.invert()
            for index in (1..<NonAdjacentForm.multiples).reversed() {
                unsafe multiples[index] = sums[index].affine(inverseOfZ: inversion.takeLast())
            }
        }
    }
}
