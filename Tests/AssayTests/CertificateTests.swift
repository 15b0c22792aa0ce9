@testable import Assay
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Certificates, their PEM, and the store that pins them.
@Suite struct CertificateTests {
    // MARK: Fields

    @Test func fields() throws {
        let ca = Fixture.ca
        let leaf = try Certificate(der: ca.leafCertificate)
        let intermediate = try Certificate(der: ca.intermediateCertificate)
        let root = try Certificate(der: ca.rootCertificate)
        for certificate in [leaf, intermediate, root] {
            #expect(certificate.version == 3)
            #expect(certificate.signatureAlgorithm == .ecdsaWithSHA384)
            #expect(certificate.notBefore == Fixture.time(-86_400).seconds)
            #expect(certificate.contains(certificate.notBefore))
            #expect(!certificate.contains(certificate.notAfter + 1))
        }
        #expect(Array(leaf.der[leaf.issuer]) == Array(intermediate.der[intermediate.subject]))
        #expect(Array(root.der[root.issuer]) == DevelopmentCA.rootName.der)
        #expect(leaf.extensions.markers == .receiptSigning)
        #expect(intermediate.extensions.markers == .worldwideDeveloperRelations)
        #expect(root.extensions.markers == [])
        #expect(leaf.extensions.basicConstraints?.isCA == false)
        #expect(intermediate.extensions.basicConstraints?.pathLength == 0)
        #expect(root.extensions.basicConstraints?.pathLength == nil)
        #expect(leaf.extensions.keyUsage?.contains(.keyCertSign) == false)
        #expect(root.extensions.keyUsage?.contains(.keyCertSign) == true)
        #expect(root.subjectCommonName == "Assay Development Root CA")
        guard case .ec(.p256, _) = leaf.publicKey.kind, case .ec(.p384, _) = root.publicKey.kind
        else {
            Issue.record("\(leaf.publicKey.kind), \(root.publicKey.kind)")
            return
        }
        let key = try #require(intermediate.ecKey)
        #expect(leaf.isSigned(by: key, digest: .sha384))
        #expect(!leaf.isSigned(by: key, digest: .sha256))
        #expect(!root.isSigned(by: key, digest: .sha384))
    }

