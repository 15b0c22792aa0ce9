@testable import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Tests the cache of parsed certificates and keys from validated RSA chains. It never changes an
/// answer, and holds only certificates that a pinned root vouches for.
@Suite struct ParsedCertificateTests {
    private typealias Minted = MintedReceipts

    /// Receipts that each differ from a genuine one in one way.
    private static func neighbours() throws -> [(name: String, receipt: [UInt8])] {
        let chain = try Minted.ca.get().chain.certificates
        let minter = ReceiptMinter(try Minted.ca.get().chain)
        let payload = Minted.sample(.count(40)).payload
        func signed(_ change: HostileReceipts.Change) throws -> [UInt8] {
            try minter.sign(payload, changing: change)
        }
        let other = try ReceiptCA.make(at: Minted.now)
        var all: [(String, [UInt8])] = [("genuine", try minter.sign(payload))]
        // One changed octet in each part of each certificate, mostly near its end.
        for index in 0..<3 {
            let size = chain[index].count
            for offset in [4, 40, size / 3, size / 2, size - 257, size - 40, size - 33, size - 1] {
                all.append(
                    (
                        "certificate \(index), octet \(offset)",
                        try signed { $0.certificates?[index][offset] ^= 1 }
                    ))
            }
        }
        all += [
            ("without the intermediate", try signed { $0.certificates?.remove(at: 1) }),
            ("without the leaf", try signed { $0.certificates?.remove(at: 0) }),
            ("without the root", try signed { $0.certificates?.remove(at: 2) }),
            ("in another order", try signed { $0.certificates?.reverse() }),
            ("the leaf twice", try signed { $0.certificates?.append(chain[0]) }),
            ("another root's", try ReceiptMinter(other.chain).sign(payload)),
            (
                "another root's under our intermediate",
                try signed { $0.certificates = [other.leafCertificate, chain[1]] }
            ),
            (
                "a wrong signature",
                try signed { $0.signers[0].signature = [UInt8](repeating: 1, count: 256) }
            ),
            ("a short signature", try signed { $0.signers[0].signature = [1] }),
            (
                "the intermediate as the signer",
                try signed {
                    $0.signers[0].identifier = SignerInfoBuilder.issuerAndSerialNumber(
                        of: chain[1])
                }
            ),
            (
                "another content",
                try signed { $0.writtenContent = Minted.sample(.count(41)).payload }
            ),
        ]
        return all
    }

    private static func answer(
        _ receipt: [UInt8], _ verifier: Verifier, at now: Timestamp = Minted.now
    ) -> Verification {
        verifier.verify(receipt.span, as: .appReceipt, policy: Minted.policy, at: now)
    }

