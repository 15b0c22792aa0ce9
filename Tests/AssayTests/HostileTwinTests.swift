@testable import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import COpenSSL
import Testing

/// Line 71 of the catalogue of hostile input: an ECDSA signature (r, s) has the twin (r, n − s),
/// so an attacker can re-encode a certificate without its issuer.
@Suite struct HostileTwinTests {
    /// A root, intermediate and leaf, on the curves of Apple's chains or of Apple's test chain.
    private struct Links {
        let root: IssuedCertificate
        let intermediate: IssuedCertificate
        let chain: SigningChain
        let curve: Int32

        init(on curve: SigningKey.Kind, _ nid: Int32, _ algorithm: SigningAlgorithm) {
            self.curve = nid
            (root, intermediate, chain) = Fixture.made {
                let validity = Fixture.validity
                let root = try DevelopmentCA.makeRoot(
                    validity: validity, key: SigningKey(generating: curve)
                ) { $0.setAlgorithm(algorithm) }
                let intermediate = try DevelopmentCA.makeIntermediate(
                    under: root, validity: validity, key: SigningKey(generating: curve)
                ) { $0.setAlgorithm(algorithm) }
                let leaf = try DevelopmentCA.makeLeaf(
                    under: intermediate.key, validity: validity
                ) { $0.setAlgorithm(algorithm) }
                return (
                    root, intermediate,
                    SigningChain(
                        certificates: [leaf.der, intermediate.der, root.der], key: leaf.key)
                )
            }
        }

        /// The chain in each combination of the two forms of leaf and intermediate.
        var forms: [SigningChain] {
            let certificates = chain.certificates.map { [$0, ECDSAForms.twin(of: $0, curve)] }
            return certificates[0].flatMap { leaf in
                certificates[1].map {
                    SigningChain(certificates: [leaf, $0, root.der], key: chain.key)
                }
            }
        }
    }

    private static let all = [
        Links(on: .p384, NID_secp384r1, .ecdsaWithSHA384),
        Links(on: .p256, NID_X9_62_prime256v1, .ecdsaWithSHA256),
    ]

    private static func fingerprint(_ bytes: [UInt8]) -> Fingerprint {
        Fingerprint(SHA256.digest(bytes.span))
    }

    @Test("line 71: a denied certificate is also refused with the other form of its signature")
    func denied() throws {
        for links in Self.all {
            let trust = Fixture.trust(links.root.der)
            for index in 0..<3 {
                let certificate = links.chain.certificates[index]
                let parsed = try Certificate(der: certificate)
                let names = [
                    certificate, ECDSAForms.twin(of: certificate, links.curve),
                    Array(parsed.der[parsed.tbsCertificate]),
                    Array(parsed.der[parsed.publicKey.range]),
                ]
                for name in names {
                    let verifier = Verifier(trust: trust.denying([Self.fingerprint(name)]))
                    for chain in links.forms {
                        let token = Fixture.token(Fixture.payload(), chain)
                        Fixture.expect(
                            Fixture.verify(token, by: verifier), .certificateRevoked,
                            comment: "\(index)")
                    }
                }
            }
        }
    }

    @Test("line 71: no other certificate is denied with it")
    func neighbours() throws {
        for links in Self.all {
            let trust = Fixture.trust(links.root.der)
            let plain = Verifier(trust: trust)
            let other = try DevelopmentCA.makeLeaf(
                under: links.intermediate.key, validity: Fixture.validity
            ) { _ in }
            let verifier = Verifier(
                trust: trust.denying([Self.fingerprint(links.chain.certificates[0])]))
            for intermediate in Set(links.forms.map { $0.certificates[1] }) {
                let chain = SigningChain(
                    certificates: [other.der, intermediate, links.root.der], key: other.key)
                let token = Fixture.token(Fixture.payload(), chain)
                Fixture.expect(Fixture.verify(token, by: verifier), .valid)
            }
            for chain in links.forms {
                let token = Fixture.token(Fixture.payload(), chain)
                Fixture.expect(Fixture.verify(token, by: plain), .valid)
            }
        }
    }

