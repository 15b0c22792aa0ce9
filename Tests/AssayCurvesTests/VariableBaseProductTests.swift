import AssayCurves
import COpenSSL
import Testing

/// Products with points that have no table, compared with OpenSSL's.
@Suite struct VariableBaseProductTests {
    private typealias Octets = [UInt8]

    /// Scalars below the order with all ones, with digits at their limits and with carries, the
    /// powers of 2 and their neighbours, those next to the order, and random ones.
    private func scalars(_ n: BigNumbers) -> [Octets] {
        let size = n.modulus.count
        var random = SeededGenerator(seed: 31)
        var scalars = [0x0F, 0x10, 0x11, 0x55, 0x7F, 0x80, 0xAA, 0xEF, 0xF0, 0xFF].map {
            n.reduce(Octets(repeating: $0, count: size))
        }
        let zero = Octets(repeating: 0, count: size)
        func small(_ value: UInt8) -> Octets { zero.dropLast() + [value] }
        for bit in [0, 1, 4, 5, 6, 8 * size - 6, 8 * size - 5, 8 * size - 2, 8 * size - 1] {
            let power = n.power(ofTwo: bit)
            scalars += [power, n.add(power, small(1)), n.subtract(power, small(1))]
        }
        for value in 1...40 as ClosedRange<UInt8> {
            scalars += [small(value), n.subtract(zero, small(value))]
        }
        for _ in 0..<40 {
            scalars.append(
                n.reduce((0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }))
        }
        return scalars.filter { $0 != zero }
    }

    private func check<Curve: PrimeCurve>(_: Curve.Type, _ name: Int32) throws {
        let n = BigNumbers(modulus: Curve.Order.modulus.bigEndian)
        let group = PointTests.Reference(name)
        let d = Octets(repeating: 0, count: group.size - 3) + [0x12, 0x34, 0x57]
        let octets = group.multiple(d)
        let read = AffinePoint<Curve>(uncompressed: octets.span)
        let point = try #require(read)
        for scalar in scalars(n) {
            let words = Curve.Order.Words(bigEndian: scalar.span)
            checkDigits(words, scalar, n)
            let product = try #require(VariableBaseProduct.product(words, point))
            let inverse = product.z.inverted()
            let x = product.x * inverse.squared()
            let y = product.y * (inverse.squared() * inverse)
            let isRight =
                !product.z.isZero
                && [4] + x.number.bigEndian + y.number.bigEndian
                    == group.multiple(n.multiply(scalar, d))
            #expect(isRight, "\(scalar)")
        }
        #expect(VariableBaseProduct.product(Curve.Order.Words.zero, point) == nil)
    }

    private func checkDigits<Words: FixedWords>(
        _ words: Words, _ scalar: Octets, _ n: BigNumbers
    ) {
        var digits = [Int8](repeating: 77, count: NonAdjacentForm.count(Words.self))
        unsafe digits.withUnsafeMutableBufferPointer {
            unsafe NonAdjacentForm.write(words, to: $0.baseAddress!)
        }
        var sum = Octets(repeating: 0, count: scalar.count)
        var last = -NonAdjacentForm.width
        var isInForm = true
        for (position, digit) in digits.enumerated().reversed() {
            sum = n.add(sum, sum)
            if digit == 0 { continue }
            let magnitude = sum.map { _ in 0 }.dropLast() + [digit.magnitude]
            sum = digit < 0 ? n.subtract(sum, Octets(magnitude)) : n.add(sum, Octets(magnitude))
            isInForm = isInForm && digit % 2 != 0 && digit.magnitude < 16
            isInForm = isInForm && (last < 0 || last - position >= NonAdjacentForm.width)
            last = position
        }
        #expect(isInForm && sum == scalar, "\(scalar): \(digits)")
    }

    @Test func p256() throws { try check(P256.self, NID_X9_62_prime256v1) }
    @Test func p384() throws { try check(P384.self, NID_secp384r1) }

    /// Z becomes zero where a formula does not hold, and stays zero.
    @Test func sumsThatTheFormulasDoNotKnow() {
        let point = P256.generator
        let sum = JacobianPoint(point).doubled()
        let three = sum.adding(point)
        #expect(!three.z.isZero)
        #expect(JacobianPoint(point).adding(point).z.isZero)
        #expect(JacobianPoint(point).adding(-point).z.isZero)
        #expect(JacobianPoint(point).adding(-point).doubled().z.isZero)
        #expect(JacobianPoint(point).adding(point).doubled().adding(point).z.isZero)
    }
}
