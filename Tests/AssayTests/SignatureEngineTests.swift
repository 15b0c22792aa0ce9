import Assay
import AssayCurves
import Foundation
import Testing

@Suite struct SignatureEngineTests {
    /// The vector engine is used exactly where the processor has it, unless the tests run with
    /// another one.
    @Test func best() {
        let hasVectors = P256Verification.Arithmetic.vectors.isSupported
        #expect(SignatureEngine.ifma.isSupported == hasVectors)
        let chosen = ProcessInfo.processInfo.environment["ASSAY_TEST_ENGINE"]
        let fastest: SignatureEngine = hasVectors ? .ifma : .portable
        #expect(SignatureEngine.best.rawValue == chosen ?? fastest.rawValue)
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
