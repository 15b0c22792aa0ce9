import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Lines 46 to 55 of the catalogue of hostile input: correctly signed receipts with one fault
/// each. Line 57 is in AppReceiptStreamTests.
@Suite struct HostileReceiptTests {
    private typealias Minted = MintedReceipts

    // MARK: CMS

    @Test("line 46: digestAlgorithms empty, or without the signer's")
    func digestAlgorithms() throws {
        #expect(try HostileReceipts.verdict { $0.digestAlgorithms = [] } == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.digestAlgorithms = [ReceiptDigest.sha1.der] }
                == .malformed)
        let both = [ReceiptDigest.sha1.der, ReceiptDigest.sha256.der]
        #expect(try HostileReceipts.verdict { $0.digestAlgorithms = both } == .valid)
        #expect(
            try HostileReceipts.verdict {
                $0.digestAlgorithms = Array(repeating: both[1], count: 9)
            }
                == .malformed)
    }

    @Test("line 47: messageDigest and contentType must occur once and be correct")
    func signedAttributes() throws {
        typealias Attributes = SignedAttributesBuilder
        let content = Minted.sample().payload
        let type = Attributes.contentType("1.2.840.113549.1.7.1")
        let digest = Attributes.messageDigest(of: content, .sha256)
        let other = Attributes.messageDigest(of: [1], .sha256)
        let digestOID = "1.2.840.113549.1.9.4"
        let octets = SHA256.digest(content.span).octets.span.array
        let cases: [(String, [[UInt8]], Verdict)] = [
            ("both", [type, digest], .valid),
            ("no attribute", [], .invalidSignature),
            ("no digest", [type], .invalidSignature),
            ("no type", [digest], .invalidSignature),
            ("digest twice", [type, digest, digest], .invalidSignature),
            ("right and wrong digest", [type, digest, other], .invalidSignature),
            ("wrong digest", [type, other], .invalidSignature),
            ("type twice", [type, type, digest], .invalidSignature),
            (
                "other type", [Attributes.contentType("1.2.840.113549.1.7.2"), digest],
                .invalidSignature
            ),
            (
                "two values",
                [
                    type,
                    Attributes.attribute(digestOID) {
                        $0.octetString(octets); $0.octetString([])
                    },
                ],
                .invalidSignature
            ),
            ("no value", [type, Attributes.attribute(digestOID) { _ in }], .invalidSignature),
            (
                "digest as BIT STRING",
                [type, Attributes.attribute(digestOID) { $0.bitString(octets) }],
                .invalidSignature
            ),
            (
                "digest as INTEGER",
                [type, Attributes.attribute(digestOID) { $0.element(tag: 2, content: octets) }],
                .invalidSignature
            ),
            ("empty digest", [type, Attributes.messageDigest([])], .invalidSignature),
            (
                "another attribute",
                [type, digest, Attributes.attribute("1.2.3.4") { $0.integer(1) }], .valid
            ),
            ("not an attribute", [type, digest, [0x02, 0x01, 0x01]], .malformed),
        ]
        for (name, attributes, expected) in cases {
            let verdict = try HostileReceipts.verdict {
                $0.signers[0].signedAttributes = Attributes(attributes)
            }
            #expect(verdict == expected, "\(name)")
        }
    }

    @Test("line 48: the signature covers the attributes if present, otherwise the content")
    func signedOctets() throws {
        let content = Minted.sample().payload
        let attributes = SignedAttributesBuilder(of: content, .sha256)
        let inside = attributes.attributes.sorted { $0.lexicographicallyPrecedes($1) }.joined()
        let set = DERWriter.header(tag: 0x31, count: inside.count) + inside
        let tagged = DERWriter.header(tag: 0xA0, count: inside.count) + inside
        // A signature over the content, or over the attributes with their tag [0].
        for octets in [content, tagged] {
            let verdict = try HostileReceipts.verdict {
                $0.signers[0].signedAttributes = attributes
                $0.signers[0].signedOctets = octets
            }
            #expect(verdict == .invalidSignature)
        }
        // RFC 5652, 5.4: the attributes of a receipt pose as the content of another receipt.
        let substituted = try HostileReceipts.verdict {
            $0.content = set
            $0.signers[0].signedOctets = set
        }
        #expect(substituted == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.signers[0].signedOctets = set } == .invalidSignature)
    }

    @Test("line 49: exactly one signer, whose certificate is present")
    func signers() throws {
        #expect(try HostileReceipts.verdict { $0.signers = [] } == .malformed)
        #expect(try HostileReceipts.verdict { $0.signers.append($0.signers[0]) } == .malformed)
        #expect(
            try HostileReceipts.verdict {
                $0.signers = Array(repeating: $0.signers[0], count: 1000)
            }
                == .malformed)
        let forged = try HostileReceipts.verdict {
            var signer = $0.signers[0]
            signer.signature = [UInt8](repeating: 1, count: 256)
            $0.signers.append(signer)
        }
        #expect(forged == .malformed)
        let ca = try Minted.ca.get()
        let noMatch = try HostileReceipts.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.issuerAndSerialNumber(
                of: ca.rootCertificate)
            $0.certificates = [ca.leafCertificate, ca.intermediateCertificate]
        }
        #expect(noMatch == .invalidChain)
        let key = ca.leafKey.keyIdentifier
        let byKey = try HostileReceipts.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier(key)
            $0.signers[0].version = 3
            $0.version = 3
        }
        #expect(byKey == .valid)
        let byNobody = try HostileReceipts.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier([1, 2, 3])
            $0.signers[0].version = 3
            $0.version = 3
        }
        #expect(byNobody == .invalidChain)
        let garbage = try HostileReceipts.verdict { $0.signers[0].trailing = [0x05, 0x00] }
        #expect(garbage == .malformed)
    }

    @Test("line 50: detached, not id-data, nested, certificates only")
    func content() throws {
        #expect(try HostileReceipts.verdict { $0.isDetached = true } == .malformed)
        #expect(
            try HostileReceipts.verdict(.ber(segment: 10)) { $0.isDetached = true } == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.eContentType = "1.2.840.113549.1.7.2" } == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.contentType = "1.2.840.113549.1.7.1" } == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.contentType = "1.2.840.113549.1.7.3" } == .malformed)
        let nested = try HostileReceipts.minter().sign(Minted.sample().payload)
        #expect(try HostileReceipts.verdict(payload: nested) == .malformed)
        let degenerate = try HostileReceipts.verdict {
            $0.isDetached = true
            $0.signers = []
            $0.digestAlgorithms = []
        }
        #expect(degenerate == .malformed)
        #expect(try HostileReceipts.verdict { $0.writtenContent = $0.content + [0] } == .malformed)
        let changed = try HostileReceipts.verdict {
            var other = Minted.sample()
            other.seed = 9
            $0.writtenContent = other.payload
        }
        #expect(changed == .invalidSignature)
    }

    @Test("line 51: only SHA-1 and SHA-256 with RSA PKCS #1 v1.5")
    func algorithms() throws {
        #expect(
            try HostileReceipts.verdict(
                try HostileReceipts.minter(.sha1).sign(Minted.sample().payload)) == .valid)
        let digests = [
            "1.2.840.113549.2.5", "2.16.840.1.101.3.4.2.2", "2.16.840.1.101.3.4.2.3",
            "2.16.840.1.101.3.4.2.4",
        ]
        for oid in digests {
            let verdict = try HostileReceipts.verdict {
                $0.signers[0].digestAlgorithm = HostileReceipts.algorithm(oid)
                $0.digestAlgorithms.append(HostileReceipts.algorithm(oid))
            }
            #expect(verdict == .unsupportedAlgorithm, "\(oid)")
        }
        let signatures: [(String, Verdict)] = [
            ("1.2.840.113549.1.1.11", .valid), ("1.2.840.113549.1.1.1", .valid),
            ("1.2.840.113549.1.1.5", .unsupportedAlgorithm),
            ("1.2.840.113549.1.1.12", .unsupportedAlgorithm),
            ("1.2.840.113549.1.1.10", .unsupportedAlgorithm),
            ("1.2.840.10045.4.3.2", .unsupportedAlgorithm),
            ("1.3.101.112", .unsupportedAlgorithm),
        ]
        for (oid, expected) in signatures {
            let verdict = try HostileReceipts.verdict {
                $0.signers[0].signatureAlgorithm = HostileReceipts.algorithm(oid)
            }
            #expect(verdict == expected, "\(oid)")
        }
        let parameters = try HostileReceipts.verdict {
            $0.signers[0].digestAlgorithm = DERWriter.build { writer in
                writer.sequence {
                    $0.oid("2.16.840.1.101.3.4.2.1"); $0.integer(1)
                }
            }
        }
        #expect(parameters == .unsupportedAlgorithm || parameters == .malformed)
    }

    @Test("line 52: signatures of other lengths or bits")
    func signatures() throws {
        let content = Minted.sample().payload
        let right = try Minted.ca.get().leafKey.sign(content, digest: .sha256)
        var flipped = right
        flipped[255] ^= 1
        let wrong: [[UInt8]] = [
            [], [0], Array(right.dropLast()), right + [0], [0] + right, flipped,
            [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xFF, count: 256),
            [UInt8](repeating: 0, count: 255) + [1], Array(right.reversed()),
        ]
        #expect(try HostileReceipts.verdict { $0.signers[0].signature = right } == .valid)
        for signature in wrong {
            let verdict = try HostileReceipts.verdict { $0.signers[0].signature = signature }
            #expect(verdict == .invalidSignature, "\(signature.count)")
        }
        // The hash is from one algorithm, and the signer names another.
        let confused = try HostileReceipts.verdict { $0.signers[0].digest = .sha1 }
        #expect(confused == .invalidSignature)
    }

    @Test("line 53: forms of BER")
    func encodings() throws {
        let payload = Minted.sample().payload
        let der = try HostileReceipts.minter().sign(payload)
        let ber = try HostileReceipts.minter(.sha256, .ber(segment: 64)).sign(payload)
        #expect(try HostileReceipts.verdict(ber) == .valid)
        #expect(
            try HostileReceipts.verdict(Array(ber.dropLast(2))) == .malformed,
            "missing end of contents")
        for trailing in [[0], [0, 0], [0x30, 0x00], [0x0A], [0x20]] as [[UInt8]] {
            #expect(try HostileReceipts.verdict(der + trailing) == .malformed, "\(trailing)")
            #expect(try HostileReceipts.verdict(ber + trailing) == .malformed, "\(trailing)")
        }
        #expect(try HostileReceipts.verdict { $0.trailingInside = [0x05, 0x00] } == .malformed)
        #expect(
            try HostileReceipts.verdict { $0.trailingInside = [0x00, 0x00] } == .malformed,
            "EOC in definite")
        let lengths: [[UInt8]] = [
            [0x30, 0x84, 0x80, 0, 0, 0], [0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0],
            [0x30, 0x85, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0xFF], [0x30, 0x84, 0, 0, 0, 0],
            [0x3F, 0x81, 0x01, 0x00], [0x1F, 0x1F, 0x00], [0x30, 0x00], [0x30, 0x80, 0x00, 0x00],
            [0x30, 0x80, 0x00, 0x01], [0x30, 0x80, 0x30, 0x80],
        ]
        for start in lengths {
            #expect(try HostileReceipts.verdict(start) == .malformed)
            #expect(try HostileReceipts.verdict(start + der) == .malformed)
        }
        let deep = [UInt8](repeating: 0, count: 20_000).indices.map {
            UInt8($0 % 2 == 0 ? 0x30 : 0x80)
        }
        #expect(try HostileReceipts.verdict(deep) == .malformed, "depth 10,000")
        let nested = Array(repeating: [0x24, 0x80] as [UInt8], count: 10_000).joined()
        let prefix = Array(ber[..<(ber.firstIndex(of: 0x24) ?? 0)])
        #expect(try HostileReceipts.verdict(prefix + nested) == .malformed, "nested OCTET STRINGs")
        // A length that is not minimal is legal BER, but only in the wrapping.
        let overlong = [0x30, 0x84, 0, 0] + der[2...]
        #expect(der[1] == 0x82)
        #expect(try HostileReceipts.verdict(Array(overlong)) == .valid)
    }

    @Test("lines 53, 76: hundreds of thousands of segments with few octets or none")
    func tinySegments() throws {
        var sample = Minted.sample(.bytes(400_000))
        sample.seed = 53
        let payload = sample.payload
        let limit = 64
        func receipt(_ segment: Int, _ payload: [UInt8]) throws -> [UInt8] {
            try HostileReceipts.minter(.sha256, .ber(segment: segment)).sign(payload)
        }
        // Segments of 64 octets are unlimited, and the last can be shorter. At most 4,096
        // segments can be shorter than 64 octets.
        #expect(try HostileReceipts.verdict(receipt(limit, payload)) == .valid)
        #expect(try HostileReceipts.verdict(receipt(limit - 1, payload)) == .malformed)
        #expect(try HostileReceipts.verdict(receipt(1, payload)) == .malformed)
        #expect(try HostileReceipts.verdict(receipt(1, Minted.sample().payload)) == .valid)
        let real = try receipt(1_000, payload)
        // Empty segments before the genuine ones, then without an end.
        let start = try #require(real.firstIndex(of: 0x24)) + 2
        func stuffed(_ count: Int) -> [UInt8] {
            Array(real[..<start]) + [[UInt8]](repeating: [4, 0], count: count).joined()
                + real[start...]
        }
        #expect(try HostileReceipts.verdict(stuffed(4_095)) == .valid)
        #expect(try HostileReceipts.verdict(stuffed(4_097)) == .malformed)
        let prefix = Array(real[..<start])
        let empty = [UInt8](repeating: 0, count: 600_000).indices.map { UInt8($0 % 2 == 0 ? 4 : 0) }
        #expect(try HostileReceipts.verdict(prefix + empty) == .malformed)
    }

    @Test("line 54: many and endless certificates")
    func bags() throws {
        let ca = try Minted.ca.get()
        func verdict(_ certificates: [[UInt8]]?) throws -> Verdict {
            try HostileReceipts.verdict { $0.certificates = certificates }
        }
        let chain = ca.chain.certificates
        #expect(try verdict(nil) == .invalidChain)
        #expect(try verdict([]) == .invalidChain)
        #expect(try verdict(chain.reversed()) == .valid)
        #expect(try verdict(chain + chain) == .valid, "duplicates")
        #expect(try verdict(Array(chain.dropLast())) == .valid, "without the root")
        #expect(try verdict([chain[0]]) == .untrustedChain)
        #expect(try verdict(Array(repeating: chain[2], count: 13) + chain) == .valid)
        #expect(try verdict(Array(repeating: chain[2], count: 14) + chain) == .invalidChain)
        #expect(try verdict(chain + Array(repeating: chain[2], count: 10_000)) == .invalidChain)
        let huge = DERWriter.build {
            $0.element(tag: 0x30, content: .init(repeating: 0, count: 5 << 20))
        }
        #expect(try verdict(chain + [huge]) == .malformed)
        #expect(try verdict(chain + [[0x30, 0x00]]) == .malformed)
        #expect(try verdict(chain + [[0xA1, 0x00]]) == .malformed, "attribute certificate")
        #expect(try HostileReceipts.verdict { $0.crls = [0x30, 0x00] } == .valid)
        #expect(
            try HostileReceipts.verdict { $0.crls = .init(repeating: 0x30, count: 1 << 20) }
                == .valid,
            "skipped unread")
    }

    @Test("line 55: a signer that is not the one of the chain")
    func decoys() throws {
        let ca = try Minted.ca.get()
        let validity = Validity.around(Minted.now, days: 100)
        let intermediate = IssuedCertificate(
            der: ca.intermediateCertificate, key: try #require(ca.intermediateKey))
        func chain(
            under issuer: IssuedCertificate,
            _ configure: (inout CertificateBuilder) -> Void = { _ in }
        ) throws -> SigningChain {
            let leaf = try ReceiptCA.makeLeaf(
                under: issuer, validity: validity, digest: .sha256, configure: configure)
            return SigningChain(
                certificates: [leaf.der, issuer.der, ca.rootCertificate], key: leaf.key)
        }
        func verdict(_ chain: SigningChain, and decoys: [[UInt8]] = []) throws -> Verdict {
            try HostileReceipts.verdict(
                try ReceiptMinter(chain).sign(Minted.sample().payload) {
                    $0.certificates = decoys + chain.certificates
                })
        }
        #expect(try verdict(chain(under: intermediate)) == .valid)
        // A foreign chain, with the genuine certificates beside it.
        let other = try ReceiptCA.make(at: Minted.now)
        #expect(try verdict(other.chain, and: ca.chain.certificates) == .invalidChain)
        #expect(try verdict(other.chain) == .untrustedChain)
        // The foreign key under the name and serial number of the genuine leaf.
        let impostor = try HostileReceipts.verdict(
            try ReceiptMinter(ca.chain).sign(Minted.sample().payload) {
                $0.signers[0].key = other.leafKey
            })
        #expect(impostor == .invalidSignature)
        let leafMarker = CertificateExtension.leafMarkerOID
        let unmarked = try chain(under: intermediate) { $0[leafMarker] = nil }
        #expect(try verdict(unmarked) == .wrongCertificatePurpose)
        let root = IssuedCertificate(der: ca.rootCertificate, key: try #require(ca.rootKey))
        let plain = try ReceiptCA.makeIntermediate(
            under: root, validity: validity, digest: .sha256
        ) { $0[CertificateExtension.intermediateMarkerOID] = nil }
        #expect(try verdict(chain(under: plain)) == .wrongCertificatePurpose)
        let authority = try chain(under: intermediate) {
            $0[CertificateExtension.basicConstraintsOID] = .basicConstraints(ca: true)
        }
        #expect(try verdict(authority) == .invalidChain)
        let old = try chain(under: intermediate) {
            $0.notAfter = Timestamp(milliseconds: Minted.now.milliseconds - 1000)
        }
        #expect(try verdict(old) == .certificateExpired)
        // A leaf that issues another leaf.
        let leaf = IssuedCertificate(der: ca.leafCertificate, key: ca.leafKey)
        let child = try ReceiptCA.makeLeaf(under: leaf, validity: validity, digest: .sha256) {
            $0.issuer = ReceiptCA.leafName
        }
        let below = SigningChain(
            certificates: [child.der] + ca.chain.certificates, key: child.key)
        #expect([.invalidChain, .untrustedChain].contains(try verdict(below)))
    }
}
