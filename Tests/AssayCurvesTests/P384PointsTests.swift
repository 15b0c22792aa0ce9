import AssayCurves
import CAssayP384Checks
import Testing

/// The operations of CAssayP384 as a field. What it lacks is that of `P384Field`.
struct FastP384Field: PrimeField {
    private var field: P384Field

    init(_ number: Words6) { field = P384Field(number) }

    static var modulus: Words6 { P384Field.modulus }
    static var zero: Self { Self(.zero) }
    static var one: Self { Self(P384Field.one.number) }
    var number: Words6 { field.number }
    var isZero: Bool { field.isZero }
    func inverted() -> Self { Self(field.inverted().number) }

    static func + (a: Self, b: Self) -> Self {
        unsafe compute(a, b) { unsafe assay_p384_check_add($0, $1, $2) }
    }
    static func - (a: Self, b: Self) -> Self {
        unsafe compute(a, b) { unsafe assay_p384_check_subtract($0, $1, $2) }
    }
    static func * (a: Self, b: Self) -> Self {
        unsafe compute(a, b) { unsafe assay_p384_check_multiply($0, $1, $2) }
    }
    static prefix func - (a: Self) -> Self { zero - a }
    func squared() -> Self {
        unsafe Self.compute(self, self) { result, a, _ in unsafe assay_p384_check_square(result, a)
        }
    }

    private static func compute(
        _ a: Self, _ b: Self,
        _ operation: (UnsafeMutableRawPointer, UnsafeRawPointer, UnsafeRawPointer) -> Void
    ) -> Self {
        var result = zero
        unsafe withUnsafeBytes(of: a) { a in
            unsafe withUnsafeBytes(of: b) { b in
                unsafe withUnsafeMutableBytes(of: &result) { result in
                    unsafe operation(result.baseAddress!, a.baseAddress!, b.baseAddress!)
                }
            }
        }
        return result
    }
}

/// Doubles and sums of CAssayP384, coordinate by coordinate: the formulas are the same.
@Suite("Points of P-384", .enabled(if: P384.hasFastPoints, "needs BMI2 and ADX"))
struct P384PointsTests {
    private func isSame(_ a: JacobianPoint<P384>, _ b: JacobianPoint<P384>) -> Bool {
        a.x == b.x && a.y == b.y && a.z == b.z
    }

    @Test("A walk through the curve doubles and adds as the portable formulas do")
    func walk() {
        let generator = P384.generator
        var (point, other) = (JacobianPoint(generator), generator)
        var random = SeededGenerator(seed: 384)
        for _ in 0..<2000 {
            let double = point.portableDouble()
            #expect(isSame(point.doubled(), double))
            let sum = double.portableSum(other)
            #expect(isSame(double.adding(other), sum))
            other = random.next() % 2 == 0 ? -other : other
            point = sum
        }
        #expect(!point.z.isZero)
    }

    @Test("Sums that the formulas do not know have no z, and keep none")
    func unknownSums() {
        let generator = P384.generator
        let point = JacobianPoint(generator)
        #expect(point.adding(generator).z.isZero)
        #expect(point.adding(-generator).z.isZero)
        #expect(point.adding(-generator).doubled().z.isZero)
        #expect(point.adding(generator).doubled().adding(generator).z.isZero)
        #expect(!point.doubled().adding(generator).z.isZero)
        #expect(!point.doubled().adding(-generator).z.isZero)
    }
}
