@testable import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Lines 18 to 25 of the catalogue of hostile input: the chain in `x5c`.
@Suite struct HostileChainTests: HostileTokens {
    private typealias Extension = CertificateExtension

    @Test("line 18: x5c missing, of another length, or with entries that are not strings")
    func x5cCount() {
        let verifier = Verifier(trust: Fixture.trust(Fixture.ca.rootCertificate))
        let (leaf, intermediate, root) = genuine
        for certificates in [
            [], [leaf], [leaf, intermediate], [leaf, intermediate, root, root],
            [leaf, leaf, intermediate, root], [[], [], [], []], [intermediate],
        ] {
            expect(
                chain(certificates), .invalidChain, by: verifier, comment: "\(certificates.count)")
        }
        // A pinned certificate is a valid chain of one, but this key cannot sign evidence.
        expect(chain([root]), .unsupportedAlgorithm, by: verifier)
        let texts = [leaf, intermediate, root].map {
            "\"" + Fixture.text(Base64.encode($0.span)) + "\""
        }
        let many = [String](repeating: "\"\"", count: 10_000).joined(separator: ",")
        let members = [
            nil, "null", "\"\"", "{}", "1", "true", "[]", texts[0], "[\(many)]", "[null,null,null]",
            "[1,2,3]", "[[],[],[]]", "[\(texts[0]),\(texts[1]),null]",
            "[\(texts[0]),1,\(texts[2])]",
            "[[\(texts.joined(separator: ","))]]",
        ]
        for member in members {
            let token = Fixture.token(header: {
                $0.x5c = nil
                $0.extraMembers = member.map { [("x5c", $0)] } ?? []
            })
            Fixture.expect(
                Fixture.verify(token, by: verifier), .invalidChain,
                comment: String(member?.prefix(40) ?? "absent"))
        }
        #expect(verifier.chains.validations == 0)
        expect(chain([leaf, intermediate, root]), .valid, by: verifier)
        #expect(verifier.chains.validations == 1)
    }

    @Test("line 19: certificates in another order, or repeated")
    func order() {
        let (leaf, intermediate, root) = genuine
        for certificates in [
            [root, intermediate, leaf], [intermediate, leaf, root], [root, leaf, intermediate],
            [leaf, root, intermediate], [intermediate, root, leaf], [leaf, leaf, leaf],
            [leaf, leaf, root], [leaf, root, root], [intermediate, intermediate, root],
            [root, root, root],
        ] {
            expect(chain(certificates), .invalidChain)
        }
        // The third certificate is not trusted, whatever it is.
        for third in [root, intermediate, leaf] {
            expect(chain([leaf, intermediate, third]), .valid)
        }
    }

    @Test("line 20: a root with the same name and another key")
    func selfMadeRoot() {
        let (leaf, intermediate, root) = genuine
        let foreignCA = Fixture.foreignCA
        let foreign = foreignCA.chain
        expect(foreign, .untrustedChain)
        // A genuine root at the end does not make a foreign chain trusted,
        var mixed = foreign
        mixed.certificates[2] = root
        expect(mixed, .untrustedChain)
        // and a foreign root does not make a genuine chain untrusted: it is not an anchor.
        expect(chain([leaf, intermediate, foreignCA.rootCertificate]), .valid)
        // A genuine intermediate above a leaf that it did not sign.
        mixed.certificates[1] = intermediate
        expect(mixed, .invalidChain)
        // A genuine leaf below an intermediate of the same name that no pinned root signed.
        expect(chain([leaf, foreignCA.intermediateCertificate, root]), .untrustedChain)
    }

    @Test("line 21: a forged intermediate with the genuine name, key identifier and markers")
    func selfMadeIntermediate() throws {
        let genuine = try Certificate(der: Fixture.ca.intermediateCertificate)
        let identifier = try #require(genuine.extensions.subjectKeyIdentifier)
        let root = try #require(Fixture.foreignCA.rootKey)
        let copy = try DevelopmentCA.makeIntermediate(
            under: IssuedCertificate(der: Fixture.ca.rootCertificate, key: root),
            validity: Fixture.validity
        ) { $0[Extension.subjectKeyIdentifierOID] = .subjectKeyIdentifier(identifier) }
        expect(try Fixture.ca.issueChain(under: copy, validity: Fixture.validity), .untrustedChain)
        // A self-signed intermediate.
        let key = try SigningKey(generating: .p384)
        let selfSigned = try DevelopmentCA.makeIntermediate(
            under: IssuedCertificate(der: [], key: key), validity: Fixture.validity, key: key
        ) { $0.issuer = $0.subject }
        let chain = try Fixture.ca.issueChain(under: selfSigned, validity: Fixture.validity)
        expect(chain, .untrustedChain)
    }