    @Test("line 71: a signature has no third form")
    func noThirdForm() {
        for links in Self.all {
            let leaf = links.chain.certificates[0]
            let others = ECDSAForms.malformed(of: leaf, links.curve)
            #expect(others.count == 6)
            for (name, other) in others {
                let verifier = Verifier(trust: Fixture.trust(links.root.der))
                let chain = SigningChain(
                    certificates: [other] + links.chain.certificates.dropFirst(),
                    key: links.chain.key)
                let token = Fixture.token(Fixture.payload(), chain)
                Fixture.expect(
                    Fixture.verify(token, by: verifier), .invalidChain, .malformed, comment: name)
            }
        }
    }

    @Test("line 71: the four forms of a chain, in any number of headers, cost four validations")
    func caches() throws {
        for links in Self.all {
            let verifier = Verifier(trust: Fixture.trust(links.root.der))
            let genuine = Fixture.token(Fixture.payload(), links.chain)
            Fixture.expect(Fixture.verify(genuine, by: verifier), .valid)
            for chain in links.forms {
                for index in 0..<20 {
                    // An attacker who re-encodes a chain does not have its key.
                    let token = Fixture.token(
                        Fixture.payload(), chain,
                        header: { $0.extraMembers = [("n", "\(index)")] },
                        signature: { $0[5] ^= 1 })
                    Fixture.expect(Fixture.verify(token, by: verifier), .invalidSignature)
                }
            }
            #expect(verifier.chains.validations == 4)
            #expect(verifier.chains.counts == (1, 0))
            Fixture.expect(Fixture.verify(genuine, by: verifier), .valid)
            // With genuine signatures, each form becomes a known chain without another
            // validation.
            for _ in 0..<3 {
                for chain in links.forms {
                    let token = Fixture.token(Fixture.payload(), chain)
                    Fixture.expect(Fixture.verify(token, by: verifier), .valid)
                }
            }
            #expect(verifier.chains.validations == 4)
            #expect(verifier.chains.counts == (4, 0))
        }
    }

    @Test("line 71: a root pinned in both forms is one root with the stricter setting")
    func pinnedTwin() throws {
        for links in Self.all {
            let twin = ECDSAForms.twin(of: links.root.der, links.curve)
            let token = Fixture.token(Fixture.payload(), links.chain)
            for (first, second) in [(false, true), (true, false), (false, false)] {
                let trust = try TrustStore.empty.pinning(links.root.der, development: first)
                    .pinning(twin, development: second)
                let verdict: Verdict = first || second ? .untrustedChain : .valid
                Fixture.expect(
                    Fixture.verify(token, by: Verifier(trust: trust)), verdict)
            }
        }
    }

    @Test("line 71: an RSA signature has one form")
    func rsa() throws {
        let ca = try MintedReceipts.ca.get()
        let leaf = try Certificate(der: ca.leafCertificate)
        let outer = Array(leaf.der[leaf.tbsCertificate.lowerBound..<leaf.signature.lowerBound])
        // The unchanged signature, then one with a leading zero.
        let header = outer.count - 5
        for padding in [[], [0]] as [[UInt8]] {
            let signature = padding + Array(leaf.der[leaf.signature])
            let changed = DERWriter.build { writer in
                writer.sequence {
                    $0.raw(Array(outer[..<header]))
                    $0.bitString(signature)
                }
            }
            let verdict = try HostileReceipts.verdict {
                $0.certificates = [changed, ca.intermediateCertificate, ca.rootCertificate]
            }
            #expect(verdict == (padding.isEmpty ? .valid : .invalidChain))
        }
        for certificate in [ca.leafCertificate, ca.intermediateCertificate, ca.rootCertificate] {
            for part in [\Certificate.tbsCertificate, \.publicKey.range] {
                let parsed = try Certificate(der: certificate)
                let name = Self.fingerprint(Array(parsed.der[parsed[keyPath: part]]))
                let verifier = Verifier(
                    trust: try MintedReceipts.verifier().trust.denying([name]))
                let receipt = try ReceiptMinter(ca.chain).sign(MintedReceipts.sample().payload)
                #expect(try HostileReceipts.verdict(receipt, verifier) == .certificateRevoked)
            }
        }
    }
}

