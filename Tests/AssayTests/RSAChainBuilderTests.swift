@testable import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Tests the search for an RSA path directly, with input that the evidence's own limits would
/// otherwise reject.
@Suite struct RSAChainBuilderTests {
    private static let date = EffectiveDate(signed: RSAChainTests.now, now: RSAChainTests.now)

    /// Returns nil if the chain validates.
    private static func refusal(
        _ leaf: [UInt8], _ bag: [[UInt8]], root: [UInt8]
    ) throws -> Refusal? {
        let builder = RSAChainBuilder(
            purpose: .receipts, trust: Fixture.trust(root), links: ValidatedLinks(),
            unknownChains: .validate)
        do throws(Refusal) {
            _ = try builder.validate(
                leaf: try Certificate.parse(leaf, as: .leaf),
                bag: try bag.map { (der) throws(Refusal) in
                    try Certificate.parse(der, as: .intermediate)
                }, effectiveDate: date)
            return nil
        } catch {
            return error
        }
    }

    @Test("line 54: a bag has at most 16 certificates")
    func bag() throws {
        let (leaf, root) = (try MintedRSA.leaf(), try MintedRSA.root())
        let intermediate = try MintedRSA.intermediate()
        for count in [1, 2, Limits.bagCertificates] {
            let bag = [[UInt8]](repeating: leaf, count: count - 1) + [intermediate]
            #expect(try Self.refusal(leaf, bag, root: root) == nil, "\(count)")
        }
        for count in [Limits.bagCertificates + 1, 100] {
            let bag = [intermediate] + [[UInt8]](repeating: leaf, count: count - 1)
            let refusal = try Self.refusal(leaf, bag, root: root)
            #expect(refusal?.verdict == .invalidChain, "\(count)")
            #expect(refusal?.detail.contains("\(count) certificates") == true)
        }
    }

    @Test("line 55: the root is valid at the effective date, to the second")
    func rootValidity() throws {
        let (leaf, intermediate) = (try MintedRSA.leaf(), try MintedRSA.intermediate())
        // A receipt's date has milliseconds, a certificate's has seconds.
        let second = RSAChainBuilderTests.date
        let seconds = try second.seconds()
        func at(_ offset: Int64) -> Timestamp {
            Timestamp(milliseconds: (seconds + offset) * 1000)
        }
        for (from, to, verdict) in [
            (-1000, 1000, nil), (-1000, 0, nil), (0, 1000, nil),
            (-1000, -1, .certificateExpired), (1, 1000, .certificateExpired),
        ] as [(Int64, Int64, Verdict?)] {
            let root = try MintedRSA.root {
                $0.notBefore = at(from)
                $0.notAfter = at(to)
            }
            let refusal = try Self.refusal(leaf, [intermediate], root: root)
            #expect(refusal?.verdict == verdict, "\(from) to \(to)")
            if let refusal { #expect(refusal.detail.hasPrefix("the root is valid from ")) }
        }
    }

    @Test("line 25: a root's path length and key usage must allow an intermediate")
    func rootConstraints() throws {
        let (leaf, intermediate) = (try MintedRSA.leaf(), try MintedRSA.intermediate())
        let (constraints, usage) = (
            CertificateExtension.basicConstraintsOID, CertificateExtension.keyUsageOID
        )
        let cases: [(String, Verdict?, (inout CertificateBuilder) -> Void)] = [
            ("as it is", nil, { _ in }),
            ("length 1", nil, { $0[constraints] = .basicConstraints(ca: true, pathLength: 1) }),
            (
                "length 0", .invalidChain,
                { $0[constraints] = .basicConstraints(ca: true, pathLength: 0) }
            ),
            ("no authority", .invalidChain, { $0[constraints] = .basicConstraints(ca: false) }),
            ("no constraints", .invalidChain, { $0[constraints] = nil }),
            ("another usage", .invalidChain, { $0[usage] = .keyUsage(.digitalSignature) }),
        ]
        for (name, verdict, change) in cases {
            let root = try MintedRSA.root(change)
            let refusal = try Self.refusal(leaf, [intermediate], root: root)
            #expect(refusal?.verdict == verdict, "\(name): \(refusal?.detail ?? "")")
        }
    }

    @Test("line 35: a validated link belongs to its two certificates")
    func links() throws {
        let leaf = try Certificate(der: MintedRSA.leaf())
        let issuer = try Certificate(der: MintedRSA.intermediate())
        // The same name with another key.
        let namesake = try Certificate(
            der: MintedRSA.intermediate {
                $0.subjectPublicKeyInfo = MintedRSA.otherKey.subjectPublicKeyInfo
            })
        let links = ValidatedLinks()
        for (certificate, holds) in [(issuer, true), (namesake, false), (issuer, true)] {
            let key = try #require(certificate.rsaKey(smallestBits: Limits.smallestRSAKeyBits))
            #expect(links.holds(leaf, under: certificate, key) == holds)
            #expect(links.isKnown(leaf, under: certificate) == holds)
        }
        #expect(!links.isKnown(issuer, under: leaf))
    }

    /// Returns a public key of `bits` bits. Its private key is unknown.
    private static func publicKey(bits: Int) -> [UInt8] {
        var modulus = [UInt8](repeating: 0xFF, count: (bits + 7) / 8)
        modulus[0] = UInt8(1 << ((bits - 1) % 8))
        if modulus[0] & 0x80 != 0 { modulus.insert(0, at: 0) }
        let key = DERWriter.build { writer in
            writer.sequence {
                $0.element(tag: 0x02, content: modulus)
                $0.element(tag: 0x02, content: [0x01, 0x00, 0x01])
            }
        }
        return DERWriter.build { writer in
            writer.sequence {
                $0.sequence {
                    $0.oid("1.2.840.113549.1.1.1")
                    $0.element(tag: 0x05, content: [])
                }
                $0.element(tag: 0x03, content: [0] + key)
            }
        }
    }

    @Test("line 52: a leaf's key has 2048 to 4096 bits")
    func keySizes() throws {
        let (intermediate, root) = (try MintedRSA.intermediate(), try MintedRSA.root())
        for (bits, verdict) in [
            (1024, .unsupportedAlgorithm), (2047, .unsupportedAlgorithm), (2048, nil), (4096, nil),
            (4097, .unsupportedAlgorithm),
        ] as [(Int, Verdict?)] {
            let leaf = try MintedRSA.leaf {
                $0.subjectPublicKeyInfo = Self.publicKey(bits: bits)
            }
            let refusal = try Self.refusal(leaf, [intermediate], root: root)
            #expect(refusal?.verdict == verdict, "\(bits) bits: \(refusal?.detail ?? "")")
        }
    }

    @Test("line 52: an intermediate with a 1024-bit key is refused")
    func intermediateKeySize() throws {
        let small = try MintedRSA.intermediate {
            $0.subjectPublicKeyInfo = MintedRSA.smallLeafKey.subjectPublicKeyInfo
        }
        let leaf = try MintedRSA.leaf(signedBy: MintedRSA.smallLeafKey)
        let refusal = try Self.refusal(leaf, [small], root: try MintedRSA.root())
        #expect(refusal?.verdict == .untrustedChain)
    }
}
