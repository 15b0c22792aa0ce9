import AssayCurves
import CAssayP256
import CAssayP256Checks
import Testing

/// The formulas of CAssayP256 for pairs: computes the bounds of all values, and compares each with
/// OpenSSL's BN.
@Suite struct PairFormulaTests {
    typealias Octets = [UInt8]
    private static let shape = VectorShape.pairs

    private static func failure(productBound: Double) -> String? {
        let text = unsafe assay_p256_check_pair_bounds(productBound)
        return unsafe text.map { unsafe String(cString: $0) }
    }

    /// Nothing overflows and no value exceeds its bound, whatever the coordinates. The products
    /// stay within the bound that they begin with.
    @Test func nothingExceedsItsBound() {
        #expect(Self.failure(productBound: 1.11) == nil)
    }

    /// The check notices products beyond the bound.
    @Test func noticesWiderBounds() {
        #expect(Self.failure(productBound: 1.2) == "a value exceeds its bound")
        #expect(Self.failure(productBound: 300) == "a factor has more than 32 bits")
    }

    /// An operation with the bounds of its operands and what it computes modulo p.
    struct Operation: Sendable, CustomTestStringConvertible {
        let operation: assay_p256_pair_operation
        let bounds: [Double]
        let resultBound: Double
        let expected: @Sendable (BigNumbers, _ a: [Octets]) -> Octets

        init(
            _ operation: assay_p256_pair_operation, _ bounds: [Double], result: Double,
            _ expected: @escaping @Sendable (BigNumbers, [Octets]) -> Octets
        ) {
            (self.operation, self.bounds, resultBound) = (operation, bounds, result)
            self.expected = expected
        }

        var testDescription: String { "\(operation)" }
    }

    /// a·b / 2^261.
    private static func product(_ n: BigNumbers, _ a: Octets, _ b: Octets) -> Octets {
        n.multiply(n.multiply(a, b), n.inverse(n.power(ofTwo: 261)))
    }

    static let operations: [Operation] = [
        Operation(.multiply, [1.11, 3], result: 1.11) { n, a in product(n, a[0], a[1]) },
        Operation(.multiply_minus, [1.12, 3, 1.9], result: 1.00001) { n, a in
            n.subtract(product(n, a[0], a[1]), a[2])
        },
        // b is not used.
        Operation(.square_minus, [1.12, 1, 1.9], result: 1.00001) { n, a in
            n.subtract(product(n, a[0], a[0]), a[2])
        },
        Operation(.difference, [1, 1], result: 3.00001) { n, a in n.subtract(a[0], a[1]) },
        Operation(.reduce_fully, [1.9], result: 1) { n, a in n.reduce(a[0]) },
        Operation(.words, [1], result: 1) { n, a in n.reduce(a[0]) },
    ]

    private static func compute(
        _ operation: assay_p256_pair_operation, _ operands: [[VectorElement]]
    ) -> [VectorElement] {
        var flat = operands.map { $0.flatMap(\.limbs) }
        let unused = [UInt64](repeating: 0, count: shape.limbs * shape.slots)
        while flat.count < 3 { flat.append(unused) }
        var result = unused
        unsafe assay_p256_compute_pairs(operation, flat[0], flat[1], flat[2], &result)
        return (0..<shape.slots).map { slot in
            let limbs = result[slot * shape.limbs..<(slot + 1) * shape.limbs]
            return VectorElement(shape: shape, limbs: Array(limbs))
        }
    }

    /// Each edge meets each slot, and edges and random numbers of the other operands.
    @Test(.enabled(if: assay_p256_pair_vectors() != .none), arguments: operations)
    func agreesWithOpenSSL(_ test: Operation) {
        let n = BigNumbers(modulus: P256Field.modulus.bigEndian)
        for operands in Self.shape.operands(below: test.bounds, seed: 51) {
            let results = Self.compute(test.operation, operands)
            for (slot, result) in results.enumerated() {
                let numbers = operands.map { $0[slot].octets }
                #expect(
                    n.reduce(result.octets) == test.expected(n, numbers),
                    "\(operands.map { $0[slot].limbs })")
                #expect(result.isCarried || test.operation == .difference)
                #expect(Double(result.limbs[8]) <= test.resultBound * Self.shape.top)
            }
        }
    }

    /// p and the numbers after it are reduced, those before it stay: there a sum is not always
    /// reduced, but only where its last limb is that of p.
    @Test(.enabled(if: assay_p256_pair_vectors() != .none)) func reducesFromPOn() {
        let p = Self.shape.p
        for offset in -3...3 {
            let a = p.times(1, plus: offset)
            let results = Self.compute(
                .reduce_fully, [[VectorElement](repeating: a, count: Self.shape.slots)])
            let expected = offset < 0 ? a : Self.shape.zero().times(1, plus: offset)
            #expect(results.allSatisfy { $0 == expected }, "\(offset)")
        }
    }
}
