import AssayCurves

extension SignatureEngine {
    /// Whether this engine accepts a known good signature and refuses damaged ones, at each index
    /// of a batch and alone. Tested once in a process: some milliseconds, most of it for the
    /// generators' tables, which are needed anyway.
    var passesSelfTest: Bool {
        switch self {
        case .ifma: Self.ifmaPasses && Self.p384Passes
        case .avx2: Self.avx2Passes && Self.p384Passes
        case .neon: Self.neonPasses && Self.p384Passes
        case .portable: Self.portablePasses && Self.p384Passes
        case .openssl: true
        }
    }

    private static let ifmaPasses = testP256(.ifma)
    private static let avx2Passes = testP256(.avx2)
    private static let neonPasses = testP256(.neon)
    private static let portablePasses = testP256(.portable)
    private static let p384Passes = testP384()

    private static func testP256(_ arithmetic: P256Verification.Arithmetic) -> Bool {
        guard arithmetic.isSupported else { return false }
        // The key is the generator: its table is both points' table.
        let table = P256Verification.generatorTable(for: arithmetic)
        let batch = P256Verification(capacity: selfTestSize, arithmetic: arithmetic)
        let single = P256Verification(capacity: 1, arithmetic: arithmetic)
        return givesExpected { samples in
            let verification = samples.count == 1 ? single : batch
            verification.removeAll()
            for sample in samples { verification.append(sample, table) }
            verification.verify()
            return samples.indices.map(verification.outcome)
        }
    }

    /// Whether a routine gives the expected outcomes: good and damaged signatures alternate, each
    /// index of the batch has both, and each stands alone as well.
    static func givesExpected(_ verify: ([SelfTestSample]) -> [P256Verification.Outcome]) -> Bool {
        (0..<2).allSatisfy { phase in
            let samples = (0..<selfTestSize).map { SelfTestSample($0 % 2 == phase ? nil : $0) }
            return verify(samples) == samples.map(\.expected)
                && samples.allSatisfy { verify([$0]) == [$0.expected] }
        }
    }

    /// P-384 verifies one signature at a time, with the key's table and without.
    private static func testP384() -> Bool {
        let generator = P384.generator
        let key = [4] + generator.x.number.bigEndian + generator.y.number.bigEndian
        return givesExpected384 { digest, r, s in
            let holds = P384Verification.verifies(
                P384.generatorTable, digest: digest.span, r: r.span, s: s.span)
            let holdsWithoutTable = P384Verification.verifies(
                key: key.span, digest: digest.span, r: r.span, s: s.span)
            return holds == holdsWithoutTable ? holds : nil
        }
    }

    /// Whether a routine accepts the good signature, and refuses it where the digest, r or s has a
    /// changed bit.
    static func givesExpected384(_ verify: ([UInt8], [UInt8], [UInt8]) -> Bool?) -> Bool {
        let good = [digest384, r384, s384]
        return verify(good[0], good[1], good[2]) == true
            && good.indices.allSatisfy { index in
                var damaged = good
                damaged[index][47 - index] ^= 1
                return verify(damaged[0], damaged[1], damaged[2]) == false
            }
    }

    /// Fills a vector of eight twice.
    private static let selfTestSize = 16

    /// SHA-256 of "sample", and its signature by the private key 1 with a nonce that is SHA-256 of
    /// "assay".
    fileprivate static let digest = octets(
        0xAF2B_DBE1_AA9B_6EC1, 0xE2AD_E1D6_94F4_1FC7, 0x1A83_1D02_68E9_8915, 0x6211_3D8A_62AD_D1BF)
    fileprivate static let r = octets(
        0xDC43_2F1B_7105_17A3, 0xCC14_8B1C_BCE6_2395, 0x6C33_303E_A215_FD50, 0xD3C0_395B_D9BB_3117)
    fileprivate static let s = octets(
        0x3567_FE30_274C_9D2F, 0xA12A_7E43_7801_AAAF, 0x6C9D_768B_B72E_70BE, 0xEC22_CF3D_2AD5_B04D)

    /// The same on P-384, with SHA-384.
    private static let digest384 = octets(
        0x9A90_8350_5BC9_2276, 0xAEC4_BE31_2696_EF7B, 0xF3BF_603F_4BBD_3811, 0x96A0_29F3_4058_5312,
        0x313B_CA4A_9B5B_890E, 0xFEE4_2C77_B1EE_25FE)
    private static let r384 = octets(
        0xFA8C_C049_82C2_5B19, 0xEB2A_47BA_C81F_6239, 0x6F41_9741_DF6A_DE1F, 0xF02B_9029_A2A1_1495,
        0x2F64_81C1_70C1_4673, 0xBF3D_072E_898E_9C08)
    private static let s384 = octets(
        0x53D5_278A_834F_358B, 0xC35D_E0D9_90AF_05B9, 0x2646_CA48_51FB_177F, 0x03C9_4AC5_7739_5C0E,
        0xDA26_CA95_72E3_8F96, 0xFB1A_DBD6_25AA_6628)

    private static func octets(_ words: UInt64...) -> [UInt8] {
        words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }
}

/// A signature of the self-test: the good one, or one with a changed bit.
struct SelfTestSample {
    private(set) var digest = SignatureEngine.digest
    private(set) var r = SignatureEngine.r
    private(set) var s = SignatureEngine.s
    let expected: P256Verification.Outcome

    init(_ damage: Int?) {
        expected = damage == nil ? .holds : .fails
        guard let damage else { return }
        let (octet, bit) = (damage % 32, UInt8(1) << (damage % 8))
        switch damage / 2 % 3 {
        case 0: digest[octet] ^= bit
        case 1: r[octet] ^= bit
        default: s[octet] ^= bit
        }
    }
}

extension P256Verification {
    fileprivate func append(_ sample: SelfTestSample, _ table: Table) {
        append(table, digest: sample.digest.span, r: sample.r.span, s: sample.s.span)
    }
}
