import AssayCurves
import AssayLocks
import COpenSSL
import Testing

/// Signatures whose u₁ and u₂ are chosen: the digits reach every edge. The outcome is that of the
/// arithmetic alone, without OpenSSL behind it.
@Suite struct ECDSABatchTests {
    typealias Octets = [UInt8]
    typealias Arithmetic = P256Verification.Arithmetic

    /// Without that of vectors where the processor lacks it: `P256VectorsTests` is skipped then.
    static let arithmetics = Arithmetic.allCases.filter(\.isSupported)

    /// A signature over e = u₁·s with s = r / u₂ for the key Q = d·G, where r is x of
    /// u₁·G + u₂·Q.
    private struct Signature {
        let u1: Octets
        let u2: Octets
        let point: Octets
        let e: Octets
        let r: Octets
        let s: Octets

        init(_ n: BigNumbers, _ group: PointTests.Reference, u1: Octets, u2: Octets, d: Octets) {
            let k = n.add(u1, n.multiply(u2, d))
            r = n.reduce(Octets(group.multiple(k)[1...32]))
            s = n.multiply(r, n.inverse(u2))
            e = n.multiply(u1, s)
            point = group.multiple(d)
            (self.u1, self.u2) = (u1, u2)
        }
    }

    private let n = BigNumbers(modulus: P256Order.modulus.bigEndian)
    /// The tables made so far.
    private let tables = Locked<[Arithmetic: [Octets: P256Verification.Table]]>([:])
    private let group = PointTests.Reference(NID_X9_62_prime256v1)
    private static func number(_ octets: Octets) -> Octets {
        Octets(repeating: 0, count: 32 - octets.count) + octets
    }

    /// The number with these bits set.
    private func octets(_ isSet: (Int) -> Bool) -> Octets {
        var octets = Octets(repeating: 0, count: 32)
        for bit in 0..<256 where isSet(bit) { octets[31 - bit / 8] |= 1 << (bit % 8) }
        return octets
    }

    /// Scalars whose digits of 8 or 10 bits are all the least or the greatest ones, 0 or −1, with a
    /// carry out of the last window and without, and those next to the weights of the windows.
    private func scalars() -> [Octets] {
        var scalars = [0x7F, 0x80, 0x81, 0xFF, 0x01].map { Octets(repeating: $0, count: 32) }
        scalars.append([0x7F] + Octets(repeating: 0x80, count: 31))
        scalars.append(Octets(repeating: 0x7F, count: 31) + [0x80])
        // Ten bits a window: digits that are all −512, and all 511.
        scalars.append(octets { $0 < 10 ? $0 == 9 : $0 % 10 != 9 })
        scalars.append(octets { $0 % 10 != 9 })
        scalars.append(octets { $0 % 10 == 9 })
        let one = Self.number([1])
        for bit in [1, 8, 9, 10, 19, 20, 59, 60, 127, 128, 239, 240, 249, 250, 254, 255] {
            let weight = n.reduce(octets { $0 == bit })
            scalars += [weight, n.add(weight, one), n.subtract(weight, one)]
        }
        scalars += [1, 2, 3].map { n.subtract(Self.number([0]), Self.number([$0])) }
        // A number of 32 octets all ones is above the order.
        return scalars.map(n.reduce).filter { $0.contains { $0 != 0 } }
    }

    private func table(_ point: Octets, for arithmetic: Arithmetic) -> P256Verification.Table {
        tables.withLock { tables in
            if let table = tables[arithmetic]?[point] { return table }
            let table = P256Verification.table(uncompressed: point.span, for: arithmetic)!
            tables[arithmetic, default: [:]][point] = table
            return table
        }
    }

    private func outcomes(
        _ signatures: [Signature], _ arithmetic: Arithmetic
    ) -> [P256Verification.Outcome] {
        let batch = P256Verification(capacity: signatures.count, arithmetic: arithmetic)
        for signature in signatures {
            let table = table(signature.point, for: arithmetic)
            batch.append(
                table, digest: signature.e.span, r: signature.r.span, s: signature.s.span)
        }
        batch.verify()
        return signatures.indices.map(batch.outcome)
    }

