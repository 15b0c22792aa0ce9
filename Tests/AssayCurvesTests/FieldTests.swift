import AssayCurves
import Testing

/// Compares each operation with BN, on the stored words themselves: an element is a·R mod m, and
/// every number below m is one. R is 1 for P-384.
@Suite struct FieldTests {
    @Test func p256Field() {
        FieldComparison<P256Field>(seed: 1) {
            $0.words
        } make: {
            .init(montgomery: $0)
        }.check()
    }
    @Test func p256Order() {
        FieldComparison<P256Order>(seed: 2) {
            $0.words
        } make: {
            .init(montgomery: $0)
        }.check()
    }

    /// Their products with p − 1 have the carries and borrows of a reduction that random products
    /// do not have: one in 2⁶⁴ at most does.
    private static let edges384 = [
        // 2⁵¹² / (2¹²⁸ + 2⁹⁶ + 1) + 2²⁶⁰: a borrow from the topmost word of the first step.
        Words6(
            0xFFFF_FFFD_0000_0005, 0x0000_0001_FFFF_FFFF, 0x0000_0002_FFFF_FFFD,
            0x0000_0000_FFFF_FFFE, 0xFFFF_FFFF_0000_0010, 0xFFFF_FFFF_0000_0000),
        // With c = 2³⁸⁴ − p: 2⁵¹² / c + 2²⁶⁰, a borrow from that of the second step.
        Words6(
            0xFFFF_FFEC_0000_0005, 0xFFFF_FFF4_0000_0013, 0x0000_0003_0000_0002,
            0x0000_0003_FFFF_FFFB, 0x0000_0000_0000_000E, 0xFFFF_FFFF_0000_0001),
        // 2⁵¹² / c − 2³⁰⁰, a carry into it.
        Words6(
            0xFFFF_FFEC_0000_0005, 0xFFFF_FFF4_0000_0013, 0x0000_0003_0000_0002,
            0x0000_0003_FFFF_FFFB, 0xFFFF_EFFF_FFFF_FFFE, 0xFFFF_FFFF_0000_0000),
        // (2⁵¹² + 2⁴⁴⁸ − 2³⁸⁴) / c + 2²⁰⁰, a carry within the second step.
        Words6(
            0xFFFF_FFDD_0000_0016, 0xFFFF_FFF3_0000_001B, 0x0000_0006_FFFF_FFFF,
            0x0000_0005_0000_00F8, 0xFFFF_FFFE_FFFF_FFFE, 0xFFFF_FFFF_0000_0001),
        // p − 2²⁰⁰, a result of 2³⁸⁴ or more before p is subtracted.
        Words6(
            0xFFFF_FFFF, 0xFFFF_FFFF_0000_0000, .max - 1, .max - 0x100, .max, .max),
    ]

    @Test func p384Field() {
        FieldComparison<P384Field>(seed: 3, bitsOfR: 0, edges: Self.edges384) {
            $0.number
        } make: {
            .init($0)
        }.check()
    }
    /// The field of CAssayP384 alone. `P384PointsTests` compares the points that it computes.
    @Test(.enabled(if: P384.hasFastPoints, "needs BMI2 and ADX"))
    func p384FieldWithTwoCarries() {
        FieldComparison<FastP384Field>(seed: 3, bitsOfR: 0, edges: Self.edges384) {
            $0.number
        } make: {
            .init($0)
        }.check()
    }
    @Test func p384Order() {
        FieldComparison<P384Order>(seed: 4, bitsOfR: 0) {
            $0.number
        } make: {
            .init($0)
        }.check()
    }
}

/// The comparison of one field with BN.
struct FieldComparison<Field: PrimeField> {
    typealias Octets = [UInt8]

    let numbers = BigNumbers(modulus: Field.modulus.bigEndian)
    let words: (Field) -> Field.Words
    let make: (Field.Words) -> Field
    /// 1/R mod m.
    let inverseOfR: Octets
    /// R mod m.
    let r: Octets
    private var random: SeededGenerator
    /// Further edge values.
    private let edges: [Field.Words]

    init(
        seed: UInt64, bitsOfR: Int = Field.Words.byteCount * 8, edges: [Field.Words] = [],
        _ words: @escaping (Field) -> Field.Words,
        make: @escaping (Field.Words) -> Field
    ) {
        (self.words, self.make, self.edges) = (words, make, edges)
        random = SeededGenerator(seed: seed)
        r = numbers.power(ofTwo: bitsOfR)
        inverseOfR = numbers.inverse(r)
    }

