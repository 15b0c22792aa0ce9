@testable import Assay
import AssayMint
import AssayModels
import Testing

/// Tests the table of chains with validated headers, under a hash that collides.
@Suite struct KnownChainsTests {
    private static func header(of token: [UInt8]) -> [UInt8] { Fixture.segments(token)[0] }

    private static func isKnown(_ chains: KnownChains, _ header: [UInt8]) -> Bool {
        chains.isKnown(header: header.span)
    }

    private static func chain(
        _ chains: KnownChains, _ header: [UInt8]
    ) throws -> KnownChain? {
        let date = EffectiveDate(signed: Fixture.now, now: Fixture.now)
        let outcome = try chains.resolve(
            header: header.span, effectiveDate: date, now: Fixture.now)
        guard case .validated(let chain) = outcome else { return nil }
        return chain
    }

    @Test("a header is compared with the cached one of the same hash")
    func collision() throws {
        let trust = Fixture.trust(Fixture.ca.rootCertificate)
        let chains = KnownChains(trust: trust, keyedHash: { _ in 7 })
        let genuine = Self.header(of: Fixture.token())
        let known = try #require(try Self.chain(chains, genuine))
        chains.enter(known)
        #expect(Self.isKnown(chains, genuine))
        #expect(try Self.chain(chains, genuine) === known)

        // Another genuine chain with the same hash is found as itself.
        let other = Fixture.chain()
        let second = Self.header(of: Fixture.token(Fixture.payload(), other))
        #expect(!Self.isKnown(chains, second))
        let found = try #require(try Self.chain(chains, second))
        #expect(found.header == second && found.chain.leaf.der == other.certificates[0])

        // A forged header with the same hash is rejected as it would be alone.
        let forged = [
            (Fixture.token(Fixture.payload(), Fixture.foreignCA.chain), Verdict.untrustedChain),
            (Fixture.token(header: { $0.alg = "none" }), .unsupportedAlgorithm),
            (Fixture.token(header: { $0.x5c = nil }), .invalidChain),
        ]
        for (token, verdict) in forged {
            let header = Self.header(of: token)
            #expect(!Self.isKnown(chains, header))
            do {
                _ = try Self.chain(chains, header)
                Issue.record("a forged header was resolved")
            } catch let refusal as Refusal {
                #expect(refusal.verdict == verdict)
            }
        }
    }

    @Test("of two headers with one hash the later one is kept")
    func replacement() throws {
        let trust = Fixture.trust(Fixture.ca.rootCertificate)
        let chains = KnownChains(trust: trust, keyedHash: { _ in 7 })
        let tokens = [Fixture.token(), Fixture.token(Fixture.payload(), Fixture.chain())]
        for token in tokens {
            let header = Self.header(of: token)
            chains.enter(try #require(try Self.chain(chains, header)))
            // A lookup adds the chain to the recent ones, which are compared with a token
            // directly.
            #expect(Self.isKnown(chains, header))
        }
        #expect(chains.counts.known == 1)
        #expect(!Self.isKnown(chains, Self.header(of: tokens[0])))
        #expect(Self.isKnown(chains, Self.header(of: tokens[1])))
        // Direct comparison does not find a forgotten chain either.
        for (token, isFound) in zip(tokens, [false, true]) {
            let found = chains.recent(token.span)
            #expect((found != nil) == isFound)
        }
    }

    @Test("an explanation makes the checks of a known chain, too")
    func explained() throws {
        let chains = KnownChains(trust: Fixture.trust(Fixture.ca.rootCertificate))
        let token = Fixture.token()
        func read(_ log: CheckLog?) throws {
            _ = try UnverifiedJWS.read(
                token.span, chains: ChainLookup(table: chains, cache: nil), now: Fixture.now,
                unknownChains: .validate, log: log)
        }
        chains.enter(try #require(try Self.chain(chains, Self.header(of: token))))
        try read(nil)
        let validations = chains.validations
        try read(nil)
        #expect(chains.validations == validations)
        let log = CheckLog(.transaction)
        try read(log)
        #expect(log.all.contains { $0.check == .rootSignature })
    }
}
