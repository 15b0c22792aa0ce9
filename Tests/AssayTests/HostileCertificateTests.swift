@testable import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Lines 26 to 29 of the catalogue of hostile input: dates, algorithms, keys and DER of the
/// certificates in `x5c`. Also line 20: a pinned certificate that is not an authority.
@Suite struct HostileCertificateTests: HostileTokens {
    private typealias Extension = CertificateExtension

    @Test(
        "line 20: a pinned certificate with the root's name that is not an authority has no effect")
    func uselessPin() throws {
        let useless = try DevelopmentCA.makeRoot(validity: Fixture.validity) {
            $0[Extension.basicConstraintsOID] = .basicConstraints(ca: false)
        }
        let root = Fixture.ca.rootCertificate
        for roots in [[useless.der, root], [root, useless.der]] {
            let trust = try roots.reduce(TrustStore.empty) { store, root in
                try store.pinning(root, development: false)
            }
            expect(Fixture.ca.chain, .valid, by: Verifier(trust: trust))
        }
        let alone = Verifier(trust: Fixture.trust(useless.der))
        expect(Fixture.ca.chain, .invalidChain, by: alone)
    }

    @Test("line 26: validity of each certificate at the second that the evidence was signed")
    func validity() throws {
        let edges: [(Int64, Verdict)] = [
            (-101, .certificateExpired), (-100, .valid), (-1, .valid), (0, .valid),
            (99, .valid), (100, .valid), (101, .certificateExpired),
        ]
        let window = Validity(notBefore: Fixture.time(-100), notAfter: Fixture.time(100))
        let root = try DevelopmentCA.makeRoot(validity: window)
        let wideRoot = try DevelopmentCA.makeRoot(validity: Fixture.validity)
        let narrow = try DevelopmentCA.makeIntermediate(under: wideRoot, validity: window) { _ in }
        let wide = try DevelopmentCA.makeIntermediate(
            under: wideRoot, validity: Fixture.validity
        ) { _ in }
        let underRoot = try DevelopmentCA.makeIntermediate(
            under: root, validity: Fixture.validity
        ) { _ in }
        let chains = [
            (try Fixture.ca.issueChain(under: wide, validity: window), wideRoot),
            (try Fixture.ca.issueChain(under: narrow, validity: Fixture.validity), wideRoot),
            (try Fixture.ca.issueChain(under: underRoot, validity: Fixture.validity), root),
        ]
        for (index, (chain, root)) in chains.enumerated() {
            let trust = Fixture.trust(root.der)
            let kept = Verifier(trust: trust)
            for (second, verdict) in edges {
                let signed = Fixture.time(second)
                for verifier in [Verifier(trust: trust), kept] {
                    expect(
                        chain, verdict, signed: signed, by: verifier,
                        comment: "certificate \(index) at \(second)")
                }
            }
            // The last millisecond of the last second.
            let last = Timestamp(milliseconds: Fixture.time(100).milliseconds + 999)
            expect(chain, .valid, signed: last, by: kept)
        }
    }

    @Test("line 26: a valid root of the same name does not extend an expired one")
    func namesakeOfAnExpiredRoot() throws {
        let window = Validity(notBefore: Fixture.time(-100), notAfter: Fixture.time(100))
        let root = try DevelopmentCA.makeRoot(validity: window)
        let namesake = try DevelopmentCA.makeRoot(validity: Fixture.validity)
        let intermediate = try DevelopmentCA.makeIntermediate(
            under: root, validity: Fixture.validity
        ) { _ in }
        let chain = try Fixture.ca.issueChain(under: intermediate, validity: Fixture.validity)
        for trust in [
            Fixture.trust(root.der, namesake.der), Fixture.trust(namesake.der, root.der),
        ] {
            let kept = Verifier(trust: trust)
            for (second, isValid) in [(101, false), (100, true), (0, true), (-101, false)] {
                for verifier in [Verifier(trust: trust), kept] {
                    let token = Fixture.token(
                        Fixture.payload(signed: Fixture.time(Int64(second))), chain)
                    Fixture.expect(
                        Fixture.verify(token, at: Fixture.time(200), by: verifier),
                        oneOf: isValid ? [.valid] : [.certificateExpired, .untrustedChain],
                        comment: "\(second)")
                }
            }
        }
    }

