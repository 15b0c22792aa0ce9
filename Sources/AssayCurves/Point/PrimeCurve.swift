/// A curve y² = x³ − 3·x + b of prime order over a prime field, with R and the order's words of
/// the same size as the field's.
package protocol PrimeCurve: Sendable {
    associatedtype Field: PrimeField
    associatedtype Order: PrimeField where Order.Words == Field.Words

    static var b: Field { get }
    static var generator: AffinePoint<Self> { get }
    /// The modulus of the field minus the order, which is less.
    static var fieldMinusOrder: Field.Words { get }
    /// Bits of a window of the tables that `ECDSABatch` uses, at most 15.
    static var windowBits: Int { get }
    /// The table of the generator, built at its first use.
    static var generatorTable: FixedBaseTable<Self> { get }

    /// Brings a point of a table into the cache.
    static func fetch(_ point: UnsafePointer<AffinePoint<Self>>)

    /// Whether this processor has instructions for `double` and `add`, which must not be called
    /// otherwise.
    static var hasFastPoints: Bool { get }
    /// Doubles the point, as `JacobianPoint.portableDouble` does.
    static func double(_ point: inout JacobianPoint<Self>)
    /// Adds a point, as `JacobianPoint.portableSum` does.
    static func add(_ other: AffinePoint<Self>, to point: inout JacobianPoint<Self>)
}

extension PrimeCurve {
    package static var windowBits: Int { 8 }
    package static func fetch(_ point: UnsafePointer<AffinePoint<Self>>) {}
    package static var hasFastPoints: Bool { false }
    package static func double(_ point: inout JacobianPoint<Self>) {
        point = point.portableDouble()
    }
    package static func add(_ other: AffinePoint<Self>, to point: inout JacobianPoint<Self>) {
        point = point.portableSum(other)
    }
}

/// A point with affine coordinates: any but the point at infinity.
package struct AffinePoint<Curve: PrimeCurve>: Sendable, BitwiseCopyable {
    package let x: Curve.Field
    package let y: Curve.Field

    @inline(__always)
    package init(x: Curve.Field, y: Curve.Field) {
        self.x = x
        self.y = y
    }

    /// Reads an uncompressed point, `04 ‖ x ‖ y` (SEC 1, section 2.3.4). Returns nil unless it is
    /// on the curve.
    package init?(uncompressed octets: Span<UInt8>) {
        let size = Curve.Field.Words.byteCount
        guard octets.count == 1 + 2 * size, octets[0] == 4,
            let x = Curve.Field(bigEndian: octets.extracting(1..<1 + size)),
            let y = Curve.Field(bigEndian: octets.extracting((1 + size)...))
        else { return nil }
        let three = Curve.Field.one.doubled() + .one
        guard y.squared() == (x.squared() - three) * x + Curve.b else { return nil }
        self.init(x: x, y: y)
    }

    @inline(__always)
    package static prefix func - (point: Self) -> Self { Self(x: point.x, y: -point.y) }

    /// The sum with a point, and the double for the same point, by the slope λ of the line
    /// through both: x₃ = λ² − x₁ − x₂ and y₃ = λ·(x₁ − x₃) − y₁.
    @inline(__always)
    func sum(_ other: Self, slope: Curve.Field) -> Self {
        let x = slope.squared() - self.x - other.x
        return Self(x: x, y: slope * (self.x - x) - y)
    }
}
