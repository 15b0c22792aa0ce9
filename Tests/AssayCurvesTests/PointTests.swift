import AssayCurves
import COpenSSL
import Testing

/// Compares tables and points with OpenSSL's.
@Suite struct PointTests {
    private static let group = Reference(NID_X9_62_prime256v1)

    /// OpenSSL's group of a curve.
    @safe final class Reference: @unchecked Sendable {
        private let group: OpaquePointer
        let size: Int

        init(_ curve: Int32) {
            unsafe group = EC_GROUP_new_by_curve_name(curve)!
            unsafe size = (Int(EC_GROUP_get_degree(group)) + 7) / 8
        }

        /// scalar·G, uncompressed.
        func multiple(_ scalar: [UInt8]) -> [UInt8] {
            let number = unsafe BN_bin2bn(scalar, Int32(scalar.count), nil)
            let point = unsafe EC_POINT_new(group)
            var octets = [UInt8](repeating: 0, count: 1 + 2 * size)
            unsafe EC_POINT_mul(group, point, number, nil, nil, nil)
            unsafe EC_POINT_point2oct(
                group, point, POINT_CONVERSION_UNCOMPRESSED, &octets, octets.count, nil)
            unsafe EC_POINT_free(point)
            unsafe BN_free(number)
            return octets
        }
    }

    /// digit·2^bits, big-endian.
    private func scalar(_ digit: Int, timesTwoTo bits: Int) -> [UInt8] {
        let shifted = digit << (bits % 8)
        let octets = [16, 8, 0].map { UInt8(truncatingIfNeeded: shifted >> $0) }
        return octets + [UInt8](repeating: 0, count: bits / 8)
    }

    private func octets<Curve>(_ point: AffinePoint<Curve>) -> [UInt8] {
        [4] + point.x.number.bigEndian + point.y.number.bigEndian
    }

    private static func table(_ octets: [UInt8], doublings: Int = 0) -> FixedBaseTable<P256>? {
        FixedBaseTable<P256>(uncompressed: octets.span, coordinateDoublings: doublings)
    }

    private static func point(_ octets: [UInt8]) -> AffinePoint<P256>? {
        AffinePoint<P256>(uncompressed: octets.span)
    }

    /// Windows that divide the 256 bits, and those that leave a rest.
    @Test(arguments: [(8, 32 * 128 + 1), (10, 25 * 512 + 64)])
    func everyPointOfATable(windowBits: Int, count: Int) {
        let table = FixedBaseTable<P256>(P256.generator, windowBits: windowBits)
        #expect(table.count == count)
        #expect(unsafe Int(bitPattern: table.points) % 64 == 0)
        let windowPoints = 1 << (windowBits - 1)
        for index in 0..<count {
            let (window, digit) = (index / windowPoints, index % windowPoints + 1)
            let isRight =
                octets(unsafe table.points[index])
                == Self.group.multiple(scalar(digit, timesTwoTo: window * windowBits))
            #expect(isRight, "window \(window), digit \(digit)")
        }
    }

    /// The first windows, the last one and its carry; each multiple costs OpenSSL a millisecond.
    @Test func pointsOfTheTableOfP384() {
        let group = Reference(NID_secp384r1)
        let table = P384.generatorTable
        #expect(table.count == 48 * 128 + 1)
        for window in [0, 1, 24, 47] {
            for digit in 1...128 {
                let point = unsafe table.points[window * 128 + digit - 1]
                #expect(octets(point) == group.multiple(scalar(digit, timesTwoTo: 8 * window)))
            }
        }
        #expect(octets(unsafe table.points[48 * 128]) == group.multiple(scalar(1, timesTwoTo: 384)))
    }

    /// The coordinates of the other form are those of the first, times 16.
    @Test func tableWithDoubledCoordinates() throws {
        let octets = Self.group.multiple([0x12, 0x34, 0x56])
        let plain = try #require(Self.table(octets))
        let other = try #require(
            Self.table(octets, doublings: 4))
        let factor = P256Field(Words4(16, 0, 0, 0))
        #expect(plain.count == other.count)
        for index in 0..<plain.count {
            let isRight =
                unsafe other.points[index].x == plain.points[index].x * factor
                && other.points[index].y == plain.points[index].y * factor
            #expect(isRight, "\(index)")
        }
    }

    @Test func readsOnlyPointsOnTheCurve() {
        let octets = Self.group.multiple([7])
        #expect(Self.point(octets) != nil)
        var others = [[], [0], Array(octets.dropLast()), octets + [0]]
        for (index, bit) in [(0, 1), (1, 0x80), (32, 1), (33, 0x80), (64, 1)] {
            var other = octets
            other[index] ^= UInt8(bit)
            others.append(other)
        }
        let field = P256Field.modulus.bigEndian
        others.append([4] + field + octets[33...])
        others.append([4] + octets[1...32] + field)
        for other in others { #expect(Self.point(other) == nil) }
    }

    @Test func jacobianSums() throws {
        func point(_ scalar: UInt8) throws -> AffinePoint<P256> {
            try #require(Self.point(Self.group.multiple([scalar])))
        }
        func isEqual(_ sum: ExtendedJacobianPoint<P256>, _ point: AffinePoint<P256>) -> Bool {
            sum.x == point.x * sum.zz && sum.y == point.y * sum.zzz && !sum.zz.isZero
                && sum.zz * sum.zz.squared() == sum.zzz.squared()
        }
        let (three, five) = (try point(3), try point(5))
        let eight = ExtendedJacobianPoint(three).adding(five)
        #expect(isEqual(eight, try point(8)))
        #expect(isEqual(eight.doubled().adding(five), try point(21)))
        #expect(!isEqual(eight, try point(9)))
        // ZZ becomes zero where the formula does not hold, and stays zero.
        #expect(ExtendedJacobianPoint(three).adding(three).zz.isZero)
        #expect(ExtendedJacobianPoint(three).adding(-three).zz.isZero)
        #expect(ExtendedJacobianPoint(three).adding(-three).adding(five).zz.isZero)
        #expect(eight.adding(try point(8)).zz.isZero)
        #expect(eight.adding(-(try point(8))).zz.isZero)
    }
}
