@testable import Assay
import AssayBytes
import AssayModels
import Foundation
import TestSupport
import Testing

/// Project Wycheproof's JSON Web Signature vectors. None has a chain in x5c, so none is ever
/// VALID. The ES256 vectors also go through each step that a token's signature takes here, and
/// must give their `result`.
@Suite struct WycheproofJWSTests {
    private struct File: Decodable {
        let testGroups: [Group]
    }
    private struct Group: Decodable {
        struct Key: Decodable {
            let crv: String?
            let x: String?
            let y: String?
            let use: String?
            let alg: String?
        }
        struct Test: Decodable {
            let tcId: Int
            let comment: String
            let jws: String
            let result: String
        }
        let comment: String
        let `public`: Key?
        let tests: [Test]
    }

    private func groups() throws -> [Group] {
        let bytes = try #require(Vectors.bytes("wycheproof/json_web_signature_test.json"))
        return try JSONDecoder().decode(File.self, from: Data(bytes)).testGroups
    }

    private func octets(_ text: String) throws -> [UInt8] {
        let text = Array(text.utf8)
        return try Base64URL.decode(text.span)
    }

    /// Checks segments, encodings, algorithm, range and signature, under a given key.
    private func accepts(_ jws: String, _ key: PublicKey) -> Bool {
        let token = Array(jws.utf8)
        let span = token.span
        do {
            let segments = try JWSSegments(span)
            let text = try Base64URL.segment(span.extracting(segments.header), named: "header")
            let header = try JSONDocument.payload(text, named: "header")
            _ = try Base64URL.segment(span.extracting(segments.payload), named: "payload")
            let signature = try Base64URL.segment(
                span.extracting(segments.signature), named: "signature")
            guard header.root["alg"]?.string == "ES256",
                let numbers = ES256Signature(signature.span)
            else { return false }
            let digest = SHA256.digest(span.extracting(0..<segments.payload.upperBound))
            let check = ES256Check(key: key, digest: digest, signature: numbers)
            let batch = ES256BatchVerifier(
                tables: KeyTables(isEnabled: true, engine: .bestWithTables))
            batch.checks = [check]
            batch.verify()
            return batch.holds[0]
        } catch {
            return false
        }
    }

    @Test(.enabled(if: Vectors.has("wycheproof")))
    func es256() throws {
        var (valid, invalid) = (0, 0)
        for group in try groups() {
            // `use` is a JWK's own description of its key; the verifier does not read it.
            guard let key = group.public, key.crv == "P-256", key.alg == "ES256" else { continue }
            let point = try [4] + octets(key.x ?? "") + octets(key.y ?? "")
            guard let publicKey = PublicKey.ec(.p256, point: point.span) else {
                Issue.record("no point")
                continue
            }
            for test in group.tests {
                let accepted = accepts(test.jws, publicKey)
                #expect(accepted == (test.result == "valid"), "\(test.tcId): \(test.comment)")
                if accepted { valid += 1 } else { invalid += 1 }
            }
        }
        try Vectors.report("Wycheproof ES256 JWS, \(valid) valid", valid + invalid)
    }

    /// The base64url group. Also rejects the two vectors with foreign characters, which
    /// Wycheproof lets a decoder skip.
    @Test(.enabled(if: Vectors.has("wycheproof")))
    func base64() throws {
        var count = 0
        for group in try groups() where group.comment == "base64" {
            for test in group.tests {
                let decodes = test.jws.split(separator: ".").allSatisfy {
                    (try? octets(String($0))) != nil
                }
                let foreign = test.comment.hasPrefix("InvalidCharacterInserted")
                // Two more vectors lack the invalid padding that they describe, so they decode.
                let unpadded = test.comment.hasPrefix("invalidBase64Padding")
                let wellFormed = test.result == "valid" && !foreign || unpadded
                #expect(decodes == wellFormed, "\(test.tcId): \(test.comment)")
                count += 1
            }
        }
        try Vectors.report("Wycheproof base64 JWS", count)
    }

    @Test(.enabled(if: Vectors.has("wycheproof")))
    func noneIsEverValid() throws {
        var count = 0
        let verifiers = [Fixture.verifier, Verifier(trust: .apple), Verifier(trust: .empty)]
        let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))
        for group in try groups() {
            for test in group.tests {
                let token = Array(test.jws.utf8)
                for kind in EvidenceKind.allCases {
                    for verifier in verifiers {
                        let answer = Fixture.verify(token, as: kind, policy: policy, by: verifier)
                        #expect(answer.verdict != .valid, "\(test.tcId)")
                    }
                }
                count += 1
            }
        }
        try Vectors.report("Wycheproof JWS", count)
    }
}
