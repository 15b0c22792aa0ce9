import Assay
import AssayCurves
import Testing

@Suite struct SignatureEngineTests {
    /// The vector engine is used exactly where the processor has it.
    @Test func best() {
        let hasVectors = P256Verification.Arithmetic.vectors.isSupported
        #expect(SignatureEngine.ifma.isSupported == hasVectors)
        #expect(SignatureEngine.best == (hasVectors ? .ifma : .portable))
    }

    /// OpenSSL alone: no key gets a table, whatever is asked for.
    @Test func openSSLHasNoTables() {
        let tables = KeyTables(isEnabled: true, engine: .openssl)
        let forge = P256Forge()
        let key = PublicKey.ec(.p256, point: forge.publicKey(P256Forge.number(5)).span)!
        tables.note(key, held: Limits.keyTableUses)
        #expect(!tables.hasPending)
        let others = KeyTables(isEnabled: true, engine: .portable)
        others.note(key, held: Limits.keyTableUses)
        #expect(others.buildPending() == 1)
    }
}
