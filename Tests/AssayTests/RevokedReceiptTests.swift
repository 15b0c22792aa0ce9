import AssayMint
import AssayModels
import Testing

@testable import Assay

/// Statuses of the certificates of receipts, with RSA signatures.
@Suite struct RevokedReceiptTests {
    private static func response(
        _ certificate: [UInt8], under issuer: IssuedCertificate, _ name: DistinguishedName,
        _ state: OCSPResponseBuilder.State, _ algorithm: SigningAlgorithm
    ) throws -> [UInt8] {
        let parsed = try Certificate(der: certificate)
        let now = MintedReceipts.now
        let single = OCSPResponseBuilder.Single(
            id: OCSPResponseBuilder.certificateID(
                issuerName: name, issuerKey: issuer.key,
                serial: Array(parsed.der[parsed.serialNumber])),
            state: state, thisUpdate: now, nextUpdate: now.advanced(by: 3_600_000))
        return try OCSPResponseBuilder(
            [single], producedAt: now, signatureAlgorithm: algorithm
        ).signed(by: issuer.key)
    }

    @Test(
        "receipts of RSA chains are checked, in any size of the search for the chain",
        arguments: [
            SigningAlgorithm.sha1WithRSA, .sha256WithRSA,
        ])
    func receipts(algorithm: SigningAlgorithm) throws {
        let ca = try MintedReceipts.ca.get()
        let receipt = try ReceiptMinter(ca.chain).sign(MintedReceipts.sample().payload)
        let root = IssuedCertificate(der: ca.rootCertificate, key: ca.rootKey!)
        let issuer = IssuedCertificate(der: ca.intermediateCertificate, key: ca.intermediateKey!)
        let store = RevocationStatuses()
        let verifier = Verifier(
            trust: try TrustStore.apple.pinning(ca.rootCertificate, development: true),
            keyTables: .never, revocation: store)
        var policy = MintedReceipts.policy
        func verify(_ revocation: RevocationPolicy) -> Verification {
            policy.revocation = revocation
            return verifier.verify(
                receipt.span, as: .appReceipt, policy: policy, at: MintedReceipts.now)
        }
        let hard = RevocationPolicy.hard(maximumAge: .seconds(3600))
        #expect(verify(.off).verdict == .valid)
        #expect(verify(.soft).verdict == .valid && verify(.soft).detail.contains("is unknown"))
        #expect(verify(hard).verdict == .certificateRevoked)
        func add(_ name: String, _ state: OCSPResponseBuilder.State) throws {
            let isLeaf = name == "leaf"
            try store.add(
                Self.response(
                    isLeaf ? ca.leafCertificate : ca.intermediateCertificate,
                    under: isLeaf ? issuer : root,
                    isLeaf ? ReceiptCA.intermediateName : ReceiptCA.rootName, state, algorithm),
                named: name, at: MintedReceipts.now)
        }
        try add("leaf", .good)
        try add("intermediate", .good)
        #expect(verify(hard).verdict == .valid)
        #expect(!verify(.soft).detail.contains("revocation"))
        try add("intermediate", .revoked(at: MintedReceipts.now, reason: nil))
        #expect(verify(.soft).verdict == .certificateRevoked)
        #expect(verify(.off).verdict == .valid)
        #expect(verify(.soft).detail.contains("the intermediate"))
        // Later than the receipt.
        try add("intermediate", .revoked(at: MintedReceipts.now.advanced(by: 1000), reason: 4))
        #expect(verify(hard).verdict == .valid)
        try add("intermediate", .revoked(at: MintedReceipts.now.advanced(by: 1000), reason: 2))
        #expect(verify(hard).verdict == .certificateRevoked)
    }
}
