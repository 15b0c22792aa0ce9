import AssayLocks
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// A thread's own cache in front of a verifier's: it never changes an answer, and a known token
/// takes no lock.
@Suite struct ThreadCacheTests {
    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
        .serverAnswer,
    ]

    private static func evidence(_ kind: EvidenceKind) -> [UInt8] {
        guard kind == .serverAnswer else { return Fixture.token(Fixture.payload(kind)) }
        return Array("{\"signedTransactionInfo\":\(Fixture.quoted(Fixture.token()))}".utf8)
    }

    /// A verifier whose audits never come due: each would take a lock.
    private static func verifier(_ keyTables: KeyTableBuilding = .withSignatures) -> Verifier {
        let engine = EngineInUse(
            .best, selfTest: { $0.passesSelfTest }, judge: { $0.holdsByOpenSSL },
            answersPerAudit: .max / 4)
        return Verifier(
            trust: Fixture.trust(Fixture.ca.rootCertificate), keyTables: keyTables, engine: engine)
    }

    private static func verify(
        _ tokens: [[UInt8]], as kind: EvidenceKind = .transaction, by verifier: Verifier,
        _ cache: ThreadCache?
    ) -> [Verification] {
        var batch = tokens.map {
            verifier.prepare(
                $0.span, as: kind, policy: Fixture.policy, at: Fixture.now,
                unknownChains: .validate, cache: cache)
        }
        verifier.verifySignatures(&batch, cache: cache)
        return batch.map(\.verification)
    }

    @Test("a token under a known chain takes no lock", arguments: kinds)
    func locks(kind: EvidenceKind) {
        let (verifier, cache) = (Self.verifier(), ThreadCache())
        let tokens = [[UInt8]](
            repeating: Self.evidence(kind), count: Limits.keyTableUses)
        // The chain gets known, its key gets a table, and the thread gets both.
        for _ in 0..<3 { _ = Self.verify(tokens, as: kind, by: verifier, cache) }
        #expect(verifier.signatures.tables.tables == 1)
        let before = LockCount.ofThisThread
        let answers = Self.verify(tokens, as: kind, by: verifier, cache)
        #expect(LockCount.ofThisThread == before)
        #expect(answers.allSatisfy { $0.verdict == .valid })
        // Without a cache each token takes one, so the count counts.
        _ = Self.verify(tokens, as: kind, by: verifier, nil)
        #expect(LockCount.ofThisThread >= before + tokens.count)
    }

    @Test("answers are those without a cache")
    func answers() {
        let (cache, verifier) = (ThreadCache(), Self.verifier(.never))
        let genuine = Fixture.token()
        for _ in 0..<4 {
            #expect(Self.verify([genuine], by: verifier, cache)[0].verdict == .valid)
        }
        let late = Fixture.payload(changing: ["signedDate": "4102444800000"])
        let others: [([UInt8], Verdict)] = [
            (genuine, .valid),
            (Fixture.token(signature: { $0[20] ^= 1 }), .invalidSignature),
            (Fixture.token(late), .invalidDate),
            (Fixture.token(Fixture.payload(changing: ["bundleId": "\"com.other\""])), .wrongBundle),
            (Fixture.segments(genuine)[0] + Array(".e30".utf8), .malformed),
            (Fixture.token(Fixture.payload(), Fixture.foreignCA.chain), .untrustedChain),
        ]
        for (token, verdict) in others {
            let answers = [cache, nil].map { Self.verify([token], by: verifier, $0)[0] }
            #expect(answers.map(\.verdict) == [verdict, verdict])
            #expect(answers[0].detail == answers[1].detail)
        }
    }

    @Test("a chain is known to the verifier alone that validated it")
    func otherVerifier() {
        let cache = ThreadCache()
        let token = Fixture.token()
        let verifier = Self.verifier(.never)
        // The third look-up is the first that the cache keeps.
        for _ in 0..<4 {
            #expect(Self.verify([token], by: verifier, cache)[0].verdict == .valid)
        }
        let certificate = Fixture.ca.leafCertificate
        let denied = Fingerprint(SHA256.digest(certificate.span))
        let denying = Verifier(trust: verifier.trust.denying([denied]), keyTables: .never)
        #expect(Self.verify([token], by: denying, cache)[0].verdict == .certificateRevoked)
        let foreign = Verifier(
            trust: Fixture.trust(Fixture.foreignCA.rootCertificate), keyTables: .never)
        #expect(Self.verify([token], by: foreign, cache)[0].verdict == .untrustedChain)
        #expect(Self.verify([token], by: verifier, cache)[0].verdict == .valid)
    }

    @Test("uses are recorded when the cache is flushed, and unused chains leave it")
    func flush() {
        let (verifier, cache) = (Self.verifier(.never), ThreadCache())
        let token = Fixture.token()
        // The second look-up finds it by its hash, the third among the recent ones.
        for _ in 0..<3 { _ = Self.verify([token], by: verifier, cache) }
        let hits = verifier.chains.statistics.hits
        for _ in 0..<10 { _ = Self.verify([token], by: verifier, cache) }
        #expect(verifier.chains.statistics.hits == hits)
        cache.flush()
        #expect(verifier.chains.statistics.hits == hits + 10)
        cache.flush()
        #expect(verifier.chains.statistics.hits == hits + 10)
        // It is looked up in the table again.
        _ = Self.verify([token], by: verifier, cache)
        #expect(verifier.chains.statistics.hits == hits + 11)
    }

    @Test("a chain in use stays known while others come and go")
    func eviction() {
        let (verifier, cache) = (Self.verifier(.never), ThreadCache())
        let token = Fixture.token()
        for _ in 0..<4 { _ = Self.verify([token], by: verifier, cache) }
        for number in 0..<Limits.knownChains + 8 {
            let other = Fixture.token(header: { $0.extraMembers = [("kid", "\"\(number)\"")] })
            let answers = Self.verify([other, token, other], by: verifier, cache)
            #expect(answers.allSatisfy { $0.verdict == .valid })
            if number % 16 == 0 { cache.flush() }
        }
        let header = Fixture.segments(token)[0]
        let isKnown = verifier.chains.isKnown(header: header.span)
        #expect(isKnown)
        #expect(verifier.chains.counts.known == Limits.knownChains)
    }
}
