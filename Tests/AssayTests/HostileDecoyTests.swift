@testable import Assay
import AssayMint
import AssayModels
import Testing

/// Line 77 of the catalogue of hostile input: an attacker adds intermediates to a receipt, with
/// the name of the leaf's issuer.
@Suite struct HostileDecoyTests {
    private typealias Minted = MintedReceipts

    private static let validity = Validity.around(Minted.now, days: 1000)

    /// Makes distinct intermediates with the given issuer, the genuine intermediate's name and
    /// key, and an invalid signature.
    private static func decoys(
        _ count: Int, issuer: DistinguishedName = ReceiptCA.rootName,
        _ configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> [[UInt8]] {
        let root = try #require(Minted.ca.get().rootKey)
        let key = try #require(Minted.ca.get().intermediateKey)
        return try (0..<count).map { _ in
            try ReceiptCA.makeIntermediate(
                under: IssuedCertificate(der: [], key: root), validity: validity, digest: .sha256,
                key: key
            ) {
                $0.issuer = issuer
                $0.signature = [UInt8](repeating: 1, count: 256)
                configure(&$0)
            }.der
        }
    }

    private static func receipt(_ decoys: [[UInt8]], first: Bool = true) throws -> [UInt8] {
        let ca = try Minted.ca.get()
        let genuine = [ca.leafCertificate, ca.intermediateCertificate]
        return try HostileReceipts.minter().sign(Minted.sample().payload) {
            $0.certificates = first ? decoys + genuine : genuine + decoys
        }
    }

    @Test("line 77: intermediates added to a receipt of a known leaf cost no signature")
    func knownLeaf() throws {
        let verifier = try Minted.verifier()
        #expect(try HostileReceipts.verdict(Self.receipt([]), verifier) == .valid)
        #expect(verifier.links.verifications == 2)
        for count in [1, 13, 14] {
            for first in [true, false] {
                let receipt = try Self.receipt(Self.decoys(count), first: first)
                #expect(try HostileReceipts.verdict(receipt, verifier) == .valid)
            }
        }
        #expect(verifier.links.verifications == 2)
        // One more exceeds the limit on certificates.
        let full = try Self.receipt(Self.decoys(15))
        #expect(try HostileReceipts.verdict(full, verifier) == .invalidChain)
    }

    @Test("line 77: with an unknown leaf each costs one signature")
    func unknownLeaf() throws {
        for first in [true, false] {
            let verifier = try Minted.verifier()
            let receipt = try Self.receipt(Self.decoys(14), first: first)
            let answer = verifier.verify(
                receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            #expect(answer.verdict == .valid)
            #expect(verifier.links.verifications == (first ? 16 : 2))
        }
        // A refused chain is remembered, decoys included.
        let verifier = try Minted.verifier()
        let decoys = try Self.decoys(14)
        let receipt = try HostileReceipts.minter().sign(Minted.sample().payload) {
            $0.certificates = [$0.certificates?[0] ?? []] + decoys
        }
        for _ in 0..<3 {
            #expect(try HostileReceipts.verdict(receipt, verifier) == .untrustedChain)
        }
        #expect(verifier.links.verifications == 14)
    }

    @Test("line 77: an invalid decoy does not refuse a genuine receipt, and is not tried again")
    func uselessDecoys() throws {
        let verifier = try Minted.verifier()
        #expect(try HostileReceipts.verdict(Self.receipt([]), verifier) == .valid)
        let kinds: [(inout CertificateBuilder) -> Void] = [
            { $0[CertificateExtension.intermediateMarkerOID] = nil },
            { $0[CertificateExtension.basicConstraintsOID] = .basicConstraints(ca: false) },
            { $0.setAlgorithm(.sha512WithRSA) },
            { $0.notAfter = Timestamp(milliseconds: Minted.now.milliseconds - 1000) },
            { $0.issuer = DistinguishedName(commonName: "Nobody") },
        ]
        for configure in kinds {
            let receipt = try Self.receipt(Self.decoys(14, configure))
            #expect(try HostileReceipts.verdict(receipt, verifier) == .valid)
        }
        #expect(verifier.links.verifications == 2)
    }

    /// Two roots signed the leaf's issuer. The store's order decides which root answers, not the
    /// receipt's order or the known chains.
    @Test func theRootDoesNotDependOnKnownChains() throws {
        let ca = try Minted.ca.get()
        let key = try #require(ca.intermediateKey)
        let name = DistinguishedName(commonName: "Another Root")
        let other = try ReceiptCA.makeRoot(validity: Self.validity, digest: .sha256) {
            ($0.subject, $0.issuer) = (name, name)
        }
        let crossed = try ReceiptCA.makeIntermediate(
            under: other, validity: Self.validity, digest: .sha256, key: key
        ) { $0.issuer = name }
        let roots = [ca.rootCertificate, other.der]
        let bags = [
            [ca.intermediateCertificate], [crossed.der],
            [ca.intermediateCertificate, crossed.der], [crossed.der, ca.intermediateCertificate],
            try [crossed.der] + Self.decoys(5) + [ca.intermediateCertificate],
        ]
        let receipts = try bags.map { bag in
            try HostileReceipts.minter().sign(Minted.sample().payload) {
                $0.certificates = [ca.leafCertificate] + bag
            }
        }
        for order in [roots, Array(roots.reversed())] {
            let trust = try order.reduce(TrustStore.empty) { try $0.pinning($1, development: true) }
            func answer(_ receipt: [UInt8], _ verifier: Verifier) -> Verification {
                verifier.verify(
                    receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            }
            let fresh = receipts.map { answer($0, Verifier(trust: trust)) }
            for index in 2..<5 {
                #expect(fresh[index].verdict == .valid)
                #expect(fresh[index].detail.contains(trust.anchors[0].name))
            }
            for first in receipts {
                let verifier = Verifier(trust: trust)
                _ = answer(first, verifier)
                for (receipt, expected) in zip(receipts, fresh) {
                    #expect(answer(receipt, verifier) == expected)
                }
            }
        }
    }
}
