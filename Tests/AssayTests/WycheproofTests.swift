import Assay
import Foundation
import TestSupport
import Testing

/// Project Wycheproof's ECDSA vectors. The answer must be their `result`.
@Suite struct WycheproofTests {
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

    /// - Parameter hasTables: In a debug build a key's table takes seconds. So only the key with
    ///   the most tests has one there, and some of those with a few. `bench/run differential` tests
    ///   them all.
    private func groups(_ name: String, hasTables: Bool) throws -> [Group] {
        let bytes = try #require(Vectors.bytes("wycheproof/\(name)"))
        let groups = try JSONDecoder().decode(File.self, from: Data(bytes)).testGroups
        #if DEBUG
            guard hasTables else { return groups }
            let sorted = groups.sorted { $0.tests.count > $1.tests.count }
            return sorted.indices.filter { $0 % 24 == 0 }.map { sorted[$0] }
        #else
            return groups
        #endif
    }

    /// The path of certificate signatures: DER, over the message, by EVP and by a key's table.
    @Test(
        .enabled(if: Vectors.has("wycheproof")),
        arguments: [
            (file: "ecdsa_secp256r1_sha256_test.json", curve: SubjectPublicKey.Curve.p256),
            (file: "ecdsa_secp384r1_sha384_test.json", curve: .p384),
        ], [false, true])
    func certificateSignatures(
        _ each: (file: String, curve: SubjectPublicKey.Curve), hasTable: Bool
    ) throws {
        let (file, curve) = each
        var (valid, invalid) = (0, 0)
        let digest: ECDSADigest = file.contains("sha384") ? .sha384 : .sha256
        for group in try groups(file, hasTables: hasTable) {
            let point = P256Forge.octets(group.publicKey.uncompressed)
            guard let key = PublicKey.ec(curve, point: point.span) else {
                Issue.record("\(file): a key that is not a point")
                continue
            }
            let engine = EngineInUse(hasTable ? .portable : .openssl)
            let tables = IssuerTables(.onRequest, engine: engine)
            tables.didPin(key)
            #expect(tables.buildPending() == (hasTable ? 1 : 0))
            for test in group.tests {
                let holds = tables.verifies(
                    P256Forge.octets(test.sig).span, over: P256Forge.octets(test.msg).span,
                    digest: digest, by: key)
                #expect(
                    holds == (test.result == "valid"), "\(file) \(test.tcId): \(test.comment)")
                if holds { valid += 1 } else { invalid += 1 }
            }
        }
        try Vectors.report(
            "\(file)\(hasTable ? ", tables" : ""): \(valid) valid, \(invalid) invalid",
            valid + invalid)
    }

    /// The path of JWS signatures: r ‖ s, in batches, with tables for all keys, some or none.
    @Test(.enabled(if: Vectors.has("wycheproof")), arguments: Batches.engines)
    func batches(engine: SignatureEngine) throws {
        let file = "ecdsa_secp256r1_sha256_p1363_test.json"
        for (tables, every) in [("no table", Int.max), ("tables", 1), ("some keys", 24)] {
            let groups = try groups(file, hasTables: every == 1)
            var checks: [ES256Check] = []
            var tests: [Group.Test] = []
            var refusedByForm = 0
            for (index, group) in groups.enumerated() {
                let point = P256Forge.octets(group.publicKey.uncompressed)
                let hasTable = index % every == 0 && every < Int.max
                let key = Batches.key(point, engine: hasTable ? engine : nil)
                for test in group.tests {
                    let digest = SHA256.digest(P256Forge.octets(test.msg).span)
                    guard let signature = ES256Signature(P256Forge.octets(test.sig).span) else {
                        #expect(test.result == "invalid", "\(test.tcId): \(test.comment)")
                        refusedByForm += 1
                        continue
                    }
                    checks.append(ES256Check(key: key, digest: digest, signature: signature))
                    tests.append(test)
                }
            }
            let verifier = Batches.verifier(engine)
            // Batches of eight begin at eight indices, so that each signature comes to each index.
            let sizes = [1, 2, 3, 7, 64, checks.count].map { (size: $0, first: 0) }
            for (size, first) in sizes + (0..<8).map({ (size: 8, first: $0) }) where size > 0 {
                for start in stride(from: first, to: checks.count, by: size) {
                    let range = start..<min(start + size, checks.count)
                    let holds = Batches.holds(Array(checks[range]), by: verifier)
                    for index in range {
                        #expect(
                            holds[index - start] == (tests[index].result == "valid"),
                            "\(tests[index].tcId): \(tests[index].comment), \(tables), \(size)")
                    }
                }
            }
            try Vectors.report(
                "\(file), \(engine), \(tables): \(refusedByForm) refused by form",
                checks.count + refusedByForm)
        }
    }
}