    @Test(
        "line 21: WWDR G6 copied, below the built-in roots",
        .enabled(if: Vectors.has("apple-ca")))
    func selfMadeWWDR() throws {
        let wwdr = try #require(
            Vectors.files(in: "apple-ca", suffix: ".pem").first { $0.hasPrefix("WWDR-G6") })
        let pem = try #require(Vectors.bytes("apple-ca/" + wwdr))
        let genuine = try Certificate(der: PEMDocument.certificate(pem))
        let copy = try DevelopmentCA.makeIntermediate(
            under: IssuedCertificate(der: [], key: SigningKey(generating: .p384)),
            validity: Fixture.validity
        ) {
            $0.subject = DistinguishedName(der: Array(genuine.der[genuine.subject]))
            $0.issuer = DistinguishedName(der: Array(genuine.der[genuine.issuer]))
        }
        func leaf(under key: SigningKey) throws -> IssuedCertificate {
            try DevelopmentCA.makeLeaf(under: key, validity: Fixture.validity) {
                $0.issuer = DistinguishedName(der: Array(genuine.der[genuine.subject]))
            }
        }
        let issued = try leaf(under: copy.key)
        let apple = Verifier(trust: .apple)
        for (intermediate, verdict) in [
            (copy.der, Verdict.untrustedChain), (genuine.der, .invalidChain),
        ] {
            let chain = SigningChain(
                certificates: [issued.der, intermediate, genuine.der], key: issued.key)
            expect(chain, verdict, by: apple)
        }
    }

    /// Expects WRONG_CERTIFICATE_PURPOSE for intermediates of Apple's ECDSA hierarchy, and
    /// UNTRUSTED_CHAIN or UNSUPPORTED_ALGORITHM for the others.
    @Test(
        "line 22: other genuine Apple intermediates above a forged leaf",
        .enabled(if: Vectors.has("apple-ca")))
    func otherAppleIntermediates() throws {
        var count = 0
        for file in Vectors.files(in: "apple-ca", suffix: ".pem") {
            guard let pem = Vectors.bytes("apple-ca/" + file),
                let intermediate = try? Certificate(der: PEMDocument.certificate(pem)),
                intermediate.extensions.basicConstraints?.isCA == true
            else { continue }
            let issued = try DevelopmentCA.makeLeaf(
                under: SigningKey(generating: .p256), validity: Fixture.validity
            ) { $0.issuer = DistinguishedName(der: Array(intermediate.der[intermediate.subject])) }
            let chain = SigningChain(
                certificates: [issued.der, intermediate.der, intermediate.der], key: issued.key)
            let isWWDR = intermediate.extensions.markers.contains(.worldwideDeveloperRelations)
            if isWWDR || !file.contains("G2") && !file.contains("Integration") {
                expect(
                    chain, .invalidChain, .untrustedChain, .unsupportedAlgorithm,
                    .wrongCertificatePurpose, .certificateExpired,
                    by: Verifier(trust: .apple), comment: file)
            } else {
                expect(
                    chain, .wrongCertificatePurpose, .unsupportedAlgorithm, .untrustedChain,
                    by: Verifier(trust: .apple), comment: file)
            }
            count += 1
        }
        try Vectors.report("Apple's intermediates above a foreign leaf", count)
    }

    @Test("line 23: marker extensions absent, swapped, misplaced, duplicate")
    func markers() throws {
        let leafMarker = Extension.leafMarkerOID
        let intermediateMarker = Extension.intermediateMarkerOID
        expect(Fixture.chain(leaf: { _ in }, intermediate: { _ in }), .valid)
        let wrong: [SigningChain] = [
            Fixture.chain(leaf: { $0[leafMarker] = nil }),
            Fixture.chain(intermediate: { $0[intermediateMarker] = nil }),
            Fixture.chain(
                leaf: {
                    $0[leafMarker] = nil
                    $0[intermediateMarker] = .marker(intermediateMarker)
                },
                intermediate: {
                    $0[intermediateMarker] = nil
                    $0[leafMarker] = .marker(leafMarker)
                }),
            Fixture.chain(leaf: {
                $0[leafMarker] = nil
                $0.extensions.append(.subjectAltName(email: leafMarker))
            }),
            Fixture.chain(leaf: {
                $0[leafMarker] = nil
                $0.subject = DistinguishedName(commonName: leafMarker)
            }),
            Fixture.chain(leaf: {
                $0[leafMarker] = nil
                // The marker's OID as the type of an attribute in the name.
                $0.subject = DistinguishedName(
                    der: DERWriter.build { name in
                        name.sequence { names in
                            names.set { set in
                                set.sequence {
                                    $0.oid(leafMarker)
                                    $0.utf8String("x")
                                }
                            }
                        }
                    })
            }),
        ]
        for (index, chain) in wrong.enumerated() {
            expect(chain, .wrongCertificatePurpose, comment: "\(index)")
        }
        // A leaf can have both markers, and a marker can be critical.
        expect(
            Fixture.chain(leaf: { $0.extensions.append(.marker(intermediateMarker)) }), .valid)
        expect(
            Fixture.chain(leaf: { $0[leafMarker] = .marker(leafMarker, critical: true) }), .valid)
    }

    @Test("line 23: other extensions, and duplicate extensions")
    func otherMarkers() throws {
        let leafMarker = Extension.leafMarkerOID
        let intermediateMarker = Extension.intermediateMarkerOID
        for oid in [
            "1.2.840.113635.100.6.11", "1.2.840.113635.100.6.11.1.1", "1.2.840.113635.100.6.11.2",
            "1.2.840.113635.100.6.1.1", "1.2.840.113635.100.6.2.1",
        ] {
            let chain = Fixture.chain(leaf: {
                $0[leafMarker] = nil
                $0[oid] = .marker(oid)
            })
            expect(chain, .wrongCertificatePurpose, comment: oid)
        }
        for oid in ["6.2.3", "6.2.14", "6.2.15", "6.2.31", "6.2.2"] {
            let chain = Fixture.chain(intermediate: {
                $0[intermediateMarker] = nil
                $0.extensions.append(.marker("1.2.840.113635.100." + oid))
            })
            expect(chain, .wrongCertificatePurpose, comment: oid)
        }
        for twice in [leafMarker, Extension.keyUsageOID, "1.2.3.4"] {
            let chain = Fixture.chain(leaf: {
                $0.extensions.append(.marker("1.2.3.4"))
                if let extension_ = $0[twice] { $0.extensions.append(extension_) }
            })
            expect(chain, .malformed, comment: twice)
        }
    }

    @Test("line 24: a leaf that issues a child")
    func leafAsIssuer() throws {
        let ca = Fixture.ca
        let child = try DevelopmentCA.makeLeaf(under: ca.leafKey, validity: Fixture.validity) {
            $0.issuer = DevelopmentCA.leafName
        }
        let signer = SigningChain(
            certificates: [child.der, ca.leafCertificate, ca.rootCertificate], key: child.key)
        expect(signer, .invalidChain)
        // A leaf with the intermediate's name and marker.
        let marked = try ca.issueChain(validity: Fixture.validity) {
            $0.subject = DevelopmentCA.intermediateName
            $0.extensions.append(.marker(Extension.intermediateMarkerOID))
        }
        let grandchild = try DevelopmentCA.makeLeaf(
            under: marked.key, validity: Fixture.validity
        ) { _ in }
        for third in [ca.intermediateCertificate, ca.rootCertificate] {
            let signer = SigningChain(
                certificates: [grandchild.der, marked.certificates[0], third], key: grandchild.key)
            expect(signer, .invalidChain)
        }
    }

    @Test("line 25: constraints of an intermediate, one defect at a time")
    func intermediateConstraints() throws {
        let constraints = Extension.basicConstraintsOID
        let usage = Extension.keyUsageOID
        let cases: [(String, Verdict, (inout CertificateBuilder) -> Void)] = [
            ("CA false", .invalidChain, { $0[constraints] = .basicConstraints(ca: false) }),
            ("no basicConstraints", .invalidChain, { $0[constraints] = nil }),
            ("no keyCertSign", .invalidChain, { $0[usage] = .keyUsage([.cRLSign]) }),
            ("digitalSignature", .invalidChain, { $0[usage] = .keyUsage([.digitalSignature]) }),
            ("no key usage", .valid, { $0[usage] = nil }),
            (
                "keyCertSign among others", .valid,
                { $0[usage] = .keyUsage([.keyCertSign, .digitalSignature, .decipherOnly]) }
            ),
            (
                "path length 0", .valid,
                { $0[constraints] = .basicConstraints(ca: true, pathLength: 0) }
            ),
            ("no path length", .valid, { $0[constraints] = .basicConstraints(ca: true) }),
            (
                "path length 1", .valid,
                { $0[constraints] = .basicConstraints(ca: true, pathLength: 1) }
            ),
            (
                "path length -1", .invalidChain,
                { $0[constraints] = .basicConstraints(ca: true, pathLength: -1) }
            ),
            (
                "not critical", .valid,
                { $0[constraints] = .basicConstraints(ca: true, critical: false) }
            ),
            (
                "unknown critical", .invalidChain,
                { $0.extensions.append(.marker("1.2.3.4", critical: true)) }
            ),
            ("unknown", .valid, { $0.extensions.append(.marker("1.2.3.4")) }),
            ("version 1", .malformed, { $0.version = 0 }),
            ("no version", .invalidChain, { $0.version = nil }),
            ("version 2", .invalidChain, { $0.version = 1 }),
            ("version 4", .malformed, { $0.version = 3 }),
            (
                "constraints are no SEQUENCE", .malformed,
                { $0[constraints] = Extension(oid: constraints, value: [0x05, 0x00]) }
            ),
            (
                "CA false written out", .malformed,
                { $0[constraints] = Extension(oid: constraints, value: [0x30, 3, 1, 1, 0]) }
            ),
            (
                "CA is 01", .malformed,
                { $0[constraints] = Extension(oid: constraints, value: [0x30, 3, 1, 1, 1]) }
            ),
            ("another issuer", .untrustedChain, { $0.issuer = DevelopmentCA.leafName }),
            ("another subject", .invalidChain, { $0.subject = DevelopmentCA.leafName }),
        ]
        for (name, verdict, change) in cases {
            expect(Fixture.chain(intermediate: change), verdict, comment: name)
        }
    }

    @Test("line 25: constraints of the leaf and of the pinned root")
    func otherConstraints() throws {
        let cases: [(String, Verdict, (inout CertificateBuilder) -> Void)] = [
            (
                "CA", .invalidChain,
                { $0[Extension.basicConstraintsOID] = .basicConstraints(ca: true) }
            ),
            ("none", .valid, { $0[Extension.basicConstraintsOID] = nil }),
            (
                "key usage", .invalidChain,
                { $0[Extension.keyUsageOID] = .keyUsage([.keyEncipherment]) }
            ),
            ("no key usage", .valid, { $0[Extension.keyUsageOID] = nil }),
            (
                "unknown critical", .invalidChain,
                { $0.extensions.append(.marker("1.2.3.4", critical: true)) }
            ),
            (
                "critical policies", .invalidChain,
                { $0[Extension.certificatePoliciesOID]?.critical = true }
            ),
            (
                "no version", .invalidChain,
                {
                    $0.version = nil; $0.extensions = []
                }
            ),
            ("issuer", .invalidChain, { $0.issuer = DevelopmentCA.rootName }),
            (
                "issuer in other string types", .invalidChain,
                {
                    $0.issuer = DistinguishedName(
                        commonName: "Assay Development Worldwide Relations Certification Authority",
                        organizationalUnit: "G1", organization: "Assay", country: "US",
                        printable: true)
                }
            ),
        ]
        for (name, verdict, change) in cases {
            expect(Fixture.chain(leaf: change), verdict, comment: name)
        }
        for (limit, verdict) in [(0, Verdict.invalidChain), (1, .valid), (2, .valid)] {
            let root = try DevelopmentCA.makeRoot(validity: Fixture.validity) {
                $0[Extension.basicConstraintsOID] = .basicConstraints(
                    ca: true, pathLength: Int64(limit))
            }
            let intermediate = try DevelopmentCA.makeIntermediate(
                under: root, validity: Fixture.validity
            ) { _ in }
            let chain = try Fixture.ca.issueChain(under: intermediate, validity: Fixture.validity)
            expect(
                chain, verdict, by: Verifier(trust: Fixture.trust(root.der)),
                comment: "root's path length \(limit)")
        }
    }
}
