import AssayMint

/// Uses the product AssayMint alone.
enum MintProduct {
    /// Returns the root of a new authority, a transaction and a notification that it signed, and a
    /// receipt with its root.
    static func evidence(at milliseconds: Int64) throws(MintError) -> MintedEvidence {
        let now = Timestamp(milliseconds: milliseconds)
        let authority: DevelopmentCA = try .make(at: now)
        let chain: SigningChain = authority.chain
        let minter = Minter(chain)
        let receipts: ReceiptCA = try .make(at: now)
        let sample = ReceiptSample(
            bundleId: MintedEvidence.bundleId, appAppleId: 1, environment: .production,
            creationDate: now)
        return MintedEvidence(
            root: authority.rootCertificate, receiptRoot: receipts.rootCertificate,
            transaction: try minter.mint(
                .transaction, index: 1, bundleId: MintedEvidence.bundleId, appAppleId: 1,
                environment: .production, signedDate: now),
            receipt: try ReceiptMinter(receipts.chain).sign(sample.payload))
    }
}

struct MintedEvidence: Sendable {
    static let bundleId = "com.example.game"
    let root: [UInt8]
    let receiptRoot: [UInt8]
    let transaction: [UInt8]
    let receipt: [UInt8]
}
