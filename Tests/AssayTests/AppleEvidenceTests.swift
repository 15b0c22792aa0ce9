import Assay
import AssayModels
import TestSupport
import Testing

/// Evidence that Apple or the test CA of Apple's libraries signed.
@Suite struct AppleEvidenceTests {
    /// 2026-11-21, long after the genuine notification's leaf expired.
    static let now = Timestamp(milliseconds: 1_795_219_200_000)

    @Test(.enabled(if: Vectors.has("apple-jws")))
    func genuineNotification() throws {
        let token = try #require(
            Vectors.bytes("apple-jws/notification-test-sandbox-2025.jws"))
        let verifier = Verifier(trust: .apple)
        func verify(_ environments: Set<StoreEnvironment>, bundle: String?) -> Verification {
            verifier.verify(
                token.span, as: .notification,
                policy: Policy(bundleId: bundle, environments: environments), at: Self.now)
        }
        let bundle = "com.loki-project.loki-messenger"
        let answer = verify([.sandbox], bundle: bundle)
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(answer.environment == .sandbox)
        #expect(answer.certificate?.expired == true)
        guard case .notification(let notification) = answer.evidence else {
            Issue.record("no notification")
            return
        }
        #expect(notification.notification.payload.notificationType == .test)
        #expect(verify([.production], bundle: bundle).verdict == .wrongEnvironment)
        #expect(verify([.sandbox], bundle: "com.loki-project").verdict == .wrongBundle)
        try Vectors.report("genuine notification", 1)
    }

    /// Verifies often enough for the key to qualify for a table, in each KeyTableBuilding mode.
    @Test(
        .enabled(if: Vectors.has("apple-jws")),
        arguments: [KeyTableBuilding.never, .withSignatures, .onRequest])
    func genuineNotificationRepeatedly(building: KeyTableBuilding) throws {
        let token = try #require(
            Vectors.bytes("apple-jws/notification-test-sandbox-2025.jws"))
        let verifier = Verifier(trust: .apple, keyTables: building)
        let policy = Policy(bundleId: nil, environments: [.sandbox])
        // Changes a digit in the middle of the last signature.
        var damaged = token
        damaged[token.count - 40] = token[token.count - 40] == 0x41 ? 0x42 : 0x41
        let batch = [token, damaged, token, token].map {
            verifier.prepare($0.span, as: .notification, policy: policy, at: Self.now)
        }
        var built = 0
        for round in 0..<300 {
            var verified = batch
            verifier.verifySignatures(&verified)
            let verdicts = verified.map(\.verification.verdict)
            #expect(
                verdicts == [.valid, .invalidSignature, .valid, .valid], "\(building) \(round)")
            if verifier.hasPendingTokenKeyTables {
                built += verifier.buildPendingTokenKeyTables()
            }
        }
        #expect(built == (building == .onRequest ? 1 : 0))
    }
}
