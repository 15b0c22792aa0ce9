/// A point in Jacobian coordinates: x = X / Z² and y = Y / Z³. Z is zero at infinity.
///
/// A double takes eight multiplications, one less than in extended Jacobian coordinates, where an
/// addition takes one less.
///
/// The operations are not inlined: the compiler takes minutes for loops around them.
package struct JacobianPoint<Curve: PrimeCurve>: Sendable, BitwiseCopyable {
    package let x: Curve.Field
    package let y: Curve.Field
    package let z: Curve.Field

    @inline(__always)
    package init(_ point: AffinePoint<Curve>) { self.init(x: point.x, y: point.y, z: .one) }

    @inline(__always)
    private init(x: Curve.Field, y: Curve.Field, z: Curve.Field) {
        (self.x, self.y, self.z) = (x, y, z)
    }

    /// Doubles this point. Only infinity has an infinite double, because the order is odd.
    @inline(never)
    package mutating func double() {
        if Curve.hasFastPoints { Curve.double(&self) } else { self = portableDouble() }
    }

    /// Adds an affine point, without a case distinction.
    ///
    /// Where both are the same point, or opposite ones, or this one is at infinity, H is zero or Z
    /// is, and so is the sum's Z, and that of each later sum or double. So one test at the end
    /// finds all sums that this formula does not know.
    @inline(never)
    package mutating func add(_ other: AffinePoint<Curve>) {
        if Curve.hasFastPoints { Curve.add(other, to: &self) } else { self = portableSum(other) }
    }

    package func doubled() -> Self {
        var result = self
        result.double()
        return result
    }

    package func adding(_ other: AffinePoint<Curve>) -> Self {
        var result = self
        result.add(other)
        return result
    }

    /// The double, in Swift (EFD, "dbl-2001-b", for a = −3, with Z of 2·Y·Z, which is faster here).
    @inline(__always)
    package func portableDouble() -> Self {
        let delta = z.squared()
        let gamma = y.squared()
        let twoGamma = gamma.doubled()
        let beta = (x * twoGamma).doubled()
        let difference = (x - delta) * (x + delta)
        let alpha = difference.doubled() + difference
        let newX = alpha.squared() - beta.doubled()
        let last = twoGamma.squared().doubled()
        return Self(x: newX, y: alpha * (beta - newX) - last, z: (y * z).doubled())
    }

    /// The sum with an affine point, in Swift (Cohen, Miyaji and Ono, 1998).
    @inline(__always)
    package func portableSum(_ other: AffinePoint<Curve>) -> Self {
        let zz = z.squared()
        let h = other.x * zz - x
        let r = other.y * (z * zz) - y
        let hh = h.squared()
        let hhh = h * hh
        let v = x * hh
        let newX = r.squared() - hhh - v.doubled()
        return Self(x: newX, y: r * (v - newX) - y * hhh, z: z * h)
    }

    /// The same point with affine coordinates. With another number than 1 / Z, it is a point of a
    /// curve that is isomorphic.
    @inline(never)
    func affine(inverseOfZ inverse: Curve.Field) -> AffinePoint<Curve> {
        let square = inverse.squared()
        return AffinePoint(x: x * square, y: y * (square * inverse))
    }
}
