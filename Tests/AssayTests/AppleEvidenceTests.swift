import Assay
import AssayModels
import TestSupport
import Testing

/// Evidence that Apple, or the test CA of Apple's libraries, really signed.
@Suite struct AppleEvidenceTests {
    /// 2026-11-21, when the genuine notification's leaf has long expired.
    static let now = Timestamp(milliseconds: 1_795_219_200_000)

    @Test func theGenuineNotification() throws {
        guard let token = Vectors.bytes("apple-jws/notification-test-sandbox-2025.jws") else {
            return Vectors.report("genuine notification", 0)
        }
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
        Vectors.report("genuine notification", 1)
    }
}
