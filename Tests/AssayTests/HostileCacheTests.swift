import AssayBytes
import AssayLocks
import AssayMint
import AssayModels
import Foundation
import Testing
@testable import Assay

/// Lines 33 to 39 of the catalogue of hostile input: the chain cache.
@Suite(.serialized) struct HostileCacheTests {
    private static func header(_ chain: SigningChain) -> [UInt8] {
        Base64URL.encode(MintedJWSHeader(certificates: chain.certificates).json.span)
    }

    private static func chains() -> KnownChains {
        KnownChains(trust: Fixture.trust(Fixture.ca.rootCertificate))
    }

    /// Returns the verdict of the chain alone. Enters a valid chain, as a verified signature
    /// would.
    private static func resolve(
        _ header: [UInt8], by chains: KnownChains, at date: Timestamp = Fixture.now,
        now: Timestamp = Fixture.now
    ) -> Verdict {
        do throws(Refusal) {
            let outcome = try chains.resolve(
                header: header.span, effectiveDate: .at(date), now: now)
            guard case .validated(let chain) = outcome else {
                preconditionFailure("no chain is deferred here")
            }
            chains.enter(chain)
            return .valid
        } catch {
            return error.verdict
        }
    }

    /// Makes a header whose leaf has an invalid signature. Two such headers differ in the leaf's
    /// serial number only.
    private static func forged(_ number: Int) -> [UInt8] {
        var leaf = template.der
        let serial = template.serialNumber
        for (index, offset) in serial.enumerated() where index > 0 {
            leaf[offset] = UInt8(truncatingIfNeeded: number >> (8 * (index - 1)))
        }
        let ca = Fixture.ca
        return header(
            SigningChain(
                certificates: [leaf, ca.intermediateCertificate, ca.rootCertificate],
                key: ca.leafKey))
    }

    private static let template = Fixture.made {
        let chain = Fixture.chain(leaf: {
            $0.serial = [UInt8](repeating: 1, count: 8)
            $0.signature = [UInt8](repeating: 1, count: 70)
        })
        return try Certificate(der: chain.certificates[0])
    }

    @Test("line 33: a chain known under one trust configuration is not known under another")
    func isolation() throws {
        let root = Fixture.ca.rootCertificate
        let token = Fixture.token()
        let sandbox = Fixture.token(Fixture.payload(environment: .sandbox))
        let loose = Policy(bundleId: Fixture.bundle, environments: [.production, .sandbox])
        let trusting = Verifier(trust: Fixture.trust(root))
        let others: [(TrustStore, Verdict, Verdict)] = [
            (.empty, .untrustedChain, .untrustedChain), (.apple, .untrustedChain, .untrustedChain),
            (Fixture.trust(Fixture.foreignCA.rootCertificate), .untrustedChain, .untrustedChain),
            (Fixture.trust(root, development: true), .untrustedChain, .valid),
            (Fixture.trust(root), .valid, .valid),
        ]
        for (trust, production, test) in others {
            let verifier = Verifier(trust: trust)
            for _ in 0..<2 {
                Fixture.expect(
                    Fixture.verify(token, policy: loose, by: verifier), production)
                Fixture.expect(Fixture.verify(sandbox, policy: loose, by: verifier), test)
                Fixture.expect(Fixture.verify(token, policy: loose, by: trusting), .valid)
            }
        }
        // A root that is also pinned as a development root, in either order, stays one.
        let twice = Verifier(
            trust: try Fixture.trust(root, development: true)
                .pinning(root, development: false))
        Fixture.expect(Fixture.verify(token, policy: loose, by: twice), .untrustedChain)
    }

