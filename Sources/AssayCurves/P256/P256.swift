internal import CAssayP256

/// The curve P-256 (SEC 2, section 2.4.2).
package enum P256: PrimeCurve {
    package typealias Field = P256Field
    package typealias Order = P256Order

    package static let b = P256Field(
        Words4(
            0x3BCE_3C3E_27D2_604B, 0x651D_06B0_CC53_B0F6, 0xB3EB_BD55_7698_86BC,
            0x5AC6_35D8_AA3A_93E7))

    package static let generator = AffinePoint<P256>(
        x: P256Field(
            Words4(
                0xF4A1_3945_D898_C296, 0x7703_7D81_2DEB_33A0, 0xF8BC_E6E5_63A4_40F2,
                0x6B17_D1F2_E12C_4247)),
        y: P256Field(
            Words4(
                0xCBB6_4068_37BF_51F5, 0x2BCE_3357_6B31_5ECE, 0x8EE7_EB4A_7C0F_9E16,
                0x4FE3_42E2_FE1A_7F9B)))

    package static let fieldMinusOrder = Words4(
        0x0C46_353D_039C_DAAE, 0x4319_0553_58E8_617B, 0, 0)

    /// A table takes 823 KB, and a signature 52 additions. With 8 bits they are 264 KB and 66, and
    /// verification takes a quarter longer; with 11 bits, 1.5 MB and 48, at the same speed.
    package static var windowBits: Int { 10 }

    /// A point is a cache line.
    package static func fetch(_ point: UnsafePointer<AffinePoint<P256>>) {
        unsafe assay_prefetch(point)
    }

    package static let generatorTable = FixedBaseTable<P256>(generator)
}