    @Test("line 26: forms of time in a certificate")
    func times() {
        func validity(_ before: String, _ after: String) -> [UInt8] {
            DERWriter.build { writer in
                writer.sequence {
                    for text in [before, after] {
                        let isLong = text.utf8.count > 14
                        $0.element(tag: isLong ? 0x18 : 0x17, content: Array(text.utf8))
                    }
                }
            }
        }
        let good = "250101000000Z"
        let cases: [(String, String, Verdict)] = [
            (good, "270101000000Z", .valid), ("500101000000Z", "491231235959Z", .valid),
            (good, "20270101000000Z", .valid), ("00010101000000Z", "99991231235959Z", .valid),
            (good, "500101000000Z", .malformed), ("270101000000Z", good, .malformed),
            (good, "20270101000000.5Z", .malformed), (good, "20270101000000.0Z", .malformed),
            (good, "20270101000000+0100", .malformed), (good, "270101000000+0100", .malformed),
            (good, "2701010000Z", .malformed), (good, "270101000000", .malformed),
            (good, "20270101000000", .malformed), (good, "270230000000Z", .malformed),
            (good, "270101240000Z", .malformed), (good, "270101000060Z", .malformed),
            (good, "271301000000Z", .malformed), (good, "27010100000 Z", .malformed),
            (good, "27010100000-Z", .malformed), (good, "", .malformed),
            ("240101000000Z", "250101000000Z", .certificateExpired),
        ]
        for (before, after, verdict) in cases {
            let chain = Fixture.chain(leaf: { $0.rawValidity = validity(before, after) })
            expect(chain, verdict, comment: "\(before) \(after)")
        }
    }

    @Test("line 27: signature algorithms of certificates")
    func certificateAlgorithms() {
        expect(Fixture.chain(leaf: { $0.setAlgorithm(.ecdsaWithSHA256) }), .valid)
        expect(Fixture.chain(intermediate: { $0.setAlgorithm(.ecdsaWithSHA256) }), .valid)
        for algorithm in [SigningAlgorithm.ecdsaWithSHA1, .ecdsaWithSHA512, .sha256WithRSA] {
            guard algorithm != .sha256WithRSA else { continue }
            expect(Fixture.chain(leaf: { $0.setAlgorithm(algorithm) }), .unsupportedAlgorithm)
            expect(
                Fixture.chain(intermediate: { $0.setAlgorithm(algorithm) }), .unsupportedAlgorithm)
        }
        expect(Fixture.chain(leaf: { $0.tbsSignatureAlgorithm = .ecdsaWithSHA256 }), .invalidChain)
        expect(
            Fixture.chain(intermediate: { $0.tbsSignatureAlgorithm = .sha1WithRSA }), .invalidChain)
        // The algorithm is RSA, or ECDSA with NULL parameters. The signature does not matter.
        let signature = [UInt8](repeating: 1, count: 256)
        for algorithm in [
            SigningAlgorithm.sha256WithRSA, .sha1WithRSA,
            SigningAlgorithm(oid: "1.2.840.10045.4.3.3", null: true, digest: .sha384),
        ] {
            let chain = Fixture.chain(leaf: {
                $0.setAlgorithm(algorithm)
                $0.signature = signature
            })
            expect(chain, .unsupportedAlgorithm)
        }
    }