    /// Refusals use these names.
    @Test func markerNames() {
        let names: [(CertificateExtensions.Markers, String)] = [
            (.receiptSigning, "1.2.840.113635.100.6.11.1"),
            (.worldwideDeveloperRelations, "1.2.840.113635.100.6.2.1"),
            (.purchaseReceiptSigning, "1.2.840.113635.100.6.5.1"),
            (.iTunesStore, "1.2.840.113635.100.6.2.2"),
        ]
        for (marker, name) in names { #expect(marker.name == name) }
    }

    /// The offset in an error is the start of the element that it describes.
    @Test func offsetsOfErrors() throws {
        func error(_ change: (inout CertificateBuilder) -> Void) -> (DERError?, [UInt8]) {
            let der = Fixture.chain(leaf: change).certificates[0]
            do throws(CertificateError) {
                _ = try Certificate(der: der)
                return (nil, der)
            } catch {
                guard case .encoding(let error) = error else { return (nil, der) }
                return (error, der)
            }
        }
        // Two headers of four octets, then the explicit tag of the version.
        #expect(error { $0.version = 0 }.0 == .defaultEncoded(at: 8))
        #expect(error { $0.version = 3 }.0 == .integerOutOfRange(at: 10))
        #expect(error { $0.version = -1 }.0 == .integerOutOfRange(at: 10))
        func extensions(_ count: Int) -> (DERError?, [UInt8]) {
            error { builder in
                for index in builder.extensions.count..<count {
                    builder.extensions.append(.marker("1.2.3.\(index)"))
                }
            }
        }
        #expect(extensions(Limits.certificateExtensions).0 == nil)
        let (many, der) = extensions(Limits.certificateExtensions + 1)
        guard case .tooManyElements(Limits.certificateExtensions, let at) = many else {
            Issue.record("\(String(describing: many))")
            return
        }
        #expect(der[at] == Tag.objectIdentifier.rawValue)
        let (written, other) = error {
            $0.rawExtensions = DERWriter.build { writer in
                writer.context(3) { list in
                    list.sequence {
                        $0.sequence {
                            $0.oid("1.2.3")
                            $0.boolean(false)
                            $0.octetString([])
                        }
                    }
                }
            }
        }
        guard case .defaultEncoded(let start) = written else {
            Issue.record("\(String(describing: written))")
            return
        }
        #expect(other[start] == Tag.boolean.rawValue)
    }

    @Test(
        "Serial numbers",
        arguments: [
            ([1], "1"), ([0, 0x80], "80"), ([0x10], "10"), ([0x0A, 0], "a00"),
            ([UInt8](repeating: 0x7F, count: 20), String(repeating: "7f", count: 20)),
            ([0], nil), ([0x80], nil), ([0xFF, 0x7F], nil), ([], nil), ([0, 1], nil),
            ([UInt8](repeating: 1, count: 21), nil),
            (
                [0, 0xFF] + [UInt8](repeating: 1, count: 19),
                "ff" + String(repeating: "01", count: 19)
            ),
            ([0, 0xFF] + [UInt8](repeating: 1, count: 20), nil),
        ] as [([UInt8], String?)])
    func serials(octets: [UInt8], text: String?) {
        let chain = Fixture.chain(leaf: { $0.serial = octets })
        #expect((try? Certificate(der: chain.certificates[0]))?.serialText == text)
    }

    @Test("A certificate with any byte removed or changed never traps")
    func changedBytes() {
        let der = Fixture.ca.leafCertificate
        var parsed = 0
        for index in der.indices {
            #expect(throws: CertificateError.self) { try Certificate(der: Array(der[..<index])) }
            for mask in [0x01, 0x80, 0xFF] as [UInt8] {
                var changed = der
                changed[index] ^= mask
                if let certificate = try? Certificate(der: changed) {
                    parsed += 1
                    #expect(!certificate.serialText.isEmpty)
                    _ = certificate.subjectCommonName
                    _ = certificate.ecKey
                }
            }
        }
        // Most of the bytes belong to names, keys and the signature.
        #expect(parsed > der.count)
    }

    @Test func extensionErrors() {
        let usage = CertificateExtension.keyUsageOID
        let constraints = CertificateExtension.basicConstraintsOID
        let cases: [(String, [UInt8], Bool)] = [
            (usage, [3, 2, 7, 0x80], true), (usage, [3, 3, 7, 0, 0x80], true),
            (usage, [3, 1, 0], false),
            (usage, [3, 4, 0, 0, 0, 1], false), (usage, [4, 2, 7, 0x80], false),
            (usage, [3, 2, 7, 0x80, 0], false), (usage, [], false),
            (constraints, [0x30, 0], true), (constraints, [0x30, 3, 1, 1, 0xFF], true),
            (constraints, [0x30, 6, 1, 1, 0xFF, 2, 1, 0], true),
            (constraints, [0x30, 3, 2, 1, 0], true),
            (constraints, [0x30, 3, 1, 1, 0], false), (constraints, [0x30, 3, 1, 1, 1], false),
            (constraints, [0x30, 0, 0], false), (constraints, [], false),
            (constraints, [0x30, 6, 2, 1, 0, 1, 1, 0xFF], false),
            (constraints, [0x30, 2, 5, 0], false),
        ]
        for (oid, value, parses) in cases {
            let chain = Fixture.chain(leaf: {
                $0[oid] = CertificateExtension(oid: oid, value: value)
            })
            let certificate = try? Certificate(der: chain.certificates[0])
            #expect((certificate != nil) == parses, "\(oid) \(value)")
        }
    }

    // MARK: PEM

    @Test func pem() throws {
        let der = Fixture.ca.rootCertificate
        let text = Fixture.text(PEM.encode(der, label: "CERTIFICATE"))
        let accepted = [
            text, "explanatory text\n" + text, text + "\nmore\n",
            text.replacing("\n", with: "\r\n"),
            "   " + text, String(text.dropLast()),
        ]
        for text in accepted {
            #expect(try PEMDocument.certificate(Array(text.utf8)) == der)
        }
        #expect(try PEMDocument.certificate(der) == der)
        let refused = [
            text + text, String(text.dropLast(30)), text.replacing("\nM", with: "\n*"),
            text.replacing("=\n", with: "\n"), "-----BEGIN CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\n\n-----END CERTIFICATE-----x-----BEGIN CERTIFICATE-----",
        ]
        for text in refused where text != accepted[0] {
            #expect(throws: CertificateError.self, "\(text.suffix(60))") {
                try PEMDocument.certificate(Array(text.utf8))
            }
        }
        for other in ["X509 CRL", "PUBLIC KEY", "PRIVATE KEY"] {
            let bytes = PEM.encode(der, label: other)
            #expect(throws: TrustStoreError.self) {
                try TrustStore.empty.pinning(bytes, development: true)
            }
        }
    }

    // MARK: Trust

    @Test func builtInRoots() throws {
        let anchors = TrustStore.apple.anchors
        #expect(
            anchors.map(\.fingerprint) == [
                "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024",
                "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050",
                "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179",
            ])
        #expect(
            anchors.map(\.name) == ["Apple Root CA", "Apple Root CA - G2", "Apple Root CA - G3"])
        #expect(anchors.allSatisfy { $0.isApple && !$0.development && $0.hasUsableKey })
    }

    @Test(.enabled(if: Vectors.has("apple-ca")))
    func builtInRootsMatchApplesFiles() throws {
        let anchors = TrustStore.apple.anchors
        for file in [
            "Apple-Root-CA-b0b1730e", "Apple-Root-CA-G2-c2b9b042", "Apple-Root-CA-G3-63343abf",
        ] {
            let pem = try #require(Vectors.bytes("apple-ca/\(file).pem"))
            let der = try PEMDocument.certificate(pem)
            #expect(anchors.contains { $0.certificate.der == der }, "\(file)")
            // Each root is self-signed.
            let root = try Certificate(der: der)
            if let key = root.ecKey { #expect(root.isSigned(by: key, digest: .sha384)) }
        }
    }

    @Test func pinning() throws {
        let root = Fixture.ca.rootCertificate
        let pem = PEM.encode(root, label: "CERTIFICATE")
        let once = try TrustStore.empty.pinning(root, development: false)
        #expect(once.anchors.count == 1 && !once.anchors[0].isApple)
        #expect(try once.pinning(pem, development: false).anchors.count == 1)
        #expect(TrustStore.empty.anchors.isEmpty)
        #expect(try TrustStore.apple.pinning(root, development: true).anchors.count == 4)
        // The stricter of two pinnings wins.
        #expect(try once.pinning(pem, development: true).anchors[0].development)
        let dev = try TrustStore.empty.pinning(root, development: true)
        #expect(try dev.pinning(root, development: false).anchors[0].development)

        let garbage: [[UInt8]] = [[], [0x30], Array("hello".utf8), root + [0], root.dropLast()]
        for bytes in garbage {
            #expect(throws: TrustStoreError.self) { try once.pinning(bytes, development: false) }
        }
        let p521 = try DevelopmentCA.makeRoot(
            validity: Fixture.validity, key: SigningKey(generating: .p521))
        let small = try DevelopmentCA.makeRoot(
            validity: Fixture.validity, key: SigningKey(generating: .rsa(bits: 1024))
        ) { $0.setAlgorithm(.sha256WithRSA) }
        for certificate in [p521, small] {
            #expect(throws: TrustStoreError.unsupportedKey) {
                try once.pinning(certificate.der, development: false)
            }
        }
    }

    @Test("what is no authority can't be pinned, unless a tool made it for itself, as Xcode does")
    func leaves() throws {
        let leaf = Fixture.ca.leafCertificate
        let key = try SigningKey(generating: .p256)
        func issued(
            _ issuer: DistinguishedName, _ extensions: [CertificateExtension]
        ) throws -> [UInt8] {
            let name = DistinguishedName(commonName: "StoreKit Testing")
            var builder = try CertificateBuilder(
                subject: name, issuer: issuer, publicKeyOf: key, notBefore: Fixture.time(-86_400),
                notAfter: Fixture.time(86_400), extensions: extensions)
            if extensions.isEmpty { builder.version = nil }
            return try builder.signed(by: key)
        }
        let own = DistinguishedName(commonName: "StoreKit Testing")
        let other = DistinguishedName(commonName: "Example Root")
        for (certificate, isPinned) in [
            (Fixture.ca.rootCertificate, true), (Fixture.ca.intermediateCertificate, true),
            (leaf, false),
            (try issued(own, [.basicConstraints(ca: true)]), true),
            (try issued(own, [.basicConstraints(ca: false)]), true), (try issued(own, []), true),
            (try issued(other, [.basicConstraints(ca: true)]), true),
            (try issued(other, [.basicConstraints(ca: false)]), false),
            (try issued(other, []), false),
        ] {
            for development in [false, true] {
                if isPinned {
                    _ = try TrustStore.empty.pinning(certificate, development: development)
                } else {
                    #expect(throws: TrustStoreError.notACertificateAuthority) {
                        try TrustStore.empty.pinning(certificate, development: development)
                    }
                }
            }
        }
    }

    @Test func intermediates() throws {
        // Extra intermediates are for receipts, whose chains are all RSA.
        #expect(throws: TrustStoreError.unsupportedKey) {
            try TrustStore.empty.adding(intermediate: Fixture.ca.intermediateCertificate)
        }
        #expect(throws: TrustStoreError.notACertificateAuthority) {
            try TrustStore.empty.adding(intermediate: Fixture.ca.leafCertificate)
        }
        #expect(throws: TrustStoreError.self) { try TrustStore.empty.adding(intermediate: [1]) }
    }
}
