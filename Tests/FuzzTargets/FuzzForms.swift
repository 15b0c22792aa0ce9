import Assay
import AssayModels
import TestSupport

extension FuzzTarget {
    /// The form of any bytes. Invariants: the text is short and printable; a wrapper is opened to
    /// evidence that is none itself; a receipt has one answer, whatever the chunks it arrives in.
    static func evidenceForm(_ authority: FuzzAuthority) -> FuzzTarget {
        func genuine(_ kind: EvidenceKind) -> [UInt8] {
            authority.genuine.first { $0.kind == kind }?.bytes ?? []
        }
        let samples = FormSamples(
            transaction: genuine(.transaction), notification: genuine(.notification),
            realtimeRequest: genuine(.realtimeRequest), receipt: genuine(.appReceipt),
            transactionReceipt: Array(#"{"signature" = "AA==";"purchase-info" = "AA==";}"#.utf8))
        let seeds = FormCase.all(samples).map(\.bytes) + FormCase.wrappers(of: samples)
        return FuzzTarget("EvidenceForm", seeds: seeds, words: FormCase.words) { bytes in
            let form = EvidenceForm.detect(bytes)
            precondition(form.text.utf8.count < 1024, "a long text")
            precondition(
                form.text.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 },
                "a text with control characters")
            precondition(EvidenceForm.detect(bytes) == form, "the same bytes, another form")
            let kind = Verifier.likelyKind(of: bytes) ?? .transaction
            let answer = authority.verifier.verify(
                bytes, as: kind, policy: FuzzAuthority.policy, at: FuzzAuthority.now)
            authority.check(answer)
            precondition(
                answer.unwrapped == nil || bytes.count > 0 && bytes[0] == UInt8(ascii: "{"),
                "unwrapped from no object")
            let whole = authority.verifier.verify(
                bytes, as: .appReceipt, policy: FuzzAuthority.policy, at: FuzzAuthority.now)
            var stream = AppReceiptStream(authority.verifier, policy: FuzzAuthority.policy)
            let middle = bytes.count / 3
            stream.receive(bytes.extracting(0..<middle))
            stream.receive(bytes.extracting(middle..<bytes.count))
            precondition(
                stream.finish(at: FuzzAuthority.now) == whole, "the answer depends on chunks")
        }
    }
}
