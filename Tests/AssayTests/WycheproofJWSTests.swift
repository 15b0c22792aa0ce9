@testable import Assay
import AssayModels
import Foundation
import TestSupport
import Testing

/// Project Wycheproof's JSON Web Signature vectors. None of them has a chain in x5c, so none may
/// ever be VALID; those of ES256 also go, step by step, through what a token's signature goes
/// through here, and there their `result` is what we must answer.
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

    /// Segments, encodings, algorithm, range and signature, under a given key.
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
            let batch = ES256BatchVerifier(tables: KeyTables(isEnabled: true))
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
            // A key's `use` is what a JWK says of itself; the verifier reads none.
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

    /// Of the group on base64url the two that Wycheproof leaves to a decoder that passes over
    /// foreign characters are refused as well.
    @Test(.enabled(if: Vectors.has("wycheproof")))
    func base64() throws {
        var count = 0
        for group in try groups() where group.comment == "base64" {
            for test in group.tests {
                let decodes = test.jws.split(separator: ".").allSatisfy {
                    (try? octets(String($0))) != nil
                }
                let foreign = test.comment.hasPrefix("InvalidCharacterInserted")
                // Two more have lost the padding that is wrong with them: what is left decodes.
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
