import CAssayP256Checks
import Testing

/// Computes the bounds of all values in the formulas of CAssayP256.
@Suite struct VectorBoundsTests {
    typealias Bounds = (x: Double, y: Double, z: Double)

    private static func failure(_ step: assay_p256_step, _ bounds: Bounds) -> String? {
        let text = unsafe assay_p256_check_bounds(step, bounds.x, bounds.y, bounds.z)
        return unsafe text.map { unsafe String(cString: $0) }
    }

    /// Those that the formulas expect of the sums between additions.
    private static let bounds: Bounds = (1.01, 2.01, 1.5)
    private static let steps: [assay_p256_step] = [
        .mixed_addition, .general_addition, .decision,
    ]

    /// Nothing overflows and no value exceeds its bound, whatever the operands are within theirs.
    /// The results of the additions are within the bounds that they began with.
    @Test(arguments: steps) func nothingExceedsItsBound(step: assay_p256_step) {
        #expect(Self.failure(step, Self.bounds) == nil)
    }

    /// The check notices sums beyond the bounds.
    @Test func noticesWiderBounds() {
        let x: Bounds = (2.5, 2.01, 1.5)
        #expect(Self.failure(.mixed_addition, x) == "a limb becomes negative")
        let y: Bounds = (1.01, 2.25, 1.5)
        #expect(Self.failure(.mixed_addition, y) == "a value exceeds its bound")
        let negatedY: Bounds = (1.01, 3.01, 1.5)
        #expect(Self.failure(.general_addition, negatedY) == "a limb becomes negative")
        let z: Bounds = (1.01, 2.01, 3)
        for step in Self.steps { #expect(Self.failure(step, z) == "a value exceeds its bound") }
        // Not even 52 bits.
        let factor: Bounds = (1.01, 2.01, 17)
        #expect(Self.failure(.decision, factor) == "a factor has more than 52 bits")
    }
}
