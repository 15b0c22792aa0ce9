import Assay
import Foundation

/// Project Wycheproof's ECDSA vectors by the signature engine, with a table for each key, and those
/// of certificates also without. The answer must be their `result`.
struct Wycheproof {
    private struct File: Decodable {
        let testGroups: [Group]
    }
    private struct Group: Decodable {
        struct Key: Decodable { let uncompressed: String }
        struct Test: Decodable {
            let tcId: Int
            let comment: String
            let msg: String
            let sig: String
            let result: String
        }
        let publicKey: Key
        let tests: [Test]
    }

    /// The folder with the JSON files.
    let folder: String

    /// Prints the number of cases and every wrong answer.
    ///
    /// - Returns: whether all answers were right, and there were any.
    func run() throws -> Bool {
        let token = try tokens("ecdsa_secp256r1_sha256_p1363_test.json")
        let p256 = try certificates("ecdsa_secp256r1_sha256_test.json", .p256, .sha256)
        let p384 = try certificates("ecdsa_secp384r1_sha384_test.json", .p384, .sha384)
        return token && p256 && p384
    }

    private func groups(_ file: String) throws -> [Group] {
        let data = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"))
        return try JSONDecoder().decode(File.self, from: data).testGroups
    }

    /// Signatures as in a JWS, in batches of several sizes and so at each index of a batch.
    private func tokens(_ file: String) throws -> Bool {
        var checks: [ES256Check] = []
        var tests: [Group.Test] = []
        var wrong = 0
        for group in try groups(file) {
            let key = PublicKey.ec(.p256, point: Self.octets(group.publicKey.uncompressed).span)!
            let tables = KeyTables(isEnabled: true)
            tables.note(key, held: Limits.keyTableUses)
            precondition(tables.buildPending() == 1)
            for test in group.tests {
                let digest = SHA256.digest(Self.octets(test.msg).span)
                guard let signature = ES256Signature(Self.octets(test.sig).span) else {
                    if test.result == "valid" { wrong += report(file, test) }
                    continue
                }
                checks.append(ES256Check(key: key, digest: digest, signature: signature))
                tests.append(test)
            }
        }
        let verifier = ES256BatchVerifier(tables: KeyTables(isEnabled: false))
        for size in 1...64 {
            for start in stride(from: 0, to: checks.count, by: size) {
                verifier.clear()
                verifier.checks = Array(checks[start..<min(start + size, checks.count)])
                verifier.verify()
                for (index, holds) in verifier.holds.enumerated()
                where holds != (tests[start + index].result == "valid") {
                    wrong += report(file, tests[start + index])
                }
            }
        }
        print("\(file): \(checks.count) signatures in batches of 1 to 64, \(wrong) wrong")
        return wrong == 0 && !checks.isEmpty
    }

    /// Signatures as in a certificate: DER.
    private func certificates(
        _ file: String, _ curve: SubjectPublicKey.Curve, _ digest: ECDSADigest
    ) throws -> Bool {
        var (count, wrong) = (0, 0)
        for group in try groups(file) {
            let point = Self.octets(group.publicKey.uncompressed)
            let keys = [PublicKey.ec(curve, point: point.span)!, .ec(curve, point: point.span)!]
            let tables = IssuerTables(.onRequest, engine: EngineInUse())
            tables.didPin(keys[0])
            precondition(tables.buildPending() == 1)
            for test in group.tests {
                for key in keys {
                    let holds = tables.verifies(
                        Self.octets(test.sig).span, over: Self.octets(test.msg).span,
                        digest: digest, by: key)
                    if holds != (test.result == "valid") { wrong += report(file, test) }
                }
                count += 1
            }
        }
        print("\(file): \(count) signatures, with a table and without, \(wrong) wrong")
        return wrong == 0 && count > 0
    }

    /// - Returns: 1, for a count.
    private func report(_ file: String, _ test: Group.Test) -> Int {
        print("\(file) \(test.tcId), \(test.result): \(test.comment)")
        return 1
    }

    private static func octets(_ hex: String) -> [UInt8] {
        let digits = hex.utf8.map { UInt8($0 < 58 ? $0 - 48 : $0 - 87) }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] * 16 + digits[$0 + 1] }
    }
}
