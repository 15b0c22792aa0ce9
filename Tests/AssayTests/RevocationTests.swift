import AssayLocks
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// What statuses decide about evidence.
@Suite struct RevocationTests {
    private typealias Minted = MintedStatus

    private static let hard = RevocationPolicy.hard(maximumAge: .seconds(24 * 3600))

    private static func policy(_ revocation: RevocationPolicy) -> Policy {
        var policy = Fixture.policy
        policy.revocation = revocation
        return policy
    }

    /// - Parameter signed: seconds from `Fixture.now`.
    private static func verify(
        _ revocation: RevocationPolicy, _ store: RevocationStatuses, signed: Int64 = 0,
        at now: Timestamp = Fixture.now
    ) -> Verification {
        Minted.verifier(store).verify(
            Fixture.token(Fixture.payload(signed: Fixture.time(signed))).span, as: .transaction,
            policy: policy(revocation), at: now)
    }

    private static func good() -> RevocationStatuses {
        Minted.store(Minted.response(), Minted.response(.intermediate))
    }

    @Test func goodStatuses() {
        for policy in [RevocationPolicy.off, .soft, Self.hard] {
            let answer = Self.verify(policy, Self.good())
            #expect(answer.verdict == .valid)
            #expect(!answer.detail.contains("revocation"))
        }
    }

    @Test("a revoked certificate refuses evidence of later, and of earlier if its key is lost")
    func revoked() {
        let reasons = [nil] + CertificateRevocationReason.allCases.map(Optional.some)
        for subject in Minted.Subject.allCases {
            for reason in reasons {
                let other: Minted.Subject = subject == .leaf ? .intermediate : .leaf
                let store = {
                    Minted.store(
                        Minted.response(other),
                        Minted.response(subject, Minted.revoked(-100, reason)))
                }
                // Without a reason nothing excludes it.
                let isCompromise = reason?.isCompromise ?? true
                for policy in [RevocationPolicy.soft, Self.hard] {
                    for (signed, isRefused) in [(-99, true), (-100, true), (-101, isCompromise)] {
                        let answer = Self.verify(policy, store(), signed: Int64(signed))
                        #expect(
                            answer.verdict == (isRefused ? .certificateRevoked : .valid),
                            "\(subject) \(String(describing: reason)) \(signed)")
                        #expect((answer.evidence == nil) == isRefused)
                        if isRefused { #expect(answer.detail.contains("was revoked at")) }
                        if isRefused {
                            #expect(answer.dedupKey == nil && answer.certificate == nil)
                        }
                    }
                }
                #expect(Self.verify(.off, store()).verdict == .valid)
            }
        }
    }

    @Test("evidence without a date counts as of now")
    func undated() {
        let store = Minted.store(Minted.response(.leaf, Minted.revoked(-100)))
        let token = Fixture.token(Fixture.payload(changing: ["signedDate": nil]))
        let answer = Minted.verifier(store).verify(
            token.span, as: .transaction, policy: Self.policy(.soft), at: Fixture.now)
        #expect(answer.verdict == .certificateRevoked)
    }

    @Test("soft reports what hard refuses")
    func doubt() {
        let old = { Minted.response(from: -30 * Minted.hour, to: nil) }
        let cases: [(String, RevocationStatuses)] = [
            ("the leaf, serial", RevocationStatuses()),
            ("is unknown", RevocationStatuses()),
            (
                "is unknown to the responder",
                Minted.store(
                    Minted.response(.leaf, .unknown), Minted.response(.intermediate))
            ),
            (
                "is stale since",
                Minted.store(
                    Minted.response(to: -6 * 60), Minted.response(.intermediate))
            ),
            ("the intermediate, serial", Minted.store(Minted.response())),
            (
                "neither the issuer",
                Minted.store(
                    Minted.response(by: Fixture.foreignCA.rootKey!), Minted.response(.intermediate))
            ),
        ]
        for (reason, store) in cases {
            let soft = Self.verify(.soft, store)
            #expect(soft.verdict == .valid && soft.detail.contains(reason), "\(soft.detail)")
            #expect(soft.detail.hasPrefix("signed under"))
            let hard = Self.verify(Self.hard, store)
            #expect(hard.verdict == .certificateRevoked, "\(reason)")
            #expect(hard.detail.contains(reason) && hard.detail.contains("requires a good"))
        }
        // Too old for hard, though not stale: soft has no limit.
        let store = Minted.store(old(), Minted.response(.intermediate))
        #expect(!Self.verify(.soft, store).detail.contains("revocation"))
        #expect(Self.verify(Self.hard, store).detail.contains("too old"))
    }

