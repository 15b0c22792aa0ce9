import AssayBytes
import AssayCurves
import Foundation
import Testing

@testable import Assay

@Suite struct SignatureEngineTests {
    /// An engine of vectors is used exactly where the processor has it, and the larger vectors
    /// first, unless the tests run with another one.
    @Test func best() {
        let hasVectors = P256Verification.Arithmetic.ifma.isSupported
        let hasPairs = P256Verification.Arithmetic.avx2.isSupported
        let hasNeon = P256Verification.Arithmetic.neon.isSupported
        #expect(SignatureEngine.ifma.isSupported == hasVectors)
        #expect(SignatureEngine.avx2.isSupported == hasPairs)
        #expect(SignatureEngine.neon.isSupported == hasNeon && !(hasNeon && hasPairs))
        #expect(SignatureEngine.portable.isSupported && SignatureEngine.openssl.isSupported)
        let chosen = ProcessInfo.processInfo.environment["ASSAY_TEST_ENGINE"]
        let fastest: SignatureEngine =
            hasVectors ? .ifma : hasPairs ? .avx2 : hasNeon ? .neon : .portable
        #expect(SignatureEngine.best.rawValue == chosen ?? fastest.rawValue)
    }

    /// An engine that gives all answers but one must fail, whichever it is: in a batch or alone.
    @Test("The self-test sees one wrong answer")
    func selfTest() {
        let opposite: [P256Verification.Outcome: P256Verification.Outcome] =
            [.holds: .fails, .fails: .holds]
        var asked: Set<Int> = []
        func passes(wrongAt wrong: (Int, Int)?, of count: Int) -> Bool {
            var calls = 0
            return SignatureEngine.givesExpected { samples in
                asked.insert(samples.count)
                var outcomes = samples.map(\.expected)
                if samples.count == count {
                    if let wrong, wrong.0 == calls {
                        outcomes[wrong.1] = opposite[outcomes[wrong.1]]!
                    }
                    calls += 1
                }
                return outcomes
            }
        }
        #expect(passes(wrongAt: nil, of: 1))
        #expect(asked == [1, 16])
        for batch in 0..<2 {
            for index in 0..<16 { #expect(!passes(wrongAt: (batch, index), of: 16)) }
        }
        for call in 0..<32 { #expect(!passes(wrongAt: (call, 0), of: 1)) }
        #expect(!SignatureEngine.givesExpected { $0.map { _ in .undecided } })
    }

    @Test("The self-test of P-384 sees one wrong answer")
    func selfTest384() {
        func passes(wrongAt wrong: Int?) -> Bool {
            var calls = -1
            return SignatureEngine.givesExpected384 { _, _, _ in
                calls += 1
                return (calls == 0) != (calls == wrong)
            }
        }
        #expect(passes(wrongAt: nil))
        for call in 0..<4 { #expect(!passes(wrongAt: call)) }
        #expect(!SignatureEngine.givesExpected384 { _, _, _ in nil })
    }

    @Test(
        "Each engine has tables of its own, and OpenSSL none",
        arguments: Batches.engines + [.openssl])
    func tables(engine: SignatureEngine) throws {
        let key = PublicKey.ec(.p256, point: P256Forge().publicKey(P256Forge.number(5)).span)!
        let tables = KeyTables(isEnabled: true, engine: engine)
        tables.note(key, held: Limits.keyTableUses)
        #expect(tables.buildPending() == (engine == .openssl ? 0 : 1))
        #expect(key.table?.arithmetic == engine.arithmetic)
    }

    @Test("A key of P-384 gets no table for tokens")
    func otherCurve() throws {
        let slot = try #require(KeyTableSlot.take(of: KeyTableCount()))
        let point = P384.generator
        let octets = [4] + point.x.number.bigEndian + point.y.number.bigEndian
        let key = PublicKey.ec(.p384, point: octets.span)!
        #expect(KeyTable(key, engine: .portable, slot: slot) == nil)
    }
}
