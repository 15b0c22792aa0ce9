@testable import Assay
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Line 72 of the catalogue of hostile input: a renewed root, with both certificates pinned.
@Suite struct HostileRootTests {
    private static let day: Int64 = 86_400

    private static func validity(_ first: Int64, _ last: Int64) -> Validity {
        Validity(notBefore: Fixture.time(first * day), notAfter: Fixture.time(last * day))
    }

    /// One name and key. The old root was valid until ten days ago, the new one from twenty days
    /// ago.
    private static let (old, new, key) = Fixture.made {
        let key = try SigningKey(generating: .p384)
        return (
            try DevelopmentCA.makeRoot(validity: validity(-1000, -10), key: key).der,
            try DevelopmentCA.makeRoot(validity: validity(-20, 1000), key: key).der, key
        )
    }
    /// The same name with another key.
    private static let namesake = Fixture.made {
        try DevelopmentCA.makeRoot(validity: validity(-2000, 2000)).der
    }
    private static let chain = Fixture.made {
        let intermediate = try DevelopmentCA.makeIntermediate(
            under: IssuedCertificate(der: [], key: key), validity: validity(-2000, 2000)
        ) { _ in }
        let leaf = try DevelopmentCA.makeLeaf(
            under: intermediate.key, validity: validity(-1500, 1500)
        ) { _ in }
        return SigningChain(certificates: [leaf.der, intermediate.der, old], key: leaf.key)
    }

    private static let orders = [
        [old, new], [new, old], [namesake, old, new], [new, namesake, old], [old, new, namesake],
    ]
    private static let dates: [(day: Int64, Verdict)] = [
        (-1400, .certificateExpired), (-100, .valid), (-15, .valid), (-1, .valid),
        (900, .valid), (1400, .certificateExpired),
    ]

    private static func verdict(_ day: Int64, by verifier: Verifier) -> Verdict {
        let token = Fixture.token(Fixture.payload(signed: Fixture.time(day * Self.day)), chain)
        let answer = Fixture.verify(token, at: Fixture.time(1450 * Self.day), by: verifier)
        #expect((answer.evidence != nil) == (answer.verdict == .valid))
        return answer.verdict
    }

    @Test("line 72: of two pinned roots with one name and key, the one valid at the date is used")
    func renewedRoot() {
        for roots in Self.orders {
            let trust = Fixture.made {
                try roots.reduce(TrustStore.empty) { try $0.pinning($1, development: false) }
            }
            // Verifies each date with empty caches first, then all dates in both directions.
            for (day, verdict) in Self.dates {
                #expect(Self.verdict(day, by: Verifier(trust: trust)) == verdict, "day \(day)")
            }
            let verifier = Verifier(trust: trust)
            for (day, verdict) in Self.dates + Self.dates.reversed() {
                #expect(Self.verdict(day, by: verifier) == verdict, "day \(day)")
            }
            #expect(verifier.chains.validations == 1)
            #expect(
                verifier.statistics.chains.map(\.notAfter) == [Fixture.time(1000 * Self.day)])
        }
    }

    @Test("line 72: neither root is valid outside its own dates")
    func oneRoot() {
        let cases: [(roots: [[UInt8]], day: Int64, Verdict)] = [
            ([Self.old], -100, .valid), ([Self.old], -1, .certificateExpired),
            ([Self.new], -100, .certificateExpired), ([Self.new], -1, .valid),
            // A namesake that is valid on that day did not sign the chain.
            ([Self.namesake, Self.old], -1, .certificateExpired),
            ([Self.old, Self.namesake], -1, .certificateExpired),
            ([Self.namesake], -1, .untrustedChain),
        ]
        for (index, (roots, day, verdict)) in cases.enumerated() {
            let trust = Fixture.made {
                try roots.reduce(TrustStore.empty) { try $0.pinning($1, development: false) }
            }
            let verifier = Verifier(trust: trust)
            for _ in 0..<2 {
                #expect(Self.verdict(day, by: verifier) == verdict, "case \(index)")
            }
        }
    }

    @Test("line 72: with one denied, the other is valid at its own dates")
    func deniedRoot() {
        let denied = Fingerprint(SHA256.digest(Self.old.span))
        for roots in Self.orders {
            let trust = Fixture.made {
                try roots.reduce(TrustStore.empty) { try $0.pinning($1, development: false) }
            }
            let verifier = Verifier(trust: trust.denying([denied]))
            for (day, verdict) in [(-1, Verdict.valid), (-100, .certificateExpired)] {
                #expect(Self.verdict(Int64(day), by: verifier) == verdict)
            }
        }
    }

    @Test("line 72: a key pinned for development in one certificate is so in all")
    func development() {
        for (first, second) in [(Self.old, Self.new), (Self.new, Self.old)] {
            for (isFirst, isSecond) in [(true, false), (false, true), (true, true)] {
                let trust = Fixture.made {
                    try TrustStore.empty.pinning(first, development: isFirst)
                        .pinning(second, development: isSecond)
                        .pinning(Self.namesake, development: false)
                }
                #expect(trust.anchors.map(\.development) == [true, true, false])
                for day: Int64 in [-100, -15, -1] {
                    #expect(Self.verdict(day, by: Verifier(trust: trust)) == .untrustedChain)
                }
            }
        }
    }

    @Test("line 72: two pinned roots with one name and key, for receipts")
    func receipts() throws {
        let now = MintedReceipts.now
        func validity(_ first: Int64, _ last: Int64) -> Validity {
            Validity(
                notBefore: now.advanced(by: first * Self.day * 1000),
                notAfter: now.advanced(by: last * Self.day * 1000))
        }
        let old = try ReceiptCA.makeRoot(validity: validity(-1000, -10), digest: .sha256)
        let new = try ReceiptCA.makeRoot(
            validity: validity(-20, 1000), digest: .sha256, key: old.key)
        let intermediate = try ReceiptCA.makeIntermediate(
            under: old, validity: validity(-2000, 2000), digest: .sha256)
        let leaf = try ReceiptCA.makeLeaf(
            under: intermediate, validity: validity(-2000, 2000), digest: .sha256)
        let chain = SigningChain(
            certificates: [leaf.der, intermediate.der, old.der], key: leaf.key)
        for roots in [[old.der, new.der], [new.der, old.der]] {
            let trust = try roots.reduce(TrustStore.empty) {
                try $0.pinning($1, development: false)
            }
            let verifier = Verifier(trust: trust)
            for (day, verdict) in [
                (-1400, Verdict.certificateExpired), (-100, .valid), (-15, .valid), (-1, .valid),
                (-100, .valid),
            ] {
                var sample = MintedReceipts.sample()
                sample.creationDate = now.advanced(by: Int64(day) * Self.day * 1000)
                let receipt = try ReceiptMinter(chain).sign(sample.payload)
                #expect(try HostileReceipts.verdict(receipt, verifier) == verdict, "day \(day)")
            }
        }
    }
}
