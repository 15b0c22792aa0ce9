import Assay
import AssayMint
import AssayModels

/// Signs the receipts of a store's customers, and verifies them.
struct StoreReceipts: Sendable {
    let minter: ReceiptMinter
    private let verifier: Verifier

    init(_ ca: ReceiptCA) throws(MintError) {
        minter = ReceiptMinter(ca.chain)
        do throws(TrustStoreError) {
            let trust = try TrustStore.empty.pinning(ca.rootCertificate, development: false)
                .adding(intermediate: ca.intermediateCertificate)
            verifier = Verifier(trust: trust, keyTables: .never)
        } catch {
            throw .invalidMember(at: "the authority for receipts", reason: "can't be used")
        }
    }

    /// Verifies an app receipt or a transaction receipt of the store's app.
    func verify(
        _ evidence: [UInt8], bundleId: String, environments: [StoreEnvironment],
        at now: Timestamp
    ) -> Verification {
        var expectations = Expectations.none
        expectations.environments = environments
        return verifier.verify(
            evidence.span,
            as: Verifier.beginsLikeAppReceipt(evidence.span) ? .appReceipt : .transactionReceipt,
            policy: Policy(bundleId: bundleId, environments: [.production, .sandbox]),
            expecting: expectations, at: now)
    }
}
