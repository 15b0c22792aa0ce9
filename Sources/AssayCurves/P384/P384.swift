/// The curve P-384 (SEC 2, section 2.5.1).
package enum P384: PrimeCurve {
    package typealias Field = P384Field
    package typealias Order = P384Order

    package static let b = P384Field(
        Words6(
            0x2A85_C8ED_D3EC_2AEF, 0xC656_398D_8A2E_D19D, 0x0314_088F_5013_875A,
            0x181D_9C6E_FE81_4112, 0x988E_056B_E3F8_2D19, 0xB331_2FA7_E23E_E7E4))

    package static let generator = AffinePoint<P384>(
        x: P384Field(
            Words6(
                0x3A54_5E38_7276_0AB7, 0x5502_F25D_BF55_296C, 0x59F7_41E0_8254_2A38,
                0x6E1D_3B62_8BA7_9B98, 0x8EB1_C71E_F320_AD74, 0xAA87_CA22_BE8B_0537)),
        y: P384Field(
            Words6(
                0x7A43_1D7C_90EA_0E5F, 0x0A60_B1CE_1D7E_819D, 0xE9DA_3113_B5F0_B8C0,
                0xF8F4_1DBD_289A_147C, 0x5D9E_98BF_9292_DC29, 0x3617_DE4A_9626_2C6F)))

    package static let fieldMinusOrder = Words6(
        0x1313_E696_333A_D68C, 0xA7E5_F24C_B74F_5885, 0x389C_B27E_0BC8_D21F, 0, 0, 0)

    /// A table takes 590 KB, and a signature 98 additions.
    package static var windowBits: Int { 8 }

    package static let generatorTable = FixedBaseTable<P384>(generator)
}
