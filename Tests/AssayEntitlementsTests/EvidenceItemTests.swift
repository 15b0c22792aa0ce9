import AssayEntitlements
import AssayModels
import Testing

@Suite struct EvidenceItemTests {
    private static func verification(of account: String?) -> Verification {
        var payload = JWSTransactionDecodedPayload()
        payload.originalTransactionId = "470001"
        payload.appAccountToken = account
        return Verification(
            verdict: .valid, detail: "signed",
            evidence: .transaction(VerifiedPayload(payload, json: [])))
    }

    @Test("identifiers are those that the evidence names, or a server, which keeps the payload")
    func identifiers() {
        var item = EvidenceItem(Self.verification(of: "a"))
        #expect(item.identifiers.originalTransactionId == "470001")
        #expect(item.identifiers.appAccountToken == "a")
        item.verification.evidence = nil
        #expect(item.identifiers == EvidenceIdentifiers())
        item.identifiers.appAccountToken = "b"
        #expect(item.identifiers.appAccountToken == "b")
        item.verification = Self.verification(of: "c")
        #expect(item.identifiers.appAccountToken == "b")
    }

    @Test("equal items have the same label, verification and identifiers; a copy is its own")
    func equality() {
        let item = EvidenceItem(Self.verification(of: "a"), label: "one")
        #expect(item == EvidenceItem(Self.verification(of: "a"), label: "one"))
        #expect(item != EvidenceItem(Self.verification(of: "a"), label: "two"))
        #expect(item != EvidenceItem(Self.verification(of: "b"), label: "one"))
        #expect(
            item
                != EvidenceItem(
                    Self.verification(of: "a"), label: "one", identifiers: EvidenceIdentifiers()))
        var copy = item
        copy.verification.detail = "another"
        #expect(copy != item && item.verification.detail == "signed")
    }
}
