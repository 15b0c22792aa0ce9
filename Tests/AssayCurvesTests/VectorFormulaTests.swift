import AssayCurves
import CAssayP256
import CAssayP256Checks
import Testing

/// Compares each formula of CAssayP256 with OpenSSL's BN.
@Suite struct VectorFormulaTests {
    typealias Octets = [UInt8]
    /// Five limbs of 52 bits.
    private struct Element: Equatable {
        var limbs: [UInt64]

        /// The last limb of p. An element is below k p if its last limb is below k times that.
        static let top = Double((1 << 48) - (1 << 16))
        static let limbEnd = UInt64(1) << 52
        static let p = Element(limbs: [limbEnd - 1, 1 << 44 - 1, 0, 1 << 36, UInt64(top)])

        /// The largest below k p with limbs full of ones; and others that are next to a carry.
        static func edges(below k: Double) -> [Element] {
            let last = UInt64(k * top) - 1
            let full = [UInt64](repeating: limbEnd - 1, count: 4) + [last]
            var edges = [Element(limbs: full), Element(limbs: [0, 0, 0, 0, 0])]
            for place in 0..<5 {
                var (only, without) = ([UInt64](repeating: 0, count: 5), full)
                (only[place], without[place]) = (full[place], 0)
                edges += [Element(limbs: only), Element(limbs: without)]
                only[place] = 1
                edges.append(Element(limbs: only))
            }
            for multiple in 1...15 where Double(multiple) < k {
                edges += [-1, 0, 1].map { p.times(multiple, plus: $0) }
            }
            return edges.filter { $0.limbs[4] <= last }
        }

        func times(_ factor: Int, plus number: Int) -> Element {
            var (carry, result) = (number, self)
            for place in 0..<5 {
                let sum = Int(limbs[place]) * factor + carry
                result.limbs[place] = place < 4 ? UInt64(sum & ((1 << 52) - 1)) : UInt64(sum)
                carry = sum >> 52
            }
            return result
        }

        static func random(below k: Double, _ generator: inout SeededGenerator) -> Element {
            let limbs = (0..<4).map { _ in UInt64.random(in: 0..<limbEnd, using: &generator) }
            return Element(
                limbs: limbs + [.random(in: 0..<UInt64(k * top), using: &generator)])
        }

        /// The number, big-endian. The last limb may have more than 52 bits.
        var octets: Octets {
            (0..<34).reversed().map { place in
                (0..<8).reduce(UInt8(0)) { octet, bit in
                    let (limb, shift) = ((place * 8 + bit) / 52, (place * 8 + bit) % 52)
                    let value =
                        limb < 5 ? limbs[limb] >> UInt64(shift) & 1 : limbs[4] >> UInt64(52 + shift)
                    return octet | UInt8(value & 1) << UInt8(bit)
                }
            }
        }
    }

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
        return (0..<8).map { Element(limbs: Array(result[5 * $0..<5 * $0 + 5])) }
    }

    /// Each edge meets each slot, and edges and random numbers of the other operands.
    @Test(.enabled(if: assay_p256_is_supported()), arguments: operations)
    func agreesWithOpenSSL(_ test: Operation) {
        let n = BigNumbers(modulus: P256Field.modulus.bigEndian)
        var random = SeededGenerator(seed: 31)
        let edges = test.bounds.map(Element.edges)
        for round in 0..<8 * edges.map(\.count).max()! {
            let operands = edges.indices.map { operand in
                (0..<8).map { slot -> Element in
                    switch round % 4 {
                    case 0: edges[operand][(round / 4 + slot) % edges[operand].count]
                    case 1 where operand == 0: edges[operand][(round + slot) % edges[0].count]
                    case 2: edges[operand].randomElement(using: &random)!
                    default: .random(below: test.bounds[operand], &random)
                    }
                }
            }
            let results = Self.compute(test.operation, operands)
            for (slot, result) in results.enumerated() {
                let numbers = operands.map { $0[slot].octets }
                #expect(
                    n.reduce(result.octets) == test.expected(n, numbers, slot),
                    "\(operands.map { $0[slot] })")
                #expect(result.limbs[..<4].allSatisfy { $0 < Element.limbEnd })
                #expect(Double(result.limbs[4]) <= test.resultBound * Element.top)
            }
        }
    }

    /// A multiple of p becomes 0 or p, and only that: whether an element is 0 is decided by it.
    @Test(.enabled(if: assay_p256_is_supported())) func recognisesMultiplesOfP() {
        for multiple in 0...15 {
            for offset in -1...1 where multiple > 0 || offset >= 0 {
                let a = Element.p.times(multiple, plus: offset)
                let results = Self.compute(
                    .divide_by_radix, [[Element](repeating: a, count: 8)])
                let isMultiple = results.allSatisfy {
                    $0 == Element.p || $0.limbs.allSatisfy { $0 == 0 }
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
            let results = Self.compute(.from_words, [words.map { Element(limbs: $0 + [0]) }])
            for (words, result) in zip(words, results) {
                let octets = Words4(words[0], words[1], words[2], words[3]).bigEndian
                #expect(result.octets == [0, 0] + octets)
            }
        }
    }
}
