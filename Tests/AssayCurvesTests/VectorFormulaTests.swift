import AssayCurves
import CAssayP256
import CAssayP256Checks
import Testing

/// Compares each formula of CAssayP256 with OpenSSL's BN.
@Suite struct VectorFormulaTests {
    typealias Octets = [UInt8]
    private typealias Element = VectorElement
    private static let shape = VectorShape.signatures

    /// An operation with the bounds of its operands and what it computes modulo p. `r` is 2^260.
    struct Operation: Sendable, CustomTestStringConvertible {
        let operation: assay_p256_operation
        let bounds: [Double]
        let resultBound: Double
        let expected: @Sendable (BigNumbers, _ a: [Octets], _ slot: Int) -> Octets

        init(
            _ operation: assay_p256_operation, _ bounds: [Double], result: Double,
            _ expected: @escaping @Sendable (BigNumbers, [Octets], Int) -> Octets
        ) {
            (self.operation, self.bounds, resultBound) = (operation, bounds, result)
            self.expected = expected
        }

        var testDescription: String { "\(operation)" }
    }

    private static func divided(_ n: BigNumbers, _ a: Octets) -> Octets {
        n.multiply(a, n.inverse(n.power(ofTwo: 260)))
    }

    static let operations: [Operation] = [
        Operation(.multiply, [15.9, 15.9], result: 17) { n, a, _ in
            divided(n, n.multiply(a[0], a[1]))
        },
        Operation(.multiply_add, [3.25, 3.25, 15.9], result: 17.7) { n, a, _ in
            n.add(divided(n, n.multiply(a[0], a[1])), a[2])
        },
        Operation(.multiply_both, [3.25, 3.25, 2.01, 1.5], result: 2.01) { n, a, _ in
            divided(n, n.add(n.multiply(a[0], a[1]), n.multiply(a[2], a[3])))
        },
        Operation(.square, [15.9], result: 17) { n, a, _ in divided(n, n.multiply(a[0], a[0])) },
        Operation(.difference, [1.25, 1.25], result: 3.26) { n, a, _ in
            n.subtract(a[0], a[1])
        },
        Operation(.negate_odd_slots, [2.01], result: 3.01) { n, a, slot in
            slot % 2 == 0 ? n.reduce(a[0]) : n.subtract([0], a[0])
        },
        Operation(.sum_x, [3.25, 1.5, 1.25], result: 1.01) { n, a, _ in
            n.subtract(n.subtract(divided(n, n.multiply(a[0], a[0])), a[1]), n.add(a[2], a[2]))
        },
        Operation(.divide_by_radix, [15.99], result: 1.0001) { n, a, _ in divided(n, a[0]) },
    ]

    private static func compute(_ operation: assay_p256_operation, _ operands: [[Element]])
        -> [Element]
    {
        let unused = [UInt64](repeating: 0, count: 40)
        let flat = operands.map { $0.flatMap(\.limbs) }
        var result = unused
        unsafe assay_p256_compute(
            operation, flat[0], flat.count > 1 ? flat[1] : unused,
            flat.count > 2 ? flat[2] : unused, flat.count > 3 ? flat[3] : unused, &result)
        return (0..<8).map {
            Element(shape: shape, limbs: Array(result[5 * $0..<5 * $0 + 5]))
        }
    }

    /// Each edge meets each slot, and edges and random numbers of the other operands.
    @Test(.enabled(if: assay_p256_is_supported()), arguments: operations)
    func agreesWithOpenSSL(_ test: Operation) {
        let n = BigNumbers(modulus: P256Field.modulus.bigEndian)
        for operands in Self.shape.operands(below: test.bounds, seed: 31) {
            let results = Self.compute(test.operation, operands)
            for (slot, result) in results.enumerated() {
                let numbers = operands.map { $0[slot].octets }
                #expect(
                    n.reduce(result.octets) == test.expected(n, numbers, slot),
                    "\(operands.map { $0[slot] })")
                #expect(result.isCarried)
                #expect(Double(result.limbs[4]) <= test.resultBound * Self.shape.top)
            }
        }
    }

    /// A multiple of p becomes 0 or p, and only that: whether an element is 0 is decided by it.
    @Test(.enabled(if: assay_p256_is_supported())) func recognisesMultiplesOfP() {
        for multiple in 0...15 {
            for offset in -1...1 where multiple > 0 || offset >= 0 {
                let a = Self.shape.p.times(multiple, plus: offset)
                let results = Self.compute(
                    .divide_by_radix, [[Element](repeating: a, count: 8)])
                let isMultiple = results.allSatisfy {
                    $0 == Self.shape.p || $0.limbs.allSatisfy { $0 == 0 }
                }
                #expect(isMultiple == (offset == 0), "\(multiple) p + \(offset)")
            }
        }
    }

    @Test(.enabled(if: assay_p256_is_supported())) func readsWords() {
        var random = SeededGenerator(seed: 32)
        for round in 0..<64 {
            let words = (0..<8).map { _ in
                (0..<4).map { $0 == round % 8 ? UInt64.max : random.next() }
            }
            let limbs = words.map { Element(shape: Self.shape, limbs: $0 + [0]) }
            let results = Self.compute(.from_words, [limbs])
            for (words, result) in zip(words, results) {
                let octets = Words4(words[0], words[1], words[2], words[3]).bigEndian
                #expect(result.octets.suffix(34) == [0, 0] + octets)
            }
        }
    }
}
