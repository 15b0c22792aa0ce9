import AssayCurves

extension SignatureEngine {
    /// Whether this engine accepts a known good signature and refuses damaged ones, at each place
    /// of a batch and alone. Tested once in a process: some milliseconds, most of it for the
    /// generators' tables, which are needed anyway.
    var passesSelfTest: Bool {
        switch self {
        case .ifma: Self.vectorsPass && Self.p384Passes
        case .portable: Self.wordsPass && Self.p384Passes
        case .openssl: true
        }
    }

    private static let vectorsPass = testP256(.vectors)
    private static let wordsPass = testP256(.words)
    private static let p384Passes = testP384()

    private static func testP256(_ arithmetic: P256Verification.Arithmetic) -> Bool {
        guard arithmetic.isSupported else { return false }
        // The key is the generator: its table is both points' table.
        let table = P256Verification.generatorTable(for: arithmetic)
        let size = selfTestSize
        let batch = P256Verification(capacity: size, arithmetic: arithmetic)
        let single = P256Verification(capacity: 1, arithmetic: arithmetic)
        for phase in 0..<2 {
            batch.removeAll()
            for index in 0..<size {
                let sample = sample(index % 2 == phase ? nil : index)
                batch.append(sample, table)
                single.removeAll()
                single.append(sample, table)
                single.verify()
                guard single.outcome(0) == sample.expected else { return false }
            }
            batch.verify()
            for index in 0..<size {
                guard batch.outcome(index) == (index % 2 == phase ? .holds : .fails) else {
                    return false
                }
            }
        }
        return true
    }

    /// P-384 verifies one signature at a time, with the key's table and without.
    private static func testP384() -> Bool {
        let good = [digest384, r384, s384]
        let generator = P384.generator
        let key = [4] + generator.x.number.bigEndian + generator.y.number.bigEndian
        func verifies(_ numbers: [[UInt8]]) -> Bool? {
            let (digest, r, s) = (numbers[0], numbers[1], numbers[2])
            let holds = P384Verification.verifies(
                P384.generatorTable, digest: digest.span, r: r.span, s: s.span)
            let holdsWithoutTable = P384Verification.verifies(
                key: key.span, digest: digest.span, r: r.span, s: s.span)
            return holds == holdsWithoutTable ? holds : nil
        }
        return verifies(good) == true
            && good.indices.allSatisfy { place in
                var damaged = good
                damaged[place][47 - place] ^= 1
                return verifies(damaged) == false
            }
    }

    /// Fills a vector of eight twice.
    private static let selfTestSize = 16

    fileprivate struct Sample {
        var digest: [UInt8]
        var r: [UInt8]
        var s: [UInt8]
        var expected: P256Verification.Outcome
    }

    /// The good signature, or one with a changed bit.
    private static func sample(_ damage: Int?) -> Sample {
        var sample = Sample(digest: digest, r: r, s: s, expected: .holds)
        guard let damage else { return sample }
        sample.expected = .fails
        let (octet, bit) = (damage % 32, UInt8(1) << (damage % 8))
        switch damage / 2 % 3 {
        case 0: sample.digest[octet] ^= bit
        case 1: sample.r[octet] ^= bit
        default: sample.s[octet] ^= bit
        }
        return sample
    }

    /// SHA-256 of "sample", and its signature by the private key 1 with a nonce that is SHA-256 of
    /// "assay".
    private static let digest = octets(
        0xAF2B_DBE1_AA9B_6EC1, 0xE2AD_E1D6_94F4_1FC7, 0x1A83_1D02_68E9_8915, 0x6211_3D8A_62AD_D1BF)
    private static let r = octets(
        0xDC43_2F1B_7105_17A3, 0xCC14_8B1C_BCE6_2395, 0x6C33_303E_A215_FD50, 0xD3C0_395B_D9BB_3117)
    private static let s = octets(
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

extension P256Verification {
    fileprivate func append(_ sample: SignatureEngine.Sample, _ table: Table) {
        append(table, digest: sample.digest.span, r: sample.r.span, s: sample.s.span)
    }
}