    @Test("line 34: a known chain is checked against the date of each token")
    func dates() throws {
        let window = Validity(notBefore: Fixture.now, notAfter: Fixture.time(60))
        let header = Self.header(try Fixture.ca.issueChain(validity: window))
        let chains = Self.chains()
        // An unknown chain is not entered for a date outside its validity.
        #expect(Self.resolve(header, by: chains, at: Fixture.time(61)) == .certificateExpired)
        #expect(chains.counts == (0, 0) && chains.validations == 0)
        for _ in 0..<2 {
            for (second, verdict) in [
                (0, Verdict.valid), (-1, .certificateExpired), (60, .valid),
                (61, .certificateExpired), (30, .valid),
            ] {
                let date = Fixture.time(Int64(second))
                #expect(Self.resolve(header, by: chains, at: date) == verdict, "\(second)")
                #expect(
                    Self.resolve(header, by: chains, at: date, now: Fixture.time(9_999_999))
                        == verdict)
            }
        }
        #expect(chains.counts == (1, 0) && chains.validations == 1)
    }

    @Test("line 34: a refused chain is also checked against the date of each token")
    func refusedDates() throws {
        let window = Validity(notBefore: Fixture.now, notAfter: Fixture.time(60))
        let chain = try Fixture.foreignCA.issueChain(validity: window)
        let (header, chains) = (Self.header(chain), Self.chains())
        for _ in 0..<2 {
            for (second, verdict) in [
                (61, Verdict.certificateExpired), (0, .untrustedChain), (-1, .certificateExpired),
                (60, .untrustedChain),
            ] {
                #expect(
                    Self.resolve(header, by: chains, at: Fixture.time(Int64(second))) == verdict)
            }
        }
        #expect(chains.counts == (0, 1) && chains.validations == 1)
    }

    @Test("line 35: chains that share names, identifiers, keys or certificates are distinct")
    func distinctEntries() throws {
        let ca = Fixture.ca
        let (intermediateKey, leafKey) = (try #require(ca.intermediateKey), ca.leafKey)
        // The intermediate's key in another certificate: the leaf is valid under both.
        let renewed = try ca.issueIntermediate(validity: Fixture.validity, key: intermediateKey)
        let sameKey = try DevelopmentCA.makeLeaf(
            under: intermediateKey, validity: Fixture.validity, key: leafKey
        ) { _ in }
        var underRenewed = ca.chain
        underRenewed.certificates[1] = renewed.der
        var secondLeaf = ca.chain
        secondLeaf.certificates[0] = sameKey.der
        var otherThird = ca.chain
        otherThird.certificates[2] = Fixture.foreignCA.rootCertificate
        // The intermediate's name and key identifier with another key.
        let identifier = try #require(
            try Certificate(der: ca.intermediateCertificate).extensions.subjectKeyIdentifier)
        let impostor = try Fixture.foreignCA.issueIntermediate(validity: Fixture.validity) {
            $0[CertificateExtension.subjectKeyIdentifierOID] = .subjectKeyIdentifier(identifier)
        }
        var underImpostor = ca.chain
        underImpostor.certificates[1] = impostor.der

        let chains = Self.chains()
        let all: [(SigningChain, Verdict)] = [
            (ca.chain, .valid), (underRenewed, .valid), (secondLeaf, .valid), (otherThird, .valid),
            (underImpostor, .untrustedChain),
        ]
        for _ in 0..<2 {
            for (chain, verdict) in all {
                #expect(Self.resolve(Self.header(chain), by: chains) == verdict)
            }
        }
        // The third certificate proves nothing, so no validation depends on it.
        #expect(chains.counts == (4, 1) && chains.validations == 4)
        // Other header bytes with the same certificates are another entry.
        let spaced = Array(
            Fixture.text(
                MintedJWSHeader(certificates: ca.chain.certificates).json
            ).replacing(",", with: ", ").utf8)
        #expect(Self.resolve(Base64URL.encode(spaced.span), by: chains) == .valid)
        #expect(chains.counts == (5, 1) && chains.validations == 4)
    }

    @Test("line 36: varied headers of a valid chain evict nothing and do not wait")
    func variedHeaders() throws {
        let verifier = Verifier(trust: Fixture.trust(Fixture.ca.rootCertificate))
        let genuine = Fixture.token()
        Fixture.expect(Fixture.verify(genuine, by: verifier), .valid)
        let json = Fixture.text(
            MintedJWSHeader(certificates: Fixture.ca.chain.certificates).json)
        let rest = genuine.drop { $0 != UInt8(ascii: ".") }
        for number in 0..<Limits.knownChains + 10 {
            let varied = json.replacing("{\"alg\"", with: "{\"x\":\(number),\"alg\"")
            #expect(varied != json)
            let token = Base64URL.encode(Array(varied.utf8).span) + rest
            Fixture.expect(Fixture.verify(token, by: verifier), .invalidSignature)
            // Not deferred, unlike an unknown chain.
            let prepared = verifier.prepare(
                token.span, as: .transaction, policy: Fixture.policy, at: Fixture.now,
                unknownChains: .deferred)
            #expect(prepared.unknownChain == nil)
        }
        #expect(verifier.chains.validations == 1)
        #expect(verifier.chains.counts == (1, 0))
        let header = Fixture.segments(genuine)[0]
        let isKnown = verifier.chains.isKnown(header: header.span)
        #expect(isKnown)
    }

    @Test("line 36: a refused chain is refused for a minute without a public-key operation")
    func refusalsAreKept() {
        let (header, chains) = (Self.forged(0), Self.chains())
        for _ in 0..<3 { #expect(Self.resolve(header, by: chains) == .invalidChain) }
        #expect(chains.validations == 1 && chains.counts == (0, 1))
        #expect(Self.resolve(header, by: chains, now: Fixture.time(59)) == .invalidChain)
        #expect(chains.validations == 1)
        #expect(Self.resolve(header, by: chains, now: Fixture.time(60)) == .invalidChain)
        #expect(chains.validations == 2 && chains.counts == (0, 1))
    }

    @Test(
        "line 36: a flood of distinct invalid chains evicts no valid one", .timeLimit(.minutes(2)))
    func flood() {
        let chains = Self.chains()
        let good = Self.header(Fixture.ca.chain)
        #expect(Self.resolve(good, by: chains) == .valid)
        let count = Limits.refusedChains + 500
        for number in 0..<count {
            let bad = Self.forged(number)
            #expect(Self.resolve(bad, by: chains) == .invalidChain)
            if number % 100 == 0 { #expect(Self.resolve(good, by: chains) == .valid) }
            guard number % 500 == 0 || number + 1 == count else { continue }
            let counts = chains.counts
            #expect(counts.known == 1 && counts.refused <= Limits.refusedChains)
        }
        #expect(Self.resolve(good, by: chains) == .valid)
        #expect(chains.validations == count + 1)
        let counts = chains.counts
        #expect(counts.refused > 0 && counts.refused < count)
    }

    @Test("line 37: one valid chain more than the cache holds", .timeLimit(.minutes(2)))
    func overflow() throws {
        let chains = Self.chains()
        let headers = try (0...Limits.knownChains).map { _ in
            Self.header(try Fixture.ca.issueChain(validity: Fixture.validity))
        }
        for header in headers.dropLast() { #expect(Self.resolve(header, by: chains) == .valid) }
        #expect(chains.counts == (Limits.knownChains, 0))
        #expect(chains.validations == Limits.knownChains)
        // The first is used again, so the second becomes the least recently used.
        #expect(Self.resolve(headers[0], by: chains) == .valid)
        #expect(Self.resolve(headers[Limits.knownChains], by: chains) == .valid)
        #expect(chains.counts == (Limits.knownChains, 0))
        #expect(chains.validations == Limits.knownChains + 1)
        #expect(Self.resolve(headers[0], by: chains) == .valid)
        #expect(Self.resolve(headers[2], by: chains) == .valid)
        #expect(chains.validations == Limits.knownChains + 1)
        #expect(Self.resolve(headers[1], by: chains) == .valid)
        #expect(chains.validations == Limits.knownChains + 2)
    }

    /// Runs the body `times` times in all on 16 concurrent threads. Returns how often it returned
    /// true.
    private static func stampede(
        _ times: Int, _ body: @escaping @Sendable (Int) -> Bool
    ) -> Int {
        let threads = 16
        let good = Locked(0)
        let group = DispatchGroup()
        let gate = DispatchSemaphore(value: 0)
        for thread in 0..<threads {
            group.enter()
            Thread.detachNewThread {
                gate.wait()
                var count = 0
                for index in 0..<times / threads where body(thread + index * threads) { count += 1 }
                good.withLock { $0 += count }
                group.leave()
            }
        }
        for _ in 0..<threads { gate.signal() }
        group.wait()
        return good.withLock { $0 }
    }

    @Test("line 38: 10,000 simultaneous tokens of one new chain: one validation")
    func stampede() {
        let header = Self.header(Fixture.ca.chain)
        let chains = Self.chains()
        let valid = Self.stampede(10_000) { _ in Self.resolve(header, by: chains) == .valid }
        #expect(valid == 10_000)
        #expect(chains.validations == 1 && chains.counts == (1, 0))
    }

    @Test("line 38: repeated stampedes, of valid and invalid chains")
    func stampedes() throws {
        for round in 0..<30 {
            let header =
                round % 3 == 2
                ? Self.forged(round)
                : Self.header(try Fixture.ca.issueChain(validity: Fixture.validity))
            let verdict: Verdict = round % 3 == 2 ? .invalidChain : .valid
            let chains = Self.chains()
            let right = Self.stampede(160) { _ in Self.resolve(header, by: chains) == verdict }
            #expect(right == 160)
            #expect(chains.validations == 1, "round \(round)")
        }
    }

    @Test("line 38: a token with another date does not affect the validation for the others")
    func stampedeOfDates() {
        let header = Self.header(Fixture.ca.chain)
        for _ in 0..<20 {
            let chains = Self.chains()
            let right = Self.stampede(160) { index in
                let fits = index % 2 == 0
                let date = fits ? Fixture.now : Fixture.time(-10 * 86_400)
                return Self.resolve(header, by: chains, at: date)
                    == (fits ? .valid : .certificateExpired)
            }
            #expect(right == 160)
            #expect(chains.counts == (1, 0))
        }
    }

    @Test("line 38: failures are not shared between trust configurations")
    func stampedeOfPolicies() {
        let header = Self.header(Fixture.ca.chain)
        let trusting = Self.chains()
        let other = KnownChains(trust: Fixture.trust(Fixture.foreignCA.rootCertificate))
        let right = Self.stampede(320) { index in
            index % 2 == 0
                ? Self.resolve(header, by: trusting) == .valid
                : Self.resolve(header, by: other) == .untrustedChain
        }
        #expect(right == 320)
        #expect(trusting.counts == (1, 0) && other.counts == (0, 1))
    }

    @Test("line 39: evidence refused by a cheaper check costs no public-key operation")
    func cheapChecksFirst() throws {
        let chains = Self.chains()
        let ca = Fixture.ca
        var swapped = ca.chain
        swapped.certificates.swapAt(0, 1)
        let marker = CertificateExtension.leafMarkerOID
        let refused: [(SigningChain, Verdict)] = [
            (swapped, .invalidChain),
            (Fixture.chain(leaf: { $0[marker] = nil }), .wrongCertificatePurpose),
            (Fixture.chain(leaf: { $0.issuer = $0.subject }), .invalidChain),
            (Fixture.chain(leaf: { $0.notAfter = $0.notBefore }), .certificateExpired),
            (Fixture.chain(leaf: { $0.serial = [0] }), .malformed),
            (Fixture.chain(intermediate: { $0.issuer = $0.subject }), .untrustedChain),
            (Fixture.chain(leaf: { $0.setAlgorithm(.ecdsaWithSHA512) }), .unsupportedAlgorithm),
        ]
        for (chain, verdict) in refused {
            #expect(Self.resolve(Self.header(chain), by: chains) == verdict)
        }
        #expect(Self.resolve(Array("e30".utf8), by: chains) == .unsupportedAlgorithm)
        #expect(chains.validations == 0)
    }
}
