import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Receipts with one thing wrong each, signed all the same: lines 46 to 56 and 58 of the list of
/// hostile input. Line 57 is in AppReceiptStreamTests.
@Suite struct HostileReceiptTests {
    private typealias Minted = MintedReceipts
    private typealias Change = (inout SignedDataBuilder) -> Void

    /// The verdict in one piece, which has to be the one byte by byte.
    private static func verdict(
        _ bytes: [UInt8], _ verifier: Verifier? = nil, policy: Policy = Minted.policy
    ) throws -> Verdict {
        let verifier = try verifier ?? Minted.verifier()
        let whole = verifier.verify(bytes.span, as: .appReceipt, policy: policy, at: Minted.now)
        #expect((whole.evidence != nil) == (whole.verdict == .valid))
        if bytes.count < 100_000 {
            var stream = AppReceiptStream(verifier, policy: policy)
            for byte in bytes { stream.receive([byte].span) }
            #expect(stream.finish(at: Minted.now) == whole)
        }
        return whole.verdict
    }

    private static func minter(
        _ digest: ReceiptDigest = .sha256, _ encoding: ReceiptMinter.Encoding = .der
    ) throws -> ReceiptMinter {
        ReceiptMinter(try Minted.ca.get().chain, digest: digest, encoding: encoding)
    }

    private static func verdict(
        _ encoding: ReceiptMinter.Encoding = .der, changing change: Change
    ) throws -> Verdict {
        let payload = Minted.sample().payload
        return try verdict(try minter(.sha256, encoding).sign(payload, changing: change))
    }

    /// Of a payload that was signed as it is.
    private static func verdict(payload: [UInt8]) throws -> Verdict {
        try verdict(try minter().sign(payload))
    }

    private static func algorithm(_ oid: String, null: Bool = true) -> [UInt8] {
        SignatureAlgorithm(oid: oid, null: null, digest: .sha256).der
    }

    // MARK: CMS

