import Synchronization
import Testing

@testable import Assay

/// The self-test, the audit, and the switch to OpenSSL.
@Suite struct EngineInUseTests {
    private static func checks(_ count: Int) -> [ES256Check] {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 5)
        let d = forge.random(&random)
        let key = PublicKey.ec(.p256, point: forge.publicKey(d).span)!
        return (0..<count).map { _ in
            let digest = forge.random(&random)
            return Batches.check(
                key, digest, forge.sign(digest, d: d, k: forge.random(&random)))!
        }
    }

    @Test("An engine that fails its self-test is never used", arguments: [true, false])
    func selfTest(passes: Bool) {
        let engine = EngineInUse(.portable, selfTest: { _ in passes }, judge: { _ in true })
        #expect(!engine.hasPassedSelfTest)
        engine.test()
        #expect(engine.chosen == .portable)
        #expect(engine.current == (passes ? .portable : .openssl))
        #expect(engine.hasPassedSelfTest == passes)
    }

    @Test(
        "The engines that this processor supports pass their self-test, and no others",
        arguments: SignatureEngine.allCases)
    func selfTests(name: SignatureEngine) {
        let engine = EngineInUse(name)
        engine.test()
        #expect(engine.current == (name.isSupported ? name : .openssl))
    }

    @Test("Answers that OpenSSL gives as well are counted, and change nothing")
    func agreement() {
        let engine = EngineInUse(.portable)
        var checks = Self.checks(3)
        checks[1].digest.octets[0] ^= 1
        #expect(!engine.hasPendingAudits)
        for (check, holds) in zip(checks, [true, false, true]) {
            engine.keep(AuditedAnswer(check, holds: holds))
        }
        #expect(engine.hasPendingAudits)
        #expect(engine.audit().isEmpty)
        #expect(!engine.hasPendingAudits)
        #expect(engine.audits == (3, 0) && engine.current == .portable)
    }

    @Test(
        "One answer that OpenSSL does not give is named, and OpenSSL verifies for good",
        arguments: [true, false])
    func disagreement(holds: Bool) throws {
        let engine = EngineInUse(.portable)
        var check = Self.checks(1)[0]
        if holds { check.digest.octets[31] ^= 1 }
        engine.keep(AuditedAnswer(check, holds: holds))
        let wrong = engine.audit()
        #expect(wrong.count == 1 && engine.audits == (0, 1))
        let answer = try #require(wrong.first)
        #expect(answer.holds == holds && answer.digest == check.digest.text)
        #expect(answer.signature.utf8.count == 86 && answer.key.hasPrefix("04"))
        #expect(engine.chosen == .portable && engine.current == .openssl)
        // For good: a later agreement does not bring the engine back.
        engine.keep(AuditedAnswer(Self.checks(1)[0], holds: true))
        #expect(engine.audit().isEmpty && engine.audits == (1, 1))
        #expect(engine.current == .openssl)
    }

    @Test("The answers that wait for an audit are bounded")
    func bounded() {
        let judged = Atomic(0)
        let engine = EngineInUse(
            .portable, selfTest: { _ in true },
            judge: { _ in
                judged.add(1, ordering: .relaxed)
                return true
            })
        let check = Self.checks(1)[0]
        for _ in 0..<3 * Limits.waitingAudits {
            engine.keep(AuditedAnswer(check, holds: true))
        }
        #expect(engine.audit().isEmpty)
        let count = judged.load(ordering: .relaxed)
        #expect(count == Limits.waitingAudits)
    }

    @Test("About one answer in 4,096 is audited, wherever it stands in its batch")
    func sample() {
        var sample = AuditSample()
        var indices: Set<Int> = []
        var audits = 0
        let batches = 400_000
        for _ in 0..<batches {
            if let index = sample.next(of: 8) {
                #expect((0..<8).contains(index))
                indices.insert(index)
                audits += 1
            }
        }
        let expected = batches * 8 / Limits.answersPerAudit
        #expect((expected / 2...expected * 2).contains(audits), "\(audits)")
        #expect(indices.count == 8)
    }

    @Test(
        "A verifier audits its own answers, and uses EVP after a disagreement",
        arguments: Batches.engines)
    func verifier(name: SignatureEngine) throws {
        let answersPerAudit = 64
        let judge = Atomic(true)
        let engine = EngineInUse(
            name, selfTest: { _ in true },
            judge: { answer in judge.load(ordering: .relaxed) == answer.holdsByOpenSSL },
            answersPerAudit: answersPerAudit)
        var checks = Self.checks(8)
        for index in 0..<4 { checks[2 * index].digest.octets[index] ^= 1 }
        let tables = KeyTables(isEnabled: true, engine: name)
        let verifier = ES256BatchVerifier(tables: tables, engine: engine)
        func verifyAll() -> Bool {
            verifier.clear()
            verifier.checks = checks
            verifier.verify()
            return verifier.holds == (0..<8).map { $0 % 2 == 1 }
        }
        for _ in 0..<Limits.keyTableUses where !tables.hasPending { #expect(verifyAll()) }
        #expect(tables.buildPending() == 1)
        func verifyUntilAudit() throws {
            var rounds = 0
            while !engine.hasPendingAudits {
                #expect(verifyAll())
                rounds += 1
                try #require(rounds < 2 * answersPerAudit / checks.count + 2)
            }
        }
        for audits in 1...8 {
            try verifyUntilAudit()
            #expect(engine.audit().isEmpty && engine.audits == (audits, 0))
        }
        judge.store(false, ordering: .relaxed)
        try verifyUntilAudit()
        #expect(engine.audit().count == 1 && engine.current == .openssl)
        // EVP's answers are not audited.
        for _ in 0..<3 * answersPerAudit / checks.count { #expect(verifyAll()) }
        #expect(!engine.hasPendingAudits)
    }
}