    @Test("the cache of chains changes no answer", arguments: [1, 2, 3] as [UInt64])
    func sameAnswers(seed: UInt64) throws {
        let items = try Self.neighbours()
        let cold = try items.map { Self.answer($0.receipt, try Minted.verifier()) }
        #expect(cold[0].verdict == .valid)
        #expect(cold.count { $0.verdict == .valid } < cold.count / 2)
        #expect(cold.contains { $0.verdict == .untrustedChain })
        #expect(cold.contains { $0.verdict == .invalidSignature })
        let warm = try Minted.verifier()
        var random = SeededGenerator(seed: seed)
        for _ in 0..<3 {
            for index in items.indices.shuffled(using: &random) {
                #expect(
                    Self.answer(items[index].receipt, warm) == cold[index], "\(items[index].name)")
            }
        }
    }

    /// The validity of cached certificates is checked for each receipt.
    @Test func datesAreChecked() throws {
        let verifier = try Minted.verifier()
        var sample = Minted.sample()
        let minter = ReceiptMinter(try Minted.ca.get().chain)
        // The second time, the chain is found by the bytes of its certificates.
        for _ in 0..<2 {
            #expect(Self.answer(try minter.sign(sample.payload), verifier).verdict == .valid)
        }
        #expect(verifier.links.bags.count == 1)
        // Four years earlier: the intermediate was valid already, the leaf became valid two years
        // later.
        sample.creationDate = Timestamp(
            milliseconds: Minted.now.milliseconds - 126_144_000_000)
        let old = try minter.sign(sample.payload)
        #expect(Self.answer(old, verifier) == Self.answer(old, try Minted.verifier()))
        #expect(Self.answer(old, verifier).verdict == .certificateExpired)
    }

    @Test func onlyValidatedCertificatesAreKept() throws {
        let verifier = try Minted.verifier()
        let ca = try Minted.ca.get()
        let foreign = try ReceiptCA.make(at: Minted.now)
        for _ in 0..<3 {
            _ = Self.answer(
                try ReceiptMinter(foreign.chain).sign(Minted.sample().payload), verifier)
        }
        #expect(verifier.links.keptCertificates == 0)
        _ = Self.answer(try ReceiptMinter(ca.chain).sign(Minted.sample().payload), verifier)
        #expect(verifier.links.keptCertificates == 3)
        // A leaf that this intermediate did not sign, and one with decoys beside it.
        let minter = ReceiptMinter(ca.chain)
        for _ in 0..<2 {
            _ = Self.answer(
                try minter.sign(Minted.sample().payload) {
                    $0.certificates?[0][ca.leafCertificate.count - 1] ^= 1
                }, verifier)
            _ = Self.answer(
                try minter.sign(Minted.sample().payload) {
                    $0.certificates?.append(contentsOf: foreign.chain.certificates)
                }, verifier)
        }
        #expect(verifier.links.keptCertificates == 3)
    }

    /// The certificates of a receipt are not signed. A set is kept if all of it is the chain's.
    @Test func onlyBagsOfOneChainAreKept() throws {
        let ca = try Minted.ca.get()
        let foreign = try ReceiptCA.make(at: Minted.now)
        let minter = ReceiptMinter(ca.chain)
        let (leaf, intermediate, root) = (
            ca.leafCertificate, ca.intermediateCertificate, ca.rootCertificate
        )
        let bags: [(name: String, certificates: [[UInt8]], isKept: Bool)] = [
            ("the chain", [leaf, intermediate, root], true),
            ("in another order", [root, leaf, intermediate], true),
            ("without the root", [leaf, intermediate], true),
            ("the leaf twice", [leaf, leaf, intermediate], false),
            ("another root", [leaf, intermediate, foreign.rootCertificate], false),
            ("a fourth", [leaf, intermediate, root, foreign.leafCertificate], false),
        ]
        for (name, certificates, isKept) in bags {
            let verifier = try Minted.verifier()
            let receipt = try minter.sign(Minted.sample().payload) {
                $0.certificates = certificates
            }
            for _ in 0..<3 {
                #expect(Self.answer(receipt, verifier).verdict == .valid, "\(name)")
            }
            #expect(verifier.links.bags.count == (isKept ? 1 : 0), "\(name)")
        }
    }

    @Test func keptBagsAreBounded() throws {
        let (intermediate, root) = (try MintedRSA.intermediate(), try MintedRSA.root())
        let parsed = try Certificate(der: intermediate)
        let key = try #require(parsed.rsaKey(smallestBits: 2048))
        let trust = Fixture.trust(root)
        let links = ValidatedLinks()
        let builder = RSAChainBuilder(
            purpose: .receipts, trust: trust, links: links, unknownChains: .validate)
        let date = EffectiveDate(signed: RSAChainTests.now, now: RSAChainTests.now)
        for number in 0..<Limits.knownCertificateSets + 10 {
            let leaf = try Certificate(
                der: MintedRSA.leaf {
                    $0.serial = [1, UInt8(number >> 8), UInt8(number & 0xFF)]
                })
            #expect(links.holds(leaf, under: parsed, key))
            for _ in 0..<2 {
                _ = try builder.validate(leaf: leaf, bag: [leaf, parsed], effectiveDate: date)
            }
            #expect(links.bags.count <= Limits.knownCertificateSets)
        }
        #expect(links.bags.count == 10)
    }

    /// More genuine leaves than the cache holds: all stay valid, and the cache stays bounded.
    @Test func keptCertificatesAreBounded() throws {
        let links = ValidatedLinks()
        let issuer = try Certificate(der: MintedRSA.intermediate())
        let key = try #require(issuer.rsaKey(smallestBits: 2048))
        for number in 0..<UInt16(Limits.validatedLinks + 40) {
            let leaf = try Certificate(
                der: MintedRSA.leaf {
                    $0.serial = [1, UInt8(number >> 8), UInt8(number & 0xFF)]
                })
            #expect(links.holds(leaf, under: issuer, key))
            #expect(links.isKnown(leaf, under: issuer))
            #expect(links.keptCertificates <= Limits.validatedLinks + 1)
        }
        #expect(links.keptCertificates == 41)
    }

    /// The key is built once. The size bound is checked on every request.
    @Test func keysHaveTheirBounds() throws {
        let small = try Certificate(der: MintedRSA.leaf(key: MintedRSA.smallLeafKey))
        let large = try Certificate(der: MintedRSA.leaf())
        for _ in 0..<2 {
            #expect(small.rsaKey(smallestBits: Limits.legacyRSAKeyBits)?.bits == 1024)
            #expect(small.rsaKey(smallestBits: Limits.smallestRSAKeyBits) == nil)
            #expect(large.rsaKey(smallestBits: Limits.smallestRSAKeyBits)?.bits == 2048)
            #expect(large.rsaKey(smallestBits: 2049) == nil)
        }
        let copy = large
        #expect(copy.rsaKey(smallestBits: 2048) === large.rsaKey(smallestBits: 2048))
    }

    /// One thread at a time uses a prepared key, with either digest.
    @Test func threadsShareAKey() async throws {
        let verifier = try Minted.verifier()
        let chain = try Minted.ca.get().chain
        let receipts = try [ReceiptDigest.sha1, .sha256].map {
            try ReceiptMinter(chain, digest: $0).sign(Minted.sample().payload)
        }
        var bad = receipts[1]
        bad[bad.count - 1] ^= 1
        let all = receipts + [bad]
        let verdicts = await withTaskGroup(of: [Verdict].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<60).map { Self.answer(all[$0 % 3], verifier).verdict }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let expected = (0..<60).map { $0 % 3 == 2 ? Verdict.invalidSignature : .valid }
        #expect(verdicts.count == 8)
        #expect(verdicts.allSatisfy { $0 == expected })
    }
}