    @Test(arguments: arithmetics) func edgesOfTheDigits(arithmetic: Arithmetic) {
        var random = SeededGenerator(seed: 21)
        var signatures: [Signature] = []
        let scalars = scalars()
        let d = Self.number([0x12, 0x34, 0x56, 0x78])
        #expect(scalars.count > 55)
        for (index, scalar) in scalars.enumerated() {
            let other = Octets((0..<32).map { _ in .random(in: 0..<0x80, using: &random) })
            let edge = scalars[(index * 7 + 3) % scalars.count]
            signatures.append(Signature(n, group, u1: scalar, u2: other, d: d))
            signatures.append(Signature(n, group, u1: other, u2: scalar, d: d))
            signatures.append(Signature(n, group, u1: scalar, u2: edge, d: d))
        }
        let size = 32
        for start in stride(from: 0, to: signatures.count, by: size) {
            let slice = Array(signatures[start..<min(start + size, signatures.count)])
            for (outcome, signature) in zip(outcomes(slice, arithmetic), slice) {
                #expect(outcome == .holds, "\(signature.u1), \(signature.u2)")
            }
        }
        for signature in signatures.prefix(12) {
            #expect(outcomes([signature], arithmetic) == [.holds])
        }
    }

    /// u₁ = 0: the digest is 0 or n.
    @Test(arguments: arithmetics) func zeroDigest(arithmetic: Arithmetic) {
        let (u2, d) = (Self.number([5]), Self.number([9]))
        let signature = Signature(n, group, u1: Self.number([0]), u2: u2, d: d)
        #expect(outcomes([signature], arithmetic) == [.holds])
    }

    /// Without OpenSSL these are neither valid nor invalid: the last addition is of two equal or
    /// two opposite points. Their neighbours are decided.
    @Test(arguments: arithmetics) func undecidedSums(arithmetic: Arithmetic) {
        let one = Self.number([1])
        // Q = G: u₁·G + u₂·Q adds equal points.
        let equal = Signature(n, group, u1: one, u2: one, d: one)
        #expect(outcomes([equal], arithmetic) == [.undecided])
        let neighbour = Signature(n, group, u1: one, u2: one, d: Self.number([2]))
        let three = outcomes([neighbour, equal, neighbour], arithmetic)
        #expect(three == [.holds, .undecided, .holds])
        // Among enough others that pairs share an inversion, each keeps its own outcome.
        let many = [Signature](repeating: neighbour, count: 40)
        var expected = [P256Verification.Outcome](repeating: .holds, count: 40)
        expected[17] = .undecided
        #expect(outcomes(many[..<17] + [equal] + many[18...], arithmetic) == expected)
    }

    /// Verified by the arithmetic alone, r and s have to be in range.
    @Test(arguments: arithmetics) func rangesOfRAndS(arithmetic: Arithmetic) {
        let good = Signature(
            n, group, u1: Self.number([77]), u2: Self.number([99]), d: Self.number([1, 2, 3]))
        let order = P256Order.modulus.bigEndian
        let above = P256Order.modulus.adding(Words4(1, 0, 0, 0)).sum.bigEndian
        let table = table(good.point, for: arithmetic)
        let batch = P256Verification(capacity: 64, arithmetic: arithmetic)
        var expected: [P256Verification.Outcome] = []
        func append(_ r: Octets, _ s: Octets, _ outcome: P256Verification.Outcome) {
            batch.append(table, digest: good.e.span, r: r.span, s: s.span)
            expected.append(outcome)
        }
        let field = P256Field.modulus.bigEndian
        let ones = Octets(repeating: 0xFF, count: 32)
        append(good.r, good.s, .holds)
        for bad in [Self.number([0]), order, above, field, ones, [], Octets(good.r.dropFirst())] {
            append(bad, good.s, .fails)
            append(good.r, bad, .fails)
            append(bad, bad, .fails)
        }
        append(good.r, n.subtract(Self.number([0]), good.s), .holds)
        append(good.s, good.r, .fails)
        batch.verify()
        #expect((0..<batch.count).map(batch.outcome) == expected)
    }
}
