import AssayCurves

extension SignatureEngine {
    /// Whether this engine accepts a known good signature and refuses damaged ones, at each place
    /// of a batch and alone. Tested once in a process: some milliseconds, most of it for the
    /// generator's table, which is needed anyway.
    var passesSelfTest: Bool { self == .openssl || Self.portablePasses }

    private static let portablePasses = testPortable()

    private static func testPortable() -> Bool {
        // The key is the generator: its table is both points' table.
        let table = P256.generatorTable
        let size = selfTestSize
        let batch = P256Verification(capacity: size)
        let single = P256Verification(capacity: 1)
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

    private static func octets(_ words: UInt64...) -> [UInt8] {
        words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
    }
}

extension P256Verification {
    fileprivate func append(_ sample: SignatureEngine.Sample, _ table: Table) {
        append(table, digest: sample.digest.span, r: sample.r.span, s: sample.s.span)
    }
}
