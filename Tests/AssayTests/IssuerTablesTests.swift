import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// Which keys that sign certificates get a table, and when.
@Suite struct IssuerTablesTests {
    private static func key(_ seed: UInt64) -> PublicKey {
        let forge = P256Forge()
        return PublicKey.ec(.p256, point: forge.publicKey(P256Forge.number(seed)).span)!
    }

    private static var testedEngine: EngineInUse {
        EngineInUse(.portable, selfTest: { _ in true }, judge: { _ in true })
    }

    /// An engine with tables, also where the tests run with OpenSSL's.
    private static var engineWithTables: EngineInUse {
        EngineInUse(.bestWithTables)
    }

    private static func trust() -> TrustStore { Fixture.trust(Fixture.ca.rootCertificate) }

    private static func verify(_ chain: SigningChain, by verifier: Verifier) -> Verdict {
        Fixture.verify(Fixture.token(Fixture.payload(), chain), by: verifier).verdict
    }

    /// A leaf and an intermediate of their own, both signed as they should be.
    private static func newChain() -> SigningChain { Fixture.chain(intermediate: { _ in }) }

    @Test func rootsAtOnceAndIntermediatesWithTheSecondLeaf() {
        let verifier = Verifier(
            trust: Self.trust(), keyTables: .onRequest, engine: Self.engineWithTables)
        #expect(verifier.hasPendingIssuerTables && verifier.hasPendingKeyTables)
        #expect(!verifier.hasPendingTokenKeyTables)
        #expect(verifier.buildPendingTokenKeyTables() + verifier.buildPendingIssuerTables() == 1)
        #expect(!verifier.hasPendingKeyTables)
        #expect(Self.verify(Fixture.ca.chain, by: verifier) == .valid)
        #expect(!verifier.hasPendingIssuerTables)
        // A forged leaf counts as well: it costs the same.
        let forged = Fixture.chain(leaf: { $0.signature = [UInt8](repeating: 1, count: 70) })
        #expect(Self.verify(forged, by: verifier) == .invalidChain)
        #expect(verifier.hasPendingIssuerTables)
        #expect(verifier.buildPendingIssuerTables() == 1)
        #expect(verifier.statistics.issuerTables == 2)
        // The tables' answers, for chains that were never seen.
        for _ in 0..<3 { #expect(Self.verify(Fixture.chain(), by: verifier) == .valid) }
        for _ in 0..<3 { #expect(Self.verify(Self.newChain(), by: verifier) == .valid) }
        #expect(verifier.buildPendingIssuerTables() == 0)
        let other = Fixture.chain(leaf: { $0.signature = [UInt8](repeating: 2, count: 70) })
        #expect(Self.verify(other, by: verifier) == .invalidChain)
        let (mine, foreign) = (Self.newChain(), Fixture.foreignCA.chain)
        for certificates in [
            [mine.certificates[0], foreign.certificates[1], mine.certificates[2]],
            [foreign.certificates[0], mine.certificates[1], mine.certificates[2]],
        ] {
            let mixed = SigningChain(certificates: certificates, key: mine.key)
            #expect(
                [.invalidChain, .untrustedChain].contains(Self.verify(mixed, by: verifier)))
        }
    }

    /// Chains without a pinned root's signature request nothing, however many come.
    @Test func nothingForForgedChains() {
        for building in [KeyTableBuilding.onRequest, .withSignatures] {
            let verifier = Verifier(trust: Self.trust(), keyTables: building)
            verifier.performMaintenance()
            let before = verifier.statistics.issuerTables
            for _ in 0..<3 * Limits.issuerTableUses {
                let forged = Fixture.chain(intermediate: {
                    $0.signature = [UInt8](repeating: 1, count: 70)
                })
                #expect(Self.verify(forged, by: verifier) == .untrustedChain)
            }
            #expect(!verifier.hasPendingKeyTables)
            #expect(verifier.statistics.issuerTables == before)
        }
    }

    /// A process that verifies a few tokens builds none. One that verifies many chains does.
    @Test func afterEnoughSignaturesWhereNoOtherThreadBuilds() {
        let verifier = Verifier(
            trust: Self.trust(), keyTables: .withSignatures, engine: Self.engineWithTables)
        #expect(!verifier.hasPendingKeyTables)
        for _ in 0..<Limits.issuerTableUses - 1 {
            #expect(Self.verify(Fixture.chain(), by: verifier) == .valid)
        }
        #expect(verifier.statistics.issuerTables == 0)
        #expect(Self.verify(Fixture.chain(), by: verifier) == .valid)
        // That of the intermediate, built by the call. The root has signed once.
        #expect(verifier.statistics.issuerTables == 1)
        #expect(!verifier.hasPendingKeyTables)
        for _ in 0..<Limits.issuerTableUses {
            #expect(Self.verify(Self.newChain(), by: verifier) == .valid)
        }
        #expect(verifier.statistics.issuerTables == 2)
    }

    @Test func neverWhenDisabled() {
        for verifier in [
            Verifier(trust: Self.trust(), keyTables: .never),
            Verifier(
                trust: Self.trust(), keyTables: .onRequest, engine: EngineInUse(.openssl)),
        ] {
            for _ in 0..<2 * Limits.issuerTableUses {
                #expect(Self.verify(Fixture.chain(), by: verifier) == .valid)
            }
            #expect(!verifier.hasPendingIssuerTables)
            #expect(verifier.buildPendingIssuerTables() == 0)
        }
    }

    /// Once the engine has failed, EVP verifies, whatever a table says: here a table of another
    /// key, which refuses everything.
    @Test func notUsedByOpenSSL() {
        let (key, other) = (Self.key(3), Self.key(4))
        key.adopt(IssuerTable(other)!)
        let message = Array("message".utf8)
        let der = Self.signature(of: message, by: 3)
        for (engine, expected) in [(SignatureEngine.portable, false), (.openssl, true)] {
            let tables = IssuerTables(.onRequest, engine: EngineInUse(engine))
            let holds = tables.verifies(
                der.span, over: message.span, digest: .sha256, by: key)
            #expect(holds == expected)
        }
    }

    @Test func boundedAndReleased() {
        let table = IssuerTable(Self.key(1))
        let tables = IssuerTables(.onRequest, engine: Self.testedEngine) { _ in table }
        var keys = (1...UInt64(Limits.issuerTables)).map(Self.key)
        for key in keys + keys { tables.didPin(key) }
        #expect(tables.tables == Limits.issuerTables)
        let next = Self.key(1_000)
        tables.didPin(next)
        #expect(tables.tables == Limits.issuerTables)
        // A released key frees its slot. The next key takes it after enough signatures.
        for _ in 0..<2 { tables.noteUse(of: next) }
        keys.removeLast()
        #expect(tables.tables == Limits.issuerTables - 1)
        for _ in 2..<Limits.issuerTableUses - 1 { tables.noteUse(of: next) }
        #expect(tables.tables == Limits.issuerTables - 1)
        tables.noteUse(of: next)
        #expect(tables.tables == Limits.issuerTables)
        // All others are gone: one table is built.
        keys = []
        #expect(tables.buildPending() == 1)
        #expect(next.issuerTable != nil && tables.tables == 1)
    }

    @Test func keyReleasedWhileQueued() {
        let tables = IssuerTables(.onRequest, engine: Self.testedEngine)
        var key: PublicKey? = Self.key(7)
        tables.didPin(key!)
        key = nil
        #expect(tables.hasPending)
        #expect(tables.buildPending() == 0)
        #expect(tables.tables == 0)
    }

    @Test("Where the engine fails its self-test, no key that signs certificates gets a table")
    func noTableWithoutSelfTest() {
        let engine = EngineInUse(.portable, selfTest: { _ in false }, judge: { _ in true })
        let tables = IssuerTables(.onRequest, engine: engine)
        let key = Self.key(8)
        tables.didPin(key)
        #expect(tables.hasPending)
        #expect(tables.buildPending() == 0)
        #expect(key.issuerTable == nil && engine.current == .openssl)
    }

    /// A table of another key gives wrong answers. The audit finds one after some hundred of them,
    /// and OpenSSL verifies from then on.
    @Test func wrongAnswersAreAudited() throws {
        let (key, other) = (Self.key(3), Self.key(4))
        key.adopt(IssuerTable(other)!)
        let engine = Self.engineWithTables
        let tables = IssuerTables(.onRequest, engine: engine)
        let message = Array("message".utf8)
        let signature = Self.signature(of: message, by: 3)
        var answers = 0
        while !engine.hasPendingAudits {
            let holds = tables.verifies(
                signature.span, over: message.span, digest: .sha256, by: key)
            #expect(!holds)
            answers += 1
            try #require(answers < 30 * Limits.certificatesPerAudit)
        }
        let wrong = engine.audit()
        #expect(wrong.count == 1 && wrong.first?.holds == false)
        #expect(wrong.first?.digest == SHA256.digest(message.span).text)
        #expect(engine.current == .openssl)
        let holds = tables.verifies(
            signature.span, over: message.span, digest: .sha256, by: key)
        #expect(holds)
    }

    /// Without a table, a key on P-384 is verified by the engine after its self-test, and by
    /// EVP before, and after the engine has failed. Each answer of the engine is audited here.
    @Test func withoutTable() {
        let forge = P256Forge(.p384)
        let d = P256Forge.number(5)
        let key = PublicKey.ec(.p384, point: forge.publicKey(d).span)!
        let message = Array("message".utf8)
        let digest = forge.add(SHA384.digest(message.span).span.array, [0])
        let numbers = forge.sign(digest, d: d, k: P256Forge.number(77))
        let signature = ECDSADER.encoded(Array(numbers[..<48]), Array(numbers[48...]))
        let engine = EngineInUse(
            .portable, selfTest: { _ in true }, judge: { !$0.holds || $0.holdsByOpenSSL },
            certificatesPerAudit: 1)
        let tables = IssuerTables(.onRequest, engine: engine)
        func holds(_ message: [UInt8]) -> Bool {
            tables.verifies(signature.span, over: message.span, digest: .sha384, by: key)
        }
        #expect(holds(message) && !holds(message + [0]) && !engine.hasPendingAudits)
        engine.test()
        #expect(holds(message) && engine.hasPendingAudits)
        #expect(engine.audit().isEmpty && !engine.hasPendingAudits)
        // The judge calls this answer wrong.
        #expect(!holds(message + [0]) && engine.audit().count == 1)
        #expect(holds(message) && !holds(message + [0]) && !engine.hasPendingAudits)
    }

    /// DER.
    private static func signature(of message: [UInt8], by d: UInt64) -> [UInt8] {
        let forge = P256Forge()
        let signature = forge.sign(
            forge.add(SHA256.digest(message.span).octets.span.array, [0]),
            d: P256Forge.number(d), k: P256Forge.number(77))
        return ECDSADER.encoded(Array(signature[..<32]), Array(signature[32...]))
    }
}