    /// Edge values in each word, next to the modulus and its half, and random ones. All are below
    /// the modulus: the bound of every operation's input.
    private func values() -> [Field.Words] {
        var random = random
        var values = [Field.Words.zero] + edges
        for index in 0..<Field.Words.count {
            for edge: UInt64 in [1, 0xFFFF_FFFF, 1 << 32, 1 << 63, .max - 1, .max] {
                var value = Field.Words.zero
                value[index] = edge
                values.append(value)
                // The same with all ones below it.
                for lower in 0..<index { value[lower] = .max }
                values.append(value)
            }
        }
        for small in UInt64(1)...3 {
            var number = Field.Words.zero
            number[0] = small
            values.append(Field.modulus.subtracting(number).difference)
        }
        for _ in 0..<40 {
            var value = Field.Words.zero
            for index in 0..<Field.Words.count { value[index] = random.next() }
            values.append(value)
        }
        return values.filter { $0.isBelow(Field.modulus) }
    }

    func check() {
        let values = values()
        #expect(values.count > 60)
        for a in values {
            checkOne(make(a))
            for b in values { checkTwo(make(a), make(b)) }
        }
    }

    private func octets(_ element: Field) -> Octets { words(element).bigEndian }

    private func checkOne(_ a: Field) {
        let stored = octets(a)
        #expect(
            octets(a.squared()) == numbers.multiply(numbers.multiply(stored, stored), inverseOfR))
        #expect(octets(a.doubled()) == numbers.add(stored, stored))
        #expect(octets(-a) == numbers.subtract(Octets(repeating: 0, count: stored.count), stored))
        #expect(a.isZero == stored.allSatisfy { $0 == 0 })
        #expect(a.number.bigEndian == numbers.multiply(stored, inverseOfR))
        #expect(octets(Field(words(a))) == numbers.multiply(stored, r))
        let inverse = numbers.inverse(numbers.multiply(stored, inverseOfR))
        #expect(a.inverted().number.bigEndian == inverse)
        let read = Field(bigEndian: stored.span)
        #expect(read == Field(words(a)))
    }

    private func checkTwo(_ a: Field, _ b: Field) {
        let (x, y) = (octets(a), octets(b))
        let isRight =
            octets(a + b) == numbers.add(x, y) && octets(a - b) == numbers.subtract(x, y)
            && octets(a * b) == numbers.multiply(numbers.multiply(x, y), inverseOfR)
            && a.product(words(b)).bigEndian == numbers.multiply(numbers.multiply(x, inverseOfR), y)
            && (a == b) == (x == y)
        #expect(isRight, "\(x), \(y)")
    }
}

@Suite struct FieldElementTests {
    private func field(_ octets: [UInt8]) -> P256Field? { P256Field(bigEndian: octets.span) }

    /// Only the numbers below the modulus are elements.
    @Test func readsNumbersBelowTheModulus() {
        let modulus = P256Field.modulus
        #expect(field(modulus.bigEndian) == nil)
        #expect(field(modulus.adding(Words4(1, 0, 0, 0)).sum.bigEndian) == nil)
        let below = modulus.subtracting(Words4(1, 0, 0, 0)).difference
        #expect(field(below.bigEndian) == -P256Field.one)
        for size in [0, 31, 33] {
            #expect(field([UInt8](repeating: 0, count: size)) == nil)
        }
        let order = P256Order(bigEndian: P256Order.modulus.bigEndian.span)
        #expect(order == nil)
    }

    @Test func readsNumbersOfEachLength() {
        let octets = (1...32).map { UInt8($0 * 7) }
        for count in 0...32 {
            let padded = [UInt8](repeating: 0, count: 32 - count) + octets.prefix(count)
            #expect(Words4(bigEndian: octets.span.extracting(first: count)).bigEndian == padded)
        }
    }

    @Test func constants() {
        #expect(P256Field.one * P256Field.one == .one)
        #expect(P256Field.one.number == Words4(1, 0, 0, 0))
        #expect(P256Order.one.number == Words4(1, 0, 0, 0))
        #expect(
            P256.fieldMinusOrder
                == P256Field.modulus.subtracting(P256Order.modulus).difference)
        #expect(P384Field.one * P384Field.one == .one)
        #expect(P384Field.one.number == Words6(1, 0, 0, 0, 0, 0))
        #expect(P384Order.one.number == Words6(1, 0, 0, 0, 0, 0))
        #expect(
            P384.fieldMinusOrder
                == P384Field.modulus.subtracting(P384Order.modulus).difference)
    }
}
