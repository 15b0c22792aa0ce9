import AssayCurves

/// How the elements of vectors are divided into limbs.
struct VectorShape: Sendable {
    let limbs: Int
    let bits: Int
    let slots: Int

    /// CAssayP256's formulas.h.
    static let signatures = VectorShape(limbs: 5, bits: 52, slots: 8)
    /// CAssayP256's pair_formulas.h.
    static let pairs = VectorShape(limbs: 9, bits: 29, slots: 4)

    var limbEnd: UInt64 { 1 << UInt64(bits) }
    var p: VectorElement { VectorElement(self, P256Field.modulus.bigEndian) }
    /// The last limb of p. An element is below k p if its last limb is below k times that.
    var top: Double { Double(p.limbs[limbs - 1]) }

    func zero() -> VectorElement {
        VectorElement(shape: self, limbs: [UInt64](repeating: 0, count: limbs))
    }

    /// The largest below k p with limbs full of ones; and others that are next to a carry.
    private func edges(below k: Double) -> [VectorElement] {
        let last = UInt64(k * top) - 1
        let zeros = [UInt64](repeating: 0, count: limbs)
        let full = [UInt64](repeating: limbEnd - 1, count: limbs - 1) + [last]
        var edges = [full, zeros]
        for position in 0..<limbs {
            var (only, without) = (zeros, full)
            (only[position], without[position]) = (full[position], 0)
            edges += [only, without]
            only[position] = 1
            edges.append(only)
        }
        for multiple in 1...15 where Double(multiple) < k {
            edges += [-1, 0, 1].map { p.times(multiple, plus: $0).limbs }
        }
        return edges.filter { $0[limbs - 1] <= last }.map { VectorElement(shape: self, limbs: $0) }
    }

    /// Rounds of operands below these multiples of p, with a number for each slot: each edge meets
    /// each slot, and edges and random numbers of the other operands.
    func operands(below bounds: [Double], seed: UInt64) -> [[[VectorElement]]] {
        var random = SeededGenerator(seed: seed)
        let edges = bounds.map(edges)
        return (0..<8 * edges.map(\.count).max()!).map { round in
            edges.indices.map { operand in
                (0..<slots).map { slot in
                    switch round % 4 {
                    case 0: edges[operand][(round / 4 + slot) % edges[operand].count]
                    case 1 where operand == 0: edges[operand][(round + slot) % edges[0].count]
                    case 2: edges[operand].randomElement(using: &random)!
                    default: self.random(below: bounds[operand], &random)
                    }
                }
            }
        }
    }

    private func random(below k: Double, _ generator: inout SeededGenerator) -> VectorElement {
        let limbs = (1..<limbs).map { _ in UInt64.random(in: 0..<limbEnd, using: &generator) }
        let last = UInt64.random(in: 0..<UInt64(k * top), using: &generator)
        return VectorElement(shape: self, limbs: limbs + [last])
    }
}

/// A number in limbs, the least significant first.
struct VectorElement: Equatable {
    let shape: VectorShape
    var limbs: [UInt64]

    init(shape: VectorShape, limbs: [UInt64]) {
        self.shape = shape
        self.limbs = limbs
    }

    /// - Parameter octets: Big-endian.
    init(_ shape: VectorShape, _ octets: [UInt8]) {
        self.shape = shape
        limbs = (0..<shape.limbs).map { limb in
            (0..<shape.bits).reduce(0) { value, bit in
                let position = limb * shape.bits + bit
                guard position < octets.count * 8 else { return value }
                let octet = UInt64(octets[octets.count - 1 - position / 8])
                return value | (octet >> UInt64(position % 8) & 1) << UInt64(bit)
            }
        }
    }

    static func == (left: Self, right: Self) -> Bool { left.limbs == right.limbs }

    func times(_ factor: Int, plus number: Int) -> VectorElement {
        var (carry, result) = (number, self)
        for position in limbs.indices {
            let sum = Int(limbs[position]) * factor + carry
            let isLast = position == limbs.count - 1
            result.limbs[position] = UInt64(isLast ? sum : sum & Int(shape.limbEnd - 1))
            carry = sum >> shape.bits
        }
        return result
    }

    /// Whether no limb but the last one has a bit too many.
    var isCarried: Bool { limbs.dropLast().allSatisfy { $0 < shape.limbEnd } }

    /// The number, big-endian. Limbs may have more than their bits.
    var octets: [UInt8] {
        var octets = [UInt8](repeating: 0, count: 40)
        for (limb, value) in limbs.enumerated() {
            var carry = UInt128(value) << UInt128(limb * shape.bits % 8)
            var position = octets.count - 1 - limb * shape.bits / 8
            while carry > 0 {
                carry += UInt128(octets[position])
                octets[position] = UInt8(truncatingIfNeeded: carry)
                carry >>= 8
                position -= 1
            }
        }
        return octets
    }
}
