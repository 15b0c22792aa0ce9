import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Evidence that does not name its own statement, as the first tokens of 2021.
@Suite("Keys of evidence without a date or an id") struct UndatedEvidenceTests {
    private typealias Minted = MintedReceipts

    @Test("evidence without a date or an id has a key of what was signed")
    func undated() throws {
        let kinds: [(kind: EvidenceKind, missing: KeyValuePairs<String, String?>)] = [
            (.transaction, ["signedDate": nil]), (.renewalInfo, ["signedDate": nil]),
            (.appTransaction, ["receiptCreationDate": nil, "signedDate": nil]),
            (.appTransaction, ["appTransactionId": nil, "deviceVerificationNonce": nil]),
        ]
        var keys: Set<String> = []
        for (kind, missing) in kinds {
            let payload = Fixture.change(Fixture.payload(kind), missing)
            let other = Fixture.change(payload, ["aMemberOfTomorrow": "1"])
            for content in [payload, other] {
                let once = Fixture.verify(Fixture.token(content), as: kind)
                Fixture.expect(once, .valid)
                let key = try #require(once.evidenceKey, "\(kind)")
                let digest = SHA256.digest(content.span).text
                #expect(key == "Production/\(Self.bundle(of: kind))/\(kind.name)/\(digest)")
                // ECDSA signs the same content otherwise each time.
                #expect(Fixture.verify(Fixture.token(content), as: kind).evidenceKey == key)
                keys.insert(key)
            }
        }
        #expect(keys.count == 2 * kinds.count)
        let refused = Fixture.verify(
            Fixture.token(Fixture.payload(changing: ["signedDate": nil])),
            policy: Policy(bundleId: "com.example.other"))
        Fixture.expect(refused, .wrongBundle)
        #expect(refused.evidenceKey != nil)
    }

    /// Renewal information names no app.
    private static func bundle(of kind: EvidenceKind) -> String {
        kind == .renewalInfo ? "-" : Fixture.bundle
    }

    @Test("receipts without a date or an id have a key of what was signed")
    func undatedReceipts() throws {
        func old(_ changes: [String: String?]) throws -> Verification {
            var receipt = MintedTransactionReceipt(
                leaf: try MintedRSA.leaf(), key: MintedRSA.leafKey)
            receipt.purchaseInfo = MintedTransactionReceipt.purchaseInfo(
                changes.merging(["transaction-id": nil]) { $1 })
            let trust = try MintedRSA.trust(intermediates: [MintedRSA.intermediate()])
            let text = try receipt.text
            return Verifier(trust: trust).verify(
                text.span, as: .transactionReceipt,
                policy: Policy(bundleId: nil, environments: [.unspecified]), at: Minted.now)
        }
        let (one, same, other) = try (old([:]), old([:]), old(["quantity": "2"]))
        #expect(one.verdict == .valid, "\(one.detail)")
        #expect(one.evidenceKey?.contains("/transaction-receipt/") == true)
        #expect(one.evidenceKey == same.evidenceKey && one.evidenceKey != other.evidenceKey)
        func receipt(leavingOut type: Int64, seed: UInt64) throws -> Verification {
            var sample = ReceiptSample(
                bundleId: Minted.bundleId, environment: .production, creationDate: Minted.now)
            sample.seed = seed
            var payload = ReceiptPayload()
            for attribute in sample.attributes where attribute.type != type {
                payload.append(attribute)
            }
            let receipt = try ReceiptMinter(Minted.ca.get().chain).sign(payload.bytes)
            let trust = try TrustStore.empty.pinning(
                Minted.ca.get().rootCertificate, development: false)
            return Verifier(trust: trust).verify(
                receipt.span, as: .appReceipt,
                policy: Policy(bundleId: nil, environments: [.production]), at: Minted.now)
        }
        // 5 is the digest that binds to a device, 12 the date of the creation.
        for type: Int64 in [5, 12] {
            let (one, same) = try (
                receipt(leavingOut: type, seed: 1), receipt(leavingOut: type, seed: 1)
            )
            let other = try receipt(leavingOut: type, seed: 2)
            #expect(one.verdict == .valid, "\(one.detail)")
            #expect(one.evidenceKey?.contains("/app-receipt/") == true)
            #expect(one.evidenceKey == same.evidenceKey && one.evidenceKey != other.evidenceKey)
        }
    }
}
