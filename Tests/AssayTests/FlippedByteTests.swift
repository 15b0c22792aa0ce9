import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// One changed bit anywhere. The same token with the wrong root, bundle or environment, and with
/// each of its bytes changed.
@Suite struct FlippedByteTests {
    /// A changed bit of the header can be in a certificate. Then the chain is invalid.
    private static let header: Set<Verdict> = [
        .malformed, .invalidSignature, .invalidChain, .untrustedChain, .unsupportedAlgorithm,
        .wrongCertificatePurpose, .certificateExpired,
    ]
    /// A changed bit of the payload can be in its date, which is checked before the signature.
    private static let payload: Set<Verdict> = [
        .malformed, .invalidSignature, .invalidDate, .certificateExpired,
    ]
    private static let signature: Set<Verdict> = [.malformed, .invalidSignature]

    private func flip(
        _ token: [UInt8], masks: [UInt8], step: Int, _ verify: ([UInt8]) -> Verification
    ) -> Int {
        var count = 0
        let sizes = Fixture.segments(token).map(\.count)
        for position in stride(from: 0, to: token.count, by: step) {
            let allowed: Set<Verdict> =
                position == sizes[0] || position == sizes[0] + sizes[1] + 1
                ? [.malformed]
                : position < sizes[0]
                    ? Self.header
                    : position < sizes[0] + sizes[1] + 1 ? Self.payload : Self.signature
            for mask in masks {
                var flipped = token
                flipped[position] ^= mask
                let answer = verify(flipped)
                #expect(
                    allowed.contains(answer.verdict), "\(position): \(answer.verdict.name)")
                #expect(answer.evidence == nil)
                count += 1
            }
        }
        return count
    }

    @Test("one flipped byte in each segment of a minted token", .timeLimit(.minutes(2)))
    func minted() {
        let token = Fixture.token()
        let count = flip(token, masks: [0x01, 0x20], step: 3) { Fixture.verify($0) }
        #expect(count > 2000)
    }

    @Test(
        "one flipped byte in the genuine notification",
        .enabled(if: Vectors.has("apple-jws")),
        .timeLimit(.minutes(2)))
    func genuine() throws {
        let token = try #require(
            Vectors.bytes("apple-jws/notification-test-sandbox-2025.jws"))
        let verifier = Verifier(trust: .apple)
        let policy = Policy(
            bundleId: "com.loki-project.loki-messenger", environments: [.sandbox])
        let count = flip(token, masks: [0x02], step: 5) {
            verifier.verify(
                $0.span, as: .notification, policy: policy, at: AppleEvidenceTests.now)
        }
        try Vectors.report("flipped bytes of the genuine notification", count)
    }

    @Test("a token truncated at any byte", .timeLimit(.minutes(2)))
    func truncated() {
        let token = Fixture.token()
        for end in stride(from: 0, to: token.count, by: 7) {
            let answer = Fixture.verify(Array(token[..<end]))
            #expect([.malformed, .invalidSignature].contains(answer.verdict), "\(end)")
        }
    }

    @Test("wrong root, bundle, environment")
    func wrongPolicy() {
        let token = Fixture.token()
        Fixture.expect(Fixture.verify(token), .valid)
        for trust in [TrustStore.apple, .empty, Fixture.trust(Fixture.foreignCA.rootCertificate)] {
            Fixture.expect(Fixture.verify(token, by: Verifier(trust: trust)), .untrustedChain)
        }
        let bundle = Policy(bundleId: "com.example.other", environments: [.production])
        Fixture.expect(Fixture.verify(token, policy: bundle), .wrongBundle)
        let sandbox = Policy(bundleId: Fixture.bundle, environments: [.sandbox])
        let answer = Fixture.verify(token, policy: sandbox)
        Fixture.expect(answer, .wrongEnvironment)
        // The signature held, so the refusal has the environment, deduplication key and
        // certificate, but no payload.
        #expect(answer.environment == .production && answer.dedupKey != nil)
        #expect(answer.certificate != nil && answer.evidence == nil)
        let forged = Fixture.verify(Fixture.token(signature: { $0[0] ^= 1 }))
        #expect(forged.environment == nil && forged.dedupKey == nil && forged.certificate == nil)
    }
}
