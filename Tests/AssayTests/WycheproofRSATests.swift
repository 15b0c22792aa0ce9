@testable import Assay
import Foundation
import TestSupport
import Testing

/// Project Wycheproof's vectors of RSA signatures with SHA-1 and SHA-256, and keys of any size:
/// RSASSA-PKCS1-v1_5, and RSASSA-PSS.
@Suite struct WycheproofRSATests {
    private struct File: Decodable { let testGroups: [Group] }
    private struct Group: Decodable {
        struct Key: Decodable {
            let modulus: String
            let publicExponent: String
        }
        struct Test: Decodable {
            let tcId: Int
            let comment: String
            let msg: String
            let sig: String
            let result: String
        }
        let sha: String
        /// Of PSS alone: the digest of MGF1.
        let mgfSha: String?
        let publicKey: Key?
        let privateKey: Key?
        let tests: [Test]

        /// The scheme of the signatures; nil for one that is not known here.
        var scheme: RSAScheme? {
            switch (sha, mgfSha) {
            case ("SHA-1", nil): .pkcs1(.sha1)
            case ("SHA-256", nil): .pkcs1(.sha256)
            case ("SHA-256", "SHA-256"): .pss
            default: nil
            }
        }

        /// The key, unless its size or its exponent is refused.
        func rsaKey() throws -> RSAPublicKey? {
            let key = try #require(publicKey ?? privateKey)
            func magnitude(_ text: String) -> [UInt8] {
                let digits = text.drop { $0 == "0" }
                return P256Forge.octets((digits.count % 2 == 0 ? "" : "0") + digits)
            }
            return RSAPublicKey(
                modulus: magnitude(key.modulus).span,
                exponent: magnitude(key.publicExponent).span, smallestBits: 2048)
        }
    }

    /// Those of the folder whose name has a scheme that is known here.
    private static let files = Vectors.files(in: "wycheproof", suffix: "_test.json").filter {
        ($0.hasPrefix("rsa_signature_") && $0.contains("_sha256_"))
            || $0.hasPrefix("rsa_pkcs1_2048_sig_gen_")
            // The salt has 32 octets.
            || ($0.hasPrefix("rsa_pss_") && $0.contains("_sha256_mgf1_32_"))
    }

    /// "Acceptable" signatures whose only flaw is size: the generation file has signatures made
    /// with small keys or exponents. All others are refused.
    private static let acceptable = [
        "rsa_pkcs1_2048_sig_gen_test.json": Set(65...72).union([154, 155, 158])
    ]

    /// An exponent below 65537 is refused.
    @Test(.enabled(if: Vectors.has("wycheproof")), arguments: files)
    func signatures(name: String) throws {
        let bytes = try #require(Vectors.bytes("wycheproof/" + name))
        var (valid, refused, skipped) = (0, 0, 0)
        for group in try JSONDecoder().decode(File.self, from: Data(bytes)).testGroups {
            guard let scheme = group.scheme else {
                skipped += group.tests.count
                continue
            }
            let key = try group.rsaKey()
            for test in group.tests {
                let holds =
                    key?.verifies(
                        signature: P256Forge.octets(test.sig).span,
                        overDigest: scheme.digest(P256Forge.octets(test.msg).span).span, scheme)
                    ?? false
                let isGood =
                    test.result == "valid"
                    || (test.result == "acceptable"
                        && Self.acceptable[name]?.contains(test.tcId) == true)
                #expect(holds == (isGood && key != nil), "\(name) \(test.tcId): \(test.comment)")
                if holds { valid += 1 } else { refused += 1 }
            }
        }
        try Vectors.report(
            "\(name): \(valid) valid, \(refused) refused, \(skipped) of other digests",
            valid + refused)
    }
}
