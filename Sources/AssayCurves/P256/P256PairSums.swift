internal import CAssayP256

/// Sums of points on P-256, four pairs at a time: AVX2 or Neon, in C. The points of the tables are
/// in Montgomery form with R = 2²⁶¹.
@safe final class P256PairSums: PairSums {
    static let isSupported = assay_p256_pair_vectors() != .none
    static let hasAVX2 = assay_p256_pair_vectors() == .avx2
    static let hasNeon = assay_p256_pair_vectors() == .neon
    static let coordinateDoublings = Int(assay_p256_pair_radix_bits) - 256
    static let sharedTable = FixedBaseTable<P256>(
        P256.generator, coordinateDoublings: coordinateDoublings)

    /// 2⁻⁵: from the form of the points to the field's own.
    private static let toField = P256Field(Words4(32, 0, 0, 0)).inverted()
    /// 2¹⁰: an inverse in the field's own form of a number in the points' form lacks this factor
    /// in the latter.
    private static let toInverse = P256Field(Words4(1024, 0, 0, 0))
    private static let slots = Int(assay_p256_pair_slots)

    /// The slots of the first point and of the sum of each pair.
    private let first: UnsafeMutablePointer<UInt32>
    private let sums: UnsafeMutablePointer<UInt32>
    private let products: UnsafeMutableRawPointer
    /// The product of each slot's differences, and then its inverse.
    private let slotProducts: UnsafeMutablePointer<P256Field>
    private let slotScratch = SharedInversion<P256Field>.Scratch(capacity: slots)

    /// Four at a time, an affine sum costs a third of one in extended Jacobian coordinates.
    var leastPairs: Int { 20 }
    var generatorTable: FixedBaseTable<P256> { Self.sharedTable }

    init(capacity: Int, listCapacity: Int) {
        precondition(Self.isSupported)
        let pairs = capacity * listCapacity / 2
        unsafe first = .allocate(capacity: pairs)
        unsafe sums = .allocate(capacity: pairs)
        let groups = (pairs + Self.slots - 1) / Self.slots
        unsafe products = .allocate(
            byteCount: groups * Int(assay_p256_pair_product_bytes), alignment: 32)
        unsafe slotProducts = .allocate(capacity: Self.slots)
    }

    deinit {
        unsafe first.deallocate()
        unsafe sums.deallocate()
        unsafe products.deallocate()
        unsafe slotProducts.deallocate()
    }

    func inField(_ point: AffinePoint<P256>) -> AffinePoint<P256> {
        AffinePoint(x: point.x * Self.toField, y: point.y * Self.toField)
    }

    func addPairs(_ count: Int, of trees: SumTrees<P256>) {
        let pairs = findPairs(count, of: trees)
        let points = unsafe trees.points
        let areAnyEqual = unsafe slotProducts.withMemoryRebound(
            to: (UInt64, UInt64, UInt64, UInt64).self, capacity: Self.slots
        ) { product in
            unsafe assay_p256_multiply_differences(points, first, pairs, products, product)
        }
        if areAnyEqual { trees.noteEqualPairs(count) }
        invertSlots()
        unsafe slotProducts.withMemoryRebound(
            to: (UInt64, UInt64, UInt64, UInt64).self, capacity: Self.slots
        ) { inverse in
            unsafe assay_p256_add_pairs(points, first, sums, pairs, products, inverse)
        }
    }

    /// Returns the number of pairs.
    private func findPairs(_ count: Int, of trees: SumTrees<P256>) -> Int {
        var pairs = 0
        for list in 0..<count {
            let start = list &* trees.listCapacity
            for pair in 0..<(unsafe trees.counts[list] &>> 1) {
                unsafe first[pairs] = UInt32(truncatingIfNeeded: start &+ 2 &* pair)
                unsafe sums[pairs] = UInt32(truncatingIfNeeded: start &+ pair)
                pairs &+= 1
            }
        }
        return pairs
    }

    private func invertSlots() {
        var inversion = SharedInversion<P256Field>(slotScratch)
        for slot in 0..<Self.slots { unsafe inversion.append(slotProducts[slot]) }
        inversion.invert()
        for slot in (0..<Self.slots).reversed() {
            unsafe slotProducts[slot] = inversion.takeLast() * Self.toInverse
        }
    }
}