    @Test("line 46: digestAlgorithms empty, or without the signer's")
    func digestAlgorithms() throws {
        #expect(try Self.verdict { $0.digestAlgorithms = [] } == .malformed)
        #expect(try Self.verdict { $0.digestAlgorithms = [ReceiptDigest.sha1.der] } == .malformed)
        let both = [ReceiptDigest.sha1.der, ReceiptDigest.sha256.der]
        #expect(try Self.verdict { $0.digestAlgorithms = both } == .valid)
        #expect(
            try Self.verdict { $0.digestAlgorithms = Array(repeating: both[1], count: 9) }
                == .malformed)
    }

    @Test("line 47: messageDigest and contentType have to be there once, and right")
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
            let verdict = try Self.verdict {
                $0.signers[0].signedAttributes = Attributes(attributes)
            }
            #expect(verdict == expected, "\(name)")
        }
    }

    @Test("line 48: the signature is over the attributes where there are some, else the content")
    func signedOctets() throws {
        let content = Minted.sample().payload
        let attributes = SignedAttributesBuilder(of: content, .sha256)
        let inside = attributes.attributes.sorted { $0.lexicographicallyPrecedes($1) }.joined()
        let set = DERWriter.header(tag: 0x31, count: inside.count) + inside
        let tagged = DERWriter.header(tag: 0xA0, count: inside.count) + inside
        // Over the content, or over the attributes with their tag [0].
        for octets in [content, tagged] {
            let verdict = try Self.verdict {
                $0.signers[0].signedAttributes = attributes
                $0.signers[0].signedOctets = octets
            }
            #expect(verdict == .invalidSignature)
        }
        // RFC 5652, 5.4: the attributes of a receipt passed off as the content of another.
        let substituted = try Self.verdict {
            $0.content = set
            $0.signers[0].signedOctets = set
        }
        #expect(substituted == .malformed)
        #expect(try Self.verdict { $0.signers[0].signedOctets = set } == .invalidSignature)
        // Signed in another order than DER's: they are hashed as they stand.
        let unordered = try Self.verdict {
            var attributes = attributes
            attributes.isSorted = false
            attributes.attributes.reverse()
            $0.signers[0].signedAttributes = attributes
        }
        #expect(unordered == .valid || unordered == .malformed)
    }

    @Test("line 49: exactly one signer, whose certificate is there")
    func signers() throws {
        #expect(try Self.verdict { $0.signers = [] } == .malformed)
        #expect(try Self.verdict { $0.signers.append($0.signers[0]) } == .malformed)
        #expect(
            try Self.verdict { $0.signers = Array(repeating: $0.signers[0], count: 1000) }
                == .malformed)
        let forged = try Self.verdict {
            var signer = $0.signers[0]
            signer.signature = [UInt8](repeating: 1, count: 256)
            $0.signers.append(signer)
        }
        #expect(forged == .malformed)
        let ca = try Minted.ca.get()
        let noMatch = try Self.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.issuerAndSerialNumber(
                of: ca.rootCertificate)
            $0.certificates = [ca.leafCertificate, ca.intermediateCertificate]
        }
        #expect(noMatch == .invalidChain)
        let key = ca.leafKey.keyIdentifier
        let byKey = try Self.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier(key)
            $0.signers[0].version = 3
        }
        #expect(byKey == .valid)
        let byNobody = try Self.verdict {
            $0.signers[0].identifier = SignerInfoBuilder.subjectKeyIdentifier([1, 2, 3])
        }
        #expect(byNobody == .invalidChain)
        let garbage = try Self.verdict { $0.signers[0].trailing = [0x05, 0x00] }
        #expect(garbage == .malformed)
    }

    @Test("line 50: detached, not id-data, nested, certificates only")
    func content() throws {
        #expect(try Self.verdict { $0.isDetached = true } == .malformed)
        #expect(try Self.verdict(.ber(segment: 10)) { $0.isDetached = true } == .malformed)
        #expect(try Self.verdict { $0.eContentType = "1.2.840.113549.1.7.2" } == .malformed)
        #expect(try Self.verdict { $0.contentType = "1.2.840.113549.1.7.1" } == .malformed)
        #expect(try Self.verdict { $0.contentType = "1.2.840.113549.1.7.3" } == .malformed)
        let nested = try Self.minter().sign(Minted.sample().payload)
        #expect(try Self.verdict(payload: nested) == .malformed)
        let degenerate = try Self.verdict {
            $0.isDetached = true
            $0.signers = []
            $0.digestAlgorithms = []
        }
        #expect(degenerate == .malformed)
        #expect(try Self.verdict { $0.writtenContent = $0.content + [0] } == .malformed)
        let changed = try Self.verdict {
            var other = Minted.sample()
            other.seed = 9
            $0.writtenContent = other.payload
        }
        #expect(changed == .invalidSignature)
    }

    @Test("line 51: SHA-1 and SHA-256 with RSA PKCS #1 v1.5, nothing else")
    func algorithms() throws {
        #expect(
            try Self.verdict(try Self.minter(.sha1).sign(Minted.sample().payload)) == .valid)
        let digests = [
            "1.2.840.113549.2.5", "2.16.840.1.101.3.4.2.2", "2.16.840.1.101.3.4.2.3",
            "2.16.840.1.101.3.4.2.4",
        ]
        for oid in digests {
            let verdict = try Self.verdict {
                $0.signers[0].digestAlgorithm = Self.algorithm(oid)
                $0.digestAlgorithms.append(Self.algorithm(oid))
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
            let verdict = try Self.verdict {
                $0.signers[0].signatureAlgorithm = Self.algorithm(oid)
            }
            #expect(verdict == expected, "\(oid)")
        }
        let parameters = try Self.verdict {
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
        #expect(try Self.verdict { $0.signers[0].signature = right } == .valid)
        for signature in wrong {
            let verdict = try Self.verdict { $0.signers[0].signature = signature }
            #expect(verdict == .invalidSignature, "\(signature.count)")
        }
        // Hashed with one algorithm and named another.
        let confused = try Self.verdict { $0.signers[0].digest = .sha1 }
        #expect(confused == .invalidSignature)
    }

    @Test("line 53: BER in its forms")
    func encodings() throws {
        let payload = Minted.sample().payload
        let der = try Self.minter().sign(payload)
        let ber = try Self.minter(.sha256, .ber(segment: 64)).sign(payload)
        #expect(try Self.verdict(ber) == .valid)
        #expect(try Self.verdict(Array(ber.dropLast(2))) == .malformed, "missing end of contents")
        for trailing in [[0], [0, 0], [0x30, 0x00], [0x0A], [0x20]] as [[UInt8]] {
            #expect(try Self.verdict(der + trailing) == .malformed, "\(trailing)")
            #expect(try Self.verdict(ber + trailing) == .malformed, "\(trailing)")
        }
        #expect(try Self.verdict { $0.trailingInside = [0x05, 0x00] } == .malformed)
        #expect(
            try Self.verdict { $0.trailingInside = [0x00, 0x00] } == .malformed, "EOC in definite")
        let lengths: [[UInt8]] = [
            [0x30, 0x84, 0x80, 0, 0, 0], [0x30, 0x88, 0x80, 0, 0, 0, 0, 0, 0, 0],
            [0x30, 0x85, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0xFF], [0x30, 0x84, 0, 0, 0, 0],
            [0x3F, 0x81, 0x01, 0x00], [0x1F, 0x1F, 0x00], [0x30, 0x00], [0x30, 0x80, 0x00, 0x00],
            [0x30, 0x80, 0x00, 0x01], [0x30, 0x80, 0x30, 0x80],
        ]
        for start in lengths {
            #expect(try Self.verdict(start) == .malformed)
            #expect(try Self.verdict(start + der) == .malformed)
        }
        let deep = [UInt8](repeating: 0, count: 20_000).indices.map {
            UInt8($0 % 2 == 0 ? 0x30 : 0x80)
        }
        #expect(try Self.verdict(deep) == .malformed, "depth 10,000")
        let nested = Array(repeating: [0x24, 0x80] as [UInt8], count: 10_000).joined()
        let prefix = Array(ber[..<(ber.firstIndex(of: 0x24) ?? 0)])
        #expect(try Self.verdict(prefix + nested) == .malformed, "nested OCTET STRINGs")
        // A length of BER that is not minimal is BER all the same, in the wrapping alone.
        let overlong = [0x30, 0x84, 0, 0] + der[2...]
        #expect(der[1] == 0x82)
        #expect(try Self.verdict(Array(overlong)) == .valid)
    }

    @Test("line 53: a million segments of one byte")
    func tinySegments() throws {
        var sample = Minted.sample(.bytes(200_000))
        sample.seed = 53
        let receipt = try Self.minter(.sha256, .ber(segment: 1)).sign(sample.payload)
        #expect(receipt.count > 590_000)
        #expect(try Self.verdict(receipt) == .valid)
        // Empty ones, without an end.
        let prefix = Array(receipt[..<(receipt.firstIndex(of: 0x24) ?? 0)]) + [0x24, 0x80]
        let empty = [UInt8](repeating: 0, count: 600_000).indices.map { UInt8($0 % 2 == 0 ? 4 : 0) }
        #expect(try Self.verdict(prefix + empty) == .malformed)
    }

    @Test("line 54: certificates without number or end")
    func bags() throws {
        let ca = try Minted.ca.get()
        func verdict(_ certificates: [[UInt8]]?) throws -> Verdict {
            try Self.verdict { $0.certificates = certificates }
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
        #expect(try Self.verdict { $0.crls = [0x30, 0x00] } == .valid)
        #expect(
            try Self.verdict { $0.crls = .init(repeating: 0x30, count: 1 << 20) } == .valid,
            "skipped unread")
    }

    @Test("line 55: another signer than the chain that is shown")
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
            try Self.verdict(
                try ReceiptMinter(chain).sign(Minted.sample().payload) {
                    $0.certificates = decoys + chain.certificates
                })
        }
        #expect(try verdict(chain(under: intermediate)) == .valid)
        // A chain of its own, the genuine one beside it.
        let other = try ReceiptCA.make(at: Minted.now)
        #expect(try verdict(other.chain, and: ca.chain.certificates) == .invalidChain)
        #expect(try verdict(other.chain) == .untrustedChain)
        // Its key, under the name and serial number of the genuine leaf.
        let impostor = try Self.verdict(
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
        // A leaf that issues another.
        let leaf = IssuedCertificate(der: ca.leafCertificate, key: ca.leafKey)
        let child = try ReceiptCA.makeLeaf(under: leaf, validity: validity, digest: .sha256) {
            $0.issuer = ReceiptCA.leafName
        }
        let below = SigningChain(
            certificates: [child.der] + ca.chain.certificates, key: child.key)
        #expect([.invalidChain, .untrustedChain].contains(try verdict(below)))
    }

    // MARK: The payload

    private static func payload(
        _ change: (inout [ReceiptAttribute]) -> Void
    ) -> [UInt8] {
        var attributes = Minted.sample().attributes
        change(&attributes)
        var payload = ReceiptPayload()
        for attribute in attributes { payload.append(attribute) }
        return payload.bytes
    }

    private static func set(_ type: Int64, _ value: [UInt8]) -> [UInt8] {
        payload { attributes in
            attributes.removeAll { $0.type == type }
            attributes.append(ReceiptAttribute(type: type, version: 1, value: value))
        }
    }

    @Test("line 56: attributes twice, unordered, unknown")
    func attributes() throws {
        for type in [0, 1, 2, 3, 4, 5, 8, 12, 15, 16, 18, 19, 25] as [Int64] {
            let twice = Self.payload { list in
                list += list.filter { $0.type == type }
            }
            #expect(try Self.verdict(payload: twice) == .malformed, "\(type) twice")
        }
        #expect(try Self.verdict(payload: Self.payload { $0.reverse() }) == .valid)
        let unknown = Self.payload {
            $0.append(ReceiptAttribute(type: 9999, version: 7, value: [1, 2, 3]))
            $0.append(ReceiptAttribute(type: 9999, version: 7, value: []))
            $0.append(ReceiptAttribute(type: -1, version: -7, value: []))
        }
        #expect(try Self.verdict(payload: unknown) == .valid)
        #expect(try Self.verdict(payload: Self.payload { $0[0].version = 2 }) == .valid)
        let many = Self.payload { list in
            list += (100..<5000).map { ReceiptAttribute(type: $0, version: 1, value: []) }
        }
        #expect(try Self.verdict(payload: many) == .valid)
        let large = Self.payload {
            $0.append(
                ReceiptAttribute(type: 99, version: 1, value: .init(repeating: 0, count: 1 << 20)))
        }
        #expect(try Self.verdict(payload: large) == .malformed)
    }

    @Test("line 56: values of wrong types, sizes and dates")
    func values() throws {
        func text(_ tag: UInt8, _ text: String) -> [UInt8] {
            DERWriter.build { $0.element(tag: tag, content: Array(text.utf8)) }
        }
        let cases: [(Int64, [UInt8], Verdict)] = [
            (3, text(0x0C, "1"), .valid), (3, text(0x16, "1"), .valid),
            (3, text(0x04, "1"), .malformed),
            (3, [], .malformed), (3, [0x0C, 0x02, 0x41], .malformed),
            (3, text(0x0C, "1") + [0], .malformed), (3, [0x0C, 0x01, 0xFF], .malformed),
            (2, text(0x0C, ""), .wrongBundle), (2, text(0x0C, "com.example.game\0"), .wrongBundle),
            (16, [0x02, 0x01, 0xFF], .valid),
            (16, [0x02, 0x08] + .init(repeating: 0x7F, count: 8), .valid),
            (16, [0x02, 0x09] + .init(repeating: 0x7F, count: 9), .malformed),
            (16, [0x02, 0x00], .malformed), (16, [0x02, 0x02, 0x00, 0x01], .malformed),
            (16, text(0x0C, "1"), .malformed),
            (18, text(0x16, ""), .valid), (18, text(0x16, "9999-12-31T23:59:59Z"), .valid),
            (18, text(0x16, "10000-01-01T00:00:00Z"), .malformed),
            (18, text(0x16, "2015-02-29T00:00:00Z"), .malformed),
            (18, text(0x16, "2016-02-29T00:00:00Z"), .valid),
            (18, text(0x16, "2015-01-01T24:00:00Z"), .malformed),
            (18, text(0x16, "2015-01-01T00:00:00.304Z"), .valid),
            (18, text(0x16, "2015-01-01T00:00:00.3Z"), .malformed),
            (18, text(0x16, "2015-01-01T00:00:00"), .malformed),
            (18, text(0x16, "2015-01-01 00:00:00Z"), .malformed),
            (18, text(0x16, "2015-1-01T00:00:00ZZ"), .malformed),
            (18, text(0x16, "2015-01-01T0A:00:00Z"), .malformed),
            (12, text(0x16, "2099-01-01T00:00:00Z"), .invalidDate),
            (12, text(0x16, "2001-01-01T00:00:00Z"), .certificateExpired),
        ]
        for (type, value, expected) in cases {
            let verdict = try Self.verdict(payload: Self.set(type, value))
            #expect(verdict == expected, "\(type): \(hexadecimal(value.span))")
        }
        #expect(
            try Self.verdict(payload: Self.payload { $0.removeAll { $0.type == 2 } })
                == .wrongBundle)
        #expect(
            try Self.verdict(payload: Self.payload { $0.removeAll { $0.type == 0 } })
                == .wrongEnvironment)
    }

    @Test("line 56: the SET itself, and records in it")
    func structure() throws {
        let right = Minted.sample().payload
        var sequence = right
        sequence[0] = 0x30
        #expect(try Self.verdict(payload: sequence) == .malformed, "SEQUENCE")
        #expect(try Self.verdict(payload: []) == .malformed)
        #expect(try Self.verdict(payload: [0x31, 0x00]) == .wrongBundle)
        #expect(
            try Self.verdict(payload: [0x31, 0x80] + right.dropFirst(4) + [0, 0]) == .malformed)
        #expect(try Self.verdict(payload: right + [0]) == .malformed)
        #expect(try Self.verdict(payload: Array(right.dropLast())) == .malformed)
        #expect(try Self.verdict(payload: [0x31, 0x83, 0x00] + right[2...]) == .malformed)
        func record(_ type: Int64, _ value: [UInt8]) -> ReceiptAttribute {
            ReceiptAttribute(type: type, version: 1, value: value)
        }
        func verdict(_ attribute: ReceiptAttribute) throws -> Verdict {
            try Self.verdict(payload: Self.payload { $0.append(attribute) })
        }
        let quantity = record(1701, [0x02, 0x01, 0x01])
        #expect(try verdict(ReceiptPayload.inApp([])) == .valid)
        #expect(try verdict(ReceiptPayload.inApp([quantity])) == .valid)
        #expect(try verdict(ReceiptPayload.inApp([quantity, quantity])) == .malformed)
        #expect(try verdict(ReceiptPayload.inApp([ReceiptPayload.inApp([quantity])])) == .valid)
        #expect(
            try verdict(ReceiptPayload.inApp([record(5000, [1]), record(5000, [1])])) == .valid)
        #expect(try verdict(record(17, [0x30, 0x00])) == .malformed)
        #expect(try verdict(record(17, [])) == .malformed)
        #expect(try verdict(record(17, [0x31, 0x00, 0x00])) == .malformed)
        #expect(try verdict(record(17, [0x31, 0x02, 0x30, 0x00])) == .malformed)
        // The same transaction twice is Apple's to explain, not ours to refuse.
        var twice = ReceiptPayload()
        for attribute in Minted.sample().attributes { twice.append(attribute) }
        var purchases = SamplePurchases(bundleId: Minted.bundleId, until: Minted.now, seed: 1)
        let purchase = purchases.next()
        for _ in 0..<2 { twice.append(purchase) }
        #expect(try Self.verdict(payload: twice.bytes) == .valid)
    }

    @Test("line 58: what is no app receipt is told as what it is")
    func otherKinds() throws {
        let receipt = try Self.minter().sign(Minted.sample().payload)
        let base64 = ReceiptMinter.base64(receipt)
        func wrapper(_ payload: String, store: String = "AppleAppStore") -> [UInt8] {
            Array(
                "{\"Store\":\"\(store)\",\"TransactionID\":\"1\",\"Payload\":\"\(payload)\"}".utf8)
        }
        let text = String(decoding: base64, as: UTF8.self)
        let jws = try Minter(DevelopmentCA.make(at: Minted.now).chain).sign(Array("{}".utf8))
        let transaction = Array("{\"signature\" = \"AA==\";\"purchase-info\" = \"AA==\";}".utf8)
        let cases: [(String, [UInt8], Verdict)] = [
            ("wrapper", wrapper(text), .valid),
            (
                "wrapper, escaped", wrapper(text.split(separator: "/").joined(separator: "\\/")),
                .valid
            ),
            ("wrapped JWS", wrapper(String(decoding: jws, as: UTF8.self)), .wrongKind),
            ("wrapped wrapper", wrapper("{}"), .wrongKind),
            ("wrapper without payload", Array("{\"Store\":\"AppleAppStore\"}".utf8), .wrongKind),
            ("JSON", Array("{\"a\":1}".utf8), .wrongKind),
            ("JWS", jws, .wrongKind),
            ("transaction receipt", transaction, .wrongKind),
            ("transaction receipt in base64", Base64.encode(transaction.span), .wrongKind),
            ("gzip", [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0], .malformed),
            ("base64 twice", Base64.encode(base64.span), .malformed),
            ("base64url", base64.map { $0 == 0x2B ? 0x2D : $0 == 0x2F ? 0x5F : $0 }, .malformed),
            ("nothing", [], .malformed), ("a byte", [0x30], .malformed), ("M", [0x4D], .malformed),
            ("PEM", Array("-----BEGIN PKCS7-----\n".utf8) + base64, .malformed),
            ("spaces before", [0x20] + base64, .malformed),
            ("spaces behind", base64 + [0x20, 0x0D, 0x0A], .valid),
            ("NUL behind", base64 + [0], .malformed),
            ("quoted", [0x22] + base64 + [0x22], .malformed),
        ]
        for (name, bytes, expected) in cases {
            #expect(try Self.verdict(bytes) == expected, "\(name)")
        }
    }
}