/// Other forms of a certificate's ECDSA signature, computed with OpenSSL's big numbers.
private enum ECDSAForms {
    /// Returns the certificate with the signature (r, n − s).
    static func twin(of certificate: [UInt8], _ curve: Int32) -> [UInt8] {
        let (r, s) = numbers(certificate)
        let order = order(curve)
        return replacing(certificate, encoded(r, combined(order, s, subtracting: true)))
    }

    /// Returns certificates with signatures that lenient decoders accept as equal, but that DER
    /// or the range of r and s forbids.
    static func malformed(of certificate: [UInt8], _ curve: Int32) -> [(String, [UInt8])] {
        let (r, s) = numbers(certificate)
        let order = order(curve)
        let genuine = encoded(r, s)
        return [
            ("s + n", encoded(r, combined(s, order, subtracting: false))),
            ("r + n", encoded(combined(r, order, subtracting: false), s)),
            ("padded s", encoded(r, s, padding: [0])),
            ("long length", [0x30, 0x81, genuine[1]] + genuine.dropFirst(2)),
            ("trailing octet in it", encoded(r, s, trailing: [0x05, 0x00])),
            ("trailing octet behind it", genuine + [0]),
        ].map { ($0.0, replacing(certificate, $0.1)) }
    }

    private static func replacing(_ certificate: [UInt8], _ signature: [UInt8]) -> [UInt8] {
        let parsed = Fixture.made { try Certificate(der: certificate) }
        // Skips the header of the BIT STRING, in the short form, and its count of unused bits.
        let end = parsed.signature.lowerBound - 3
        return DERWriter.build { writer in
            writer.sequence {
                $0.raw(Array(parsed.der[parsed.tbsCertificate.lowerBound..<end]))
                $0.bitString(signature)
            }
        }
    }

    /// Returns the magnitudes of r and s.
    private static func numbers(_ certificate: [UInt8]) -> (r: [UInt8], s: [UInt8]) {
        Fixture.made {
            let parsed = try Certificate(der: certificate)
            var outer = DERReader(parsed.der.span, range: parsed.signature)
            var numbers = try outer.readInside(.sequence)
            return (
                Array(parsed.der[try numbers.readIntegerOctets().content]),
                Array(parsed.der[try numbers.readIntegerOctets().content])
            )
        }
    }

    private static func encoded(
        _ r: [UInt8], _ s: [UInt8], padding: [UInt8] = [], trailing: [UInt8] = []
    ) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.element(tag: 0x02, content: positive(r))
                $0.element(tag: 0x02, content: padding + positive(s))
                $0.raw(trailing)
            }
        }
    }

    private static func positive(_ number: [UInt8]) -> [UInt8] {
        let magnitude = Array(number.drop { $0 == 0 })
        return magnitude[0] & 0x80 == 0 ? magnitude : [0] + magnitude
    }

    private static func order(_ curve: Int32) -> [UInt8] {
        let group = unsafe EC_GROUP_new_by_curve_name(curve)!
        defer { unsafe EC_GROUP_free(group) }
        return unsafe octets(EC_GROUP_get0_order(group)!)
    }

    private static func combined(_ a: [UInt8], _ b: [UInt8], subtracting: Bool) -> [UInt8] {
        let (first, second) = unsafe (number(a), number(b))
        let result = unsafe BN_new()!
        defer {
            unsafe BN_free(first)
            unsafe BN_free(second)
            unsafe BN_free(result)
        }
        if subtracting {
            unsafe precondition(BN_sub(result, first, second) == 1)
        } else {
            unsafe precondition(BN_add(result, first, second) == 1)
        }
        return unsafe octets(result)
    }

    private static func number(_ octets: [UInt8]) -> OpaquePointer {
        unsafe BN_bin2bn(octets, Int32(octets.count), nil)!
    }

    private static func octets(_ number: OpaquePointer) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: unsafe Int(BN_num_bits(number) + 7) / 8)
        unsafe BN_bn2bin(number, &octets)
        return octets
    }
}