    /// Makes a SubjectPublicKeyInfo from the parameters and key octets.
    private func keyInfo(_ parameters: [UInt8], _ key: [UInt8], unusedBits: UInt8 = 0) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.sequence {
                    $0.oid("1.2.840.10045.2.1")
                    $0.raw(parameters)
                }
                $0.bitString(key, unusedBits: unusedBits)
            }
        }
    }

    @Test("line 27: public keys other than an uncompressed point on a named curve")
    func publicKeys() {
        let p256 = DERWriter.build { $0.oid("1.2.840.10045.3.1.7") }
        let p384 = DERWriter.build { $0.oid("1.3.132.0.34") }
        let k256 = DERWriter.build { $0.oid("1.3.132.0.10") }
        let explicit = DERWriter.build { writer in
            writer.sequence {
                $0.integer(1)
                $0.sequence {
                    $0.oid("1.2.840.10045.1.1")
                    $0.unsignedInteger([UInt8](repeating: 0xFF, count: 32))
                }
            }
        }
        let point = Fixture.ca.leafKey.publicKey
        let parity = 2 + point[64] % 2
        let x = Array(point[1..<33])
        let offCurve = Array(point.dropLast()) + [point[64] ^ 1]
        let cases: [(String, Verdict, [UInt8])] = [
            ("the key itself", .valid, keyInfo(p256, point)),
            ("explicit parameters", .unsupportedAlgorithm, keyInfo(explicit, point)),
            ("implicit parameters", .unsupportedAlgorithm, keyInfo([0x05, 0x00], point)),
            ("no parameters", .unsupportedAlgorithm, keyInfo([], point)),
            ("secp256k1", .unsupportedAlgorithm, keyInfo(k256, point)),
            ("P-384 by name alone", .unsupportedAlgorithm, keyInfo(p384, point)),
            ("compressed", .unsupportedAlgorithm, keyInfo(p256, [parity] + x)),
            ("hybrid", .unsupportedAlgorithm, keyInfo(p256, [parity + 4] + point.dropFirst())),
            ("infinity", .unsupportedAlgorithm, keyInfo(p256, [0])),
            (
                "infinity, padded", .unsupportedAlgorithm,
                keyInfo(p256, [UInt8](repeating: 0, count: 65))
            ),
            ("empty", .unsupportedAlgorithm, keyInfo(p256, [])),
            ("too long", .unsupportedAlgorithm, keyInfo(p256, point + [0])),
            ("too short", .unsupportedAlgorithm, keyInfo(p256, point.dropLast())),
            ("off the curve", .invalidChain, keyInfo(p256, offCurve)),
            ("zero", .invalidChain, keyInfo(p256, [4] + [UInt8](repeating: 0, count: 64))),
            (
                "beyond the field", .invalidChain,
                keyInfo(p256, [4] + [UInt8](repeating: 0xFF, count: 64))
            ),
            ("unused bits", .malformed, keyInfo(p256, point, unusedBits: 1)),
        ]
        for (name, verdict, info) in cases {
            var chain = Fixture.chain(leaf: { $0.subjectPublicKeyInfo = info })
            chain = SigningChain(certificates: chain.certificates, key: Fixture.ca.leafKey)
            expect(chain, verdict, comment: name)
        }
        let intermediate = Fixture.chain(intermediate: {
            let off = Array(repeating: UInt8(1), count: 96)
            $0.subjectPublicKeyInfo = keyInfo(p384, [4] + off)
        })
        expect(intermediate, .invalidChain)
    }

    @Test("line 28: bytes that are not DER of a certificate", .timeLimit(.minutes(1)))
    func notDER() throws {
        let (leaf, intermediate, root) = genuine
        let content = Array(leaf[4...])
        let size = UInt8(content.count >> 8)
        let low = UInt8(content.count & 0xFF)
        let transformed: [[UInt8]] = [
            [0x30, 0x80] + content + [0, 0], [0x30, 0x83, 0, size, low] + content,
            [0x30, 0x84, 0, 0, size, low] + content, [0x31] + leaf[1...],
            [0x3F, 0x10] + leaf[1...], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF] + content,
            [0x30, 0x88, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF] + content,
            [0x30, 0xFF] + content, leaf + [0], leaf.dropLast(), [0x30], [0x30, 0x82], [0x05, 0],
            [],
        ]
        for bytes in transformed { expect(chain([bytes, intermediate, root]), .malformed) }
        for bytes in transformed {
            // The third entry only needs to be a SEQUENCE that fills it, and these are not.
            expect(chain([leaf, intermediate, bytes]), .malformed)
        }
        for end in stride(from: 0, to: leaf.count, by: 7) {
            expect(chain([Array(leaf[..<end]), intermediate, root]), .malformed)
        }
        let builders: [(String, Verdict, (inout CertificateBuilder) -> Void)] = [
            ("zero serial", .malformed, { $0.serial = [0] }),
            ("negative serial", .malformed, { $0.serial = [0x80] }),
            ("empty serial", .malformed, { $0.serial = [] }),
            ("padded serial", .malformed, { $0.serial = [0, 1] }),
            ("padded negative serial", .malformed, { $0.serial = [0xFF, 0x80] }),
            ("serial of 20", .valid, { $0.serial = [UInt8](repeating: 0x7F, count: 20) }),
            (
                "serial of 20 and a sign", .valid,
                { $0.serial = [0] + [UInt8](repeating: 0xFF, count: 20) }
            ),
            ("serial of 21", .malformed, { $0.serial = [UInt8](repeating: 0x7F, count: 21) }),
            ("serial of 200", .malformed, { $0.serial = [UInt8](repeating: 1, count: 200) }),
            ("in the TBSCertificate", .malformed, { $0.trailingInTBS = [5, 0] }),
            ("behind the signature", .malformed, { $0.trailingInside = [5, 0] }),
            ("behind the certificate", .malformed, { $0.trailing = [0] }),
            ("extensions twice", .malformed, { $0.trailingInTBS = [0xA3, 2, 0x30, 0] }),
            (
                "empty extensions", .wrongCertificatePurpose,
                { $0.rawExtensions = [0xA3, 2, 0x30, 0] }
            ),
            (
                "33 extensions", .malformed,
                {
                    for index in 0..<33 { $0.extensions.append(.marker("1.2.3.\(index)")) }
                }
            ),
            (
                "5 KiB extension", .malformed,
                {
                    $0.extensions.append(
                        Extension(oid: "1.2.3", value: [UInt8](repeating: 0, count: 5000)))
                }
            ),
        ]
        for (name, verdict, change) in builders {
            expect(Fixture.chain(leaf: change), verdict, comment: name)
        }
    }

    @Test(
        "line 28: an extension of a megabyte, 100,000 names: parsed in milliseconds",
        .enabled(if: TimedTests.areEnabled)
    )
    func largeCertificates() throws {
        let clock = ContinuousClock()
        let key = Fixture.ca.leafKey
        let builder = try CertificateBuilder(
            subject: DevelopmentCA.leafName, issuer: DevelopmentCA.intermediateName,
            publicKeyOf: key, notBefore: Fixture.now, notAfter: Fixture.time(1))
        var large = builder
        large.extensions = [Extension(oid: "1.2.3", value: [UInt8](repeating: 0, count: 1 << 20))]
        var names = builder
        // 100,000 dNSNames of two octets, in each of two extensions.
        let list = (0..<100_000).flatMap { index -> [UInt8] in
            [0x82, 2, UInt8(index & 0xFF), UInt8(index >> 8 & 0xFF)]
        }
        let value = DERWriter.build { $0.element(tag: 0x30, content: list) }
        names.extensions = [
            Extension(oid: Extension.subjectAltNameOID, value: value),
            Extension(oid: "2.5.29.30", value: value),
        ]
        for builder in [large, names] {
            let der = try builder.signed(by: key)
            let time = try clock.measure { _ = try Certificate(der: der) }
            #expect(time < .milliseconds(500), "\(der.count) bytes: \(time)")
            expect(chain([der, genuine.intermediate, genuine.root]), .malformed)
        }
    }

    @Test(
        "line 29: RSA keys of absurd size or exponent cost no arithmetic", .timeLimit(.minutes(1)))
    func absurdRSA() {
        func info(bits: Int, exponent: [UInt8]) -> [UInt8] {
            DERWriter.build { writer in
                writer.sequence {
                    $0.sequence {
                        $0.oid("1.2.840.113549.1.1.1")
                        $0.null()
                    }
                    $0.bitString(
                        DERWriter.build {
                            $0.sequence {
                                $0.unsignedInteger([UInt8](repeating: 0xFD, count: bits / 8))
                                $0.unsignedInteger(exponent)
                            }
                        })
                }
            }
        }
        let huge = [UInt8](repeating: 0xFD, count: 1023) + [0xFB]
        for (bits, exponent) in [
            (16_384, [1, 0, 1]), (8192, huge), (2048, [3]), (2048, [1, 0, 1]),
        ] {
            let key = info(bits: bits, exponent: exponent)
            expect(Fixture.chain(leaf: { $0.subjectPublicKeyInfo = key }), .unsupportedAlgorithm)
            let above = Fixture.chain(intermediate: { $0.subjectPublicKeyInfo = key })
            expect(above, .unsupportedAlgorithm)
            let parsed = try? Certificate(
                der: Fixture.chain(leaf: { $0.subjectPublicKeyInfo = key }).certificates[0])
            let usable = parsed?.rsaKey(smallestBits: 2048) != nil
            #expect(usable == (bits == 2048 && exponent.count == 3), "\(bits)")
        }
    }
}