    @Test("a status is stale some minutes after nextUpdate, and too old after the maximum age")
    func limits() {
        let store = Minted.store(
            Minted.response(to: 0), Minted.response(.intermediate, from: -Minted.hour, to: nil))
        let age = RevocationPolicy.hard(maximumAge: .seconds(2 * Minted.hour))
        #expect(Self.verify(age, store, at: Fixture.time(5 * 60)).verdict == .valid)
        #expect(Self.verify(age, store, at: Fixture.time(5 * 60 + 1)).detail.contains("stale"))
        let endless = Minted.store(
            Minted.response(to: nil), Minted.response(.intermediate, to: nil))
        #expect(Self.verify(age, endless, at: Fixture.time(Minted.hour)).verdict == .valid)
        #expect(
            Self.verify(age, endless, at: Fixture.time(Minted.hour + 1)).detail
                .contains("too old"))
    }

    @Test("of several documents the decisive one counts")
    func several() {
        let good = Minted.response()
        let newer = Minted.response(from: -60)
        let revoked = Minted.response(.leaf, Minted.revoked(-5000), from: -2 * Minted.hour)
        let compromised = Minted.list(revoking: [
            .init(serial: Minted.Subject.leaf.serial, date: Fixture.time(-10), reason: 1)
        ])
        let held = Minted.response(
            .leaf, Minted.revoked(-5000, .certificateHold), from: -2 * Minted.hour)
        let heldNow = Minted.response(.leaf, Minted.revoked(-5000, .certificateHold), from: -60)
        let table: [(String, [[UInt8]], Verdict)] = [
            ("revoked is final", [revoked, newer], .certificateRevoked),
            ("of any order", [newer, revoked], .certificateRevoked),
            ("compromise before others", [revoked, compromised], .certificateRevoked),
            ("no longer on hold", [held, newer], .valid),
            ("on hold now", [good, heldNow], .certificateRevoked),
        ]
        for (name, documents, verdict) in table {
            let store = RevocationStatuses()
            for (index, document) in documents.enumerated() {
                Fixture.made { try store.add(document, named: "\(index)", at: Fixture.now) }
            }
            #expect(Self.verify(.soft, store).verdict == verdict, "\(name)")
        }
        let both = Minted.store(revoked, compromised)
        #expect(Self.verify(.soft, both, signed: -80_000).verdict == .certificateRevoked)
    }

    @Test("a status that arrives, changes or goes applies to a known chain")
    func changes() throws {
        let store = RevocationStatuses()
        let (verifier, cache) = (Minted.verifier(store), ThreadCache())
        let token = Fixture.token()
        func verdict() -> Verdict {
            var batch = [
                verifier.prepare(
                    token.span, as: .transaction, policy: Self.policy(Self.hard),
                    at: Fixture.now, cache: cache)
            ]
            verifier.verifySignatures(&batch, cache: cache)
            return batch[0].verification.verdict
        }
        for _ in 0..<3 { #expect(verdict() == .certificateRevoked) }
        try store.add(Minted.response(), named: "leaf", at: Fixture.now)
        #expect(verdict() == .certificateRevoked)
        try store.add(Minted.response(.intermediate), named: "intermediate", at: Fixture.now)
        #expect(verdict() == .valid)
        try store.add(
            Minted.response(.leaf, Minted.revoked(-1)), named: "leaf", at: Fixture.now)
        #expect(verdict() == .certificateRevoked)
        try store.add(Minted.response(), named: "leaf", at: Fixture.now)
        #expect(verdict() == .valid)
        store.remove(named: "leaf")
        #expect(verdict() == .certificateRevoked)
        #expect(store.names == ["intermediate"])
    }

    @Test(
        "a known token takes no lock under any policy",
        arguments: [
            RevocationPolicy.off, .soft, .hard(maximumAge: .seconds(24 * 3600)),
        ])
    func locks(revocation: RevocationPolicy) {
        let engine = EngineInUse(
            .best, selfTest: { $0.passesSelfTest }, judge: { $0.holdsByOpenSSL },
            answersPerAudit: .max / 4)
        let verifier = Verifier(
            trust: Fixture.trust(Minted.ca.rootCertificate), keyTables: .never, engine: engine,
            revocation: Self.good())
        let (cache, token) = (ThreadCache(), Fixture.token())
        func verify() -> Verdict {
            var batch = [
                verifier.prepare(
                    token.span, as: .transaction, policy: Self.policy(revocation),
                    at: Fixture.now, cache: cache)
            ]
            verifier.verifySignatures(&batch, cache: cache)
            return batch[0].verification.verdict
        }
        for _ in 0..<4 { #expect(verify() == .valid) }
        let before = LockCount.ofThisThread
        for _ in 0..<10 { #expect(verify() == .valid) }
        #expect(LockCount.ofThisThread == before)
    }

    @Test("chains are found once, after a signature under them held, and never under off")
    func found() throws {
        let found = Locked<[String]>([])
        let store = RevocationStatuses { cell in
            found.withLock { $0.append(cell.position.rawValue) }
        }
        let verifier = Minted.verifier(store)
        func verify(_ token: [UInt8], _ revocation: RevocationPolicy = .soft) {
            _ = verifier.verify(
                token.span, as: .transaction, policy: Self.policy(revocation), at: Fixture.now)
        }
        verify(Fixture.token(), .off)
        verify(Fixture.token(signature: { $0[20] ^= 1 }))
        verify(Fixture.token(Fixture.payload(), Fixture.foreignCA.chain))
        #expect(found.withLock { $0 } == [] && store.cells.isEmpty)
        for _ in 0..<3 { verify(Fixture.token()) }
        #expect(found.withLock { $0 } == ["leaf", "intermediate"])
        #expect(store.cells.count == 2)
    }

    @Test(
        "nested evidence, receipts and answers are checked",
        arguments: [
            EvidenceKind.notification, .serverAnswer, .renewalInfo,
        ])
    func kinds(kind: EvidenceKind) {
        let inner = Fixture.token()
        let evidence: [UInt8] =
            switch kind {
            case .serverAnswer: Array("{\"signedTransactionInfo\":\(Fixture.quoted(inner))}".utf8)
            default: Fixture.token(Fixture.payload(kind))
            }
        for (state, verdict) in [
            (OCSPResponseBuilder.State.good, Verdict.valid),
            (Minted.revoked(-10), .certificateRevoked),
        ] {
            let store = Minted.store(Minted.response(.leaf, state), Minted.response(.intermediate))
            let answer = Minted.verifier(store).verify(
                evidence.span, as: kind, policy: Self.policy(Self.hard), at: Fixture.now)
            #expect(answer.verdict == verdict, "\(answer.detail)")
        }
    }

    @Test("a notification is refused for the certificate of its transaction")
    func nested() throws {
        let other = Fixture.chain()
        let serial = try Certificate(der: other.certificates[0])
        let payload = Samples.notification(
            index: 1, bundleId: Fixture.bundle, appAppleId: Fixture.app, environment: .production,
            signedDate: Fixture.now,
            signedTransactionInfo: Fixture.text(Fixture.token(Fixture.payload(), other)),
            signedRenewalInfo: nil)
        let token = Fixture.token(payload)
        for (octets, verdict) in [
            (Array(serial.der[serial.serialNumber]), Verdict.certificateRevoked), ([9], .valid),
        ] {
            let store = Minted.store(
                Minted.list(revoking: [.init(serial: octets, date: Fixture.time(-10))]),
                Minted.response(.intermediate))
            let answer = Minted.verifier(store).verify(
                token.span, as: .notification, policy: Self.policy(Self.hard), at: Fixture.now)
            #expect(answer.verdict == verdict, "\(answer.detail)")
            if verdict != .valid { #expect(answer.detail.contains("signedTransactionInfo")) }
        }
    }

    @Test("an explanation has the check, and the verifier's verdict")
    func explained() {
        let token = Fixture.token()
        let store = Minted.store(Minted.response(.leaf, Minted.revoked(-10, .superseded)))
        let explanation = Explanation(
            token.span, as: .transaction, trust: Fixture.trust(Minted.ca.rootCertificate),
            policy: Self.policy(.soft), revocation: store, at: Fixture.now)
        #expect(explanation.failed?.step.check == .revocation)
        #expect(explanation.failed?.step.found?.contains("superseded") == true)
        #expect(explanation.verification.verdict == .certificateRevoked)
    }

    // MARK: Answers to requests

    @Test func accepted() throws {
        let store = RevocationStatuses()
        let leaf = Minted.Subject.leaf
        let cell = store.cell(of: leaf.certificate, under: leaf.issuer, as: .leaf)
        func accept(_ document: [UInt8]) -> RevocationError? {
            do throws(RevocationError) {
                _ = try store.accept(document, for: cell, at: Fixture.now) { _ in "leaf" }
                return nil
            } catch {
                return error
            }
        }
        #expect(accept(Minted.response(.intermediate)) == .anotherCertificate)
        #expect(accept(Minted.response(by: Fixture.foreignCA.rootKey!)) == .unknownSigner)
        #expect(accept(Minted.response(to: -6 * 60)) == .stale)
        #expect(store.names.isEmpty && cell.current == nil)
        #expect(accept(Minted.response()) == nil)
        #expect(accept(Minted.response(from: -2 * Minted.hour)) == .older)
        #expect(accept(Minted.response()) == nil)
        // Revoked, however old; and then for ever.
        #expect(accept(Minted.response(.leaf, Minted.revoked(-9000), from: -8000, to: -700)) == nil)
        #expect(accept(Minted.response()) == .older)
        #expect(cell.current?.status.name == "revoked")
    }

    @Test("documents and their bytes are bounded")
    func bounds() throws {
        let store = RevocationStatuses()
        let response = Minted.response()
        for index in 0..<Limits.revocationDocuments {
            try store.add(response, named: "\(index)", at: Fixture.now)
        }
        #expect(throws: RevocationError.tooManyDocuments(limit: Limits.revocationDocuments)) {
            try store.add(response, named: "one more", at: Fixture.now)
        }
        try store.add(response, named: "0", at: Fixture.now)
        store.remove(named: "0")
        try store.add(response, named: "one more", at: Fixture.now)
    }

    @Test("certificates that no chain refers to are forgotten")
    func forgotten() throws {
        let store = RevocationStatuses()
        let issuer = Minted.Subject.leaf.issuer
        let kept = store.cell(of: Minted.Subject.leaf.certificate, under: issuer, as: .leaf)
        for _ in 0..<Limits.revocationCertificates {
            let chain = Fixture.chain(leaf: { $0.signature = [1] })
            _ = store.cell(
                of: try Certificate(der: chain.certificates[0]), under: issuer, as: .leaf)
        }
        #expect(store.cells.count < Limits.revocationCertificates)
        #expect(store.cells.contains { $0 === kept })
    }

    @Test("a status fits into 64 bits")
    func packed() {
        let times = [Int64(0), 1, 1_767_225_600, Int64(UInt32.max)]
        for time in times {
            for end in [nil, 0, 43_200, (1 << 30) - 2] as [Int64?] {
                let status = RevocationStatus(
                    state: .good, thisUpdate: Timestamp(seconds: time),
                    nextUpdate: end.map { Timestamp(seconds: time + $0) })
                #expect(
                    PackedStatus(status).statement
                        == .good(since: time, until: end.map { time + $0 }))
            }
            for reason in CertificateRevocationReason.allCases {
                let status = RevocationStatus(
                    state: .revoked(at: Timestamp(seconds: time), reason),
                    thisUpdate: Fixture.now, nextUpdate: nil)
                #expect(PackedStatus(status).statement == .revoked(at: time, reason))
            }
        }
        #expect(PackedStatus.none.statement == .none)
        // Before 1970 and after 2106.
        let early = RevocationStatus(
            state: .revoked(at: Timestamp(seconds: -5), .unspecified), thisUpdate: Fixture.now,
            nextUpdate: nil)
        #expect(PackedStatus(early).statement == .revoked(at: 0, .unspecified))
        let long = RevocationStatus(
            state: .good, thisUpdate: Timestamp(seconds: 5), nextUpdate: Timestamp(seconds: 1 << 40)
        )
        #expect(PackedStatus(long).statement == .good(since: 5, until: 5 + (1 << 30) - 2))
    }
}
