import Assay
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Helpers that the suites of hostile receipts share.
enum HostileReceipts {
    private typealias Minted = MintedReceipts
    typealias Change = (inout SignedDataBuilder) -> Void

    /// Returns the verdict on the whole receipt. Expects the same answer byte by byte for
    /// receipts below 100,000 bytes.
    static func verdict(
        _ bytes: [UInt8], _ verifier: Verifier? = nil, policy: Policy = Minted.policy
    ) throws -> Verdict {
        let verifier = try verifier ?? Minted.verifier()
        let whole = verifier.verify(bytes.span, as: .appReceipt, policy: policy, at: Minted.now)
        #expect((whole.evidence != nil) == (whole.verdict == .valid))
        ExplanationAgreement.expect(
            bytes, as: .appReceipt, trust: verifier.trust, policy: policy, at: Minted.now,
            explains: whole)
        if bytes.count < 100_000 {
            var stream = AppReceiptStream(verifier, policy: policy)
            for byte in bytes { stream.receive([byte].span) }
            #expect(stream.finish(at: Minted.now) == whole)
        }
        return whole.verdict
    }

    static func minter(
        _ digest: ReceiptDigest = .sha256, _ encoding: ReceiptMinter.Encoding = .der
    ) throws -> ReceiptMinter {
        ReceiptMinter(try Minted.ca.get().chain, digest: digest, encoding: encoding)
    }

    static func verdict(
        _ encoding: ReceiptMinter.Encoding = .der, changing change: Change
    ) throws -> Verdict {
        let payload = Minted.sample().payload
        return try verdict(try minter(.sha256, encoding).sign(payload, changing: change))
    }

    /// Signs the payload as it is and returns the verdict.
    static func verdict(payload: [UInt8]) throws -> Verdict {
        try verdict(try minter().sign(payload))
    }

    static func algorithm(_ oid: String, null: Bool = true) -> [UInt8] {
        SigningAlgorithm(oid: oid, null: null, digest: .sha256).der
    }
}
