import AssayBytes
import AssayCurves
import Foundation
import Testing

@testable import Assay

@Suite struct SignatureEngineTests {
    /// An engine of vectors is used exactly where the processor has it, and the larger vectors
    /// first, unless the tests run with another one.
    @Test func best() {
        let hasVectors = P256Verification.Arithmetic.vectors.isSupported
        let hasPairs = P256Verification.Arithmetic.pairs.isSupported
        #expect(SignatureEngine.ifma.isSupported == hasVectors)
        #expect(SignatureEngine.avx2.isSupported == hasPairs)
        #expect(SignatureEngine.portable.isSupported && SignatureEngine.openssl.isSupported)
        let chosen = ProcessInfo.processInfo.environment["ASSAY_TEST_ENGINE"]
        let fastest: SignatureEngine = hasVectors ? .ifma : hasPairs ? .avx2 : .portable
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
            for place in 0..<16 { #expect(!passes(wrongAt: (batch, place), of: 16)) }
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

    /// A table for one engine, and none for a point that is not on the curve.
    @Test("Each engine has tables of its own", arguments: Batches.engines)
    func tables(engine: SignatureEngine) throws {
        let forge = P256Forge()
        let tables = KeyTables(isEnabled: true, engine: engine)
        let key = PublicKey.ec(.p256, point: forge.publicKey(P256Forge.number(5)).span)!
        tables.note(key, held: Limits.keyTableUses)
        #expect(tables.buildPending() == 1)
        switch try #require(key.table).points {
        case .own: #expect(engine != .openssl)
        case .openssl: #expect(engine == .openssl)
        }
    }

    @Test("OpenSSL's table needs a point on the curve")
    func noPoint() {
        let point = P256Forge().publicKey(P256Forge.number(5))
        let other = point.dropLast() + [point[64] ^ 1]
        for (octets, isPoint) in [(point, true), (Array(other), false), ([], false)] {
            let table = OpenSSLTable(uncompressed: octets.span)
            #expect((table != nil) == isPoint)
        }
    }

    @Test("OpenSSL's table is compared with products without one")
    func otherPoint() {
        let forge = P256Forge()
        let point = forge.publicKey(P256Forge.number(5))
        let other = forge.publicKey(P256Forge.number(6))
        let table = OpenSSLTable(uncompressed: point.span)!
        for (octets, isSame) in [(point, true), (other, false), ([], false)] {
            let multiplies = table.multiplies(octets.span)
            #expect(multiplies == isSame)
        }
    }

    /// Where one s has no inverse, none of the batch is decided, and EVP decides all. No signature
    /// in range has one, so this never happens.
    @Test("A batch of OpenSSL's that can't be inverted is left to EVP")
    func noInverse() {
        let forge = P256Forge()
        let table = OpenSSLTable(uncompressed: forge.publicKey(P256Forge.number(5)).span)!
        let digest = P256Forge.number(7)
        let signature = forge.sign(digest, d: P256Forge.number(5), k: P256Forge.number(3))
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let batch = OpenSSLBatch(capacity: 2)
        for (second, expected) in [(s, true), (P256Forge.order, nil), (s, true)] {
            batch.removeAll()
            batch.append(table, digest: digest.span, r: r.span, s: s.span)
            batch.append(table, digest: digest.span, r: r.span, s: second.span)
            batch.verify()
            #expect(batch.outcome(0) == expected && batch.outcome(1) == expected)
        }
    }
}
