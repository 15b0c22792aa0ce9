internal import CAssayP384

/// Doubles and sums in C, by processors with BMI2 and ADX, or of Arm. The compiler of Swift uses
/// one carry flag where the former have two.
extension P384 {
    package static let hasFastPoints: Bool = {
        // A coordinate is six words.
        precondition(
            MemoryLayout<JacobianPoint<P384>>.size == 144
                && MemoryLayout<AffinePoint<P384>>.size == 96)
        return assay_p384_is_supported()
    }()

    package static func double(_ point: inout JacobianPoint<P384>) {
        unsafe withUnsafeMutableBytes(of: &point) { unsafe assay_p384_double($0.baseAddress) }
    }

    package static func add(_ other: AffinePoint<P384>, to point: inout JacobianPoint<P384>) {
        unsafe withUnsafeBytes(of: other) { other in
            unsafe withUnsafeMutableBytes(of: &point) { point in
                unsafe assay_p384_add(point.baseAddress, other.baseAddress)
            }
        }
    }
}
