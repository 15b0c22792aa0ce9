import Assay
import AssayMint
import AssayModels
import Testing

/// Helpers for the suites of hostile tokens.
protocol HostileTokens {}

extension HostileTokens {
    func expect(
        _ token: [UInt8], _ verdicts: Verdict..., as kind: EvidenceKind = .transaction,
        comment: String = "", at location: SourceLocation = #_sourceLocation
    ) {
        Fixture.expect(
            Fixture.verify(token, as: kind), oneOf: verdicts, comment: comment, at: location)
    }

    /// Expects a verdict on a genuine payload that is signed under the chain.
    func expect(
        _ chain: SigningChain, _ verdicts: Verdict..., signed: Timestamp = Fixture.now,
        by verifier: Verifier = Fixture.verifier, comment: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        let token = Fixture.token(Fixture.payload(signed: signed), chain)
        Fixture.expect(
            Fixture.verify(token, by: verifier), oneOf: verdicts, comment: comment, at: location)
    }

    /// Makes a chain of any certificates with the genuine leaf's key.
    func chain(_ certificates: [[UInt8]]) -> SigningChain {
        SigningChain(certificates: certificates, key: Fixture.ca.leafKey)
    }

    var genuine: (leaf: [UInt8], intermediate: [UInt8], root: [UInt8]) {
        let ca = Fixture.ca
        return (ca.leafCertificate, ca.intermediateCertificate, ca.rootCertificate)
    }
}
