import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// The checks of OCSP responses and CRLs: each accepted form beside its rejected neighbours.
@Suite struct RevocationDocumentTests {
    private typealias Minted = MintedStatus

    /// The result for the leaf: its status, or why the document is not used.
    private static func result(
        _ document: [UInt8], of subject: Minted.Subject = .leaf
    ) -> Result<RevocationStatus?, RevocationError> {
        do throws(RevocationError) {
            let cell = try Minted.cell(subject, document)
            if let problem = cell.problems.first { return .failure(problem.error) }
            return .success(cell.current?.status)
        } catch {
            return .failure(error)
        }
    }

    private static func error(_ document: [UInt8]) -> RevocationError? {
        if case .failure(let error) = result(document) { error } else { nil }
    }

    private static func state(_ document: [UInt8]) -> RevocationStatus.State? {
        (try? result(document).get())?.state
    }

    // MARK: Statements

    @Test(arguments: MintedStatus.Subject.allCases)
    func responsesOfTheIssuer(_ subject: MintedStatus.Subject) throws {
        for hash in [SigningKey.Digest.sha1, .sha256] {
            let status = try Self.result(Minted.response(subject, hash: hash), of: subject).get()
            #expect(
                status
                    == RevocationStatus(
                        state: .good, thisUpdate: Fixture.time(-Minted.hour),
                        nextUpdate: Fixture.time(11 * Minted.hour)))
        }
        let other: Minted.Subject = subject == .leaf ? .intermediate : .leaf
        #expect(try Self.result(Minted.response(other), of: subject).get() == nil)
    }

    @Test func statements() {
        #expect(Self.state(Minted.response(.leaf, .unknown)) == .unknown)
        for reason in CertificateRevocationReason.allCases {
            let state = Minted.revoked(-90, reason)
            #expect(
                Self.state(Minted.response(.leaf, state)) == .revoked(at: Fixture.time(-90), reason)
            )
        }
        #expect(
            Self.state(Minted.response(.leaf, Minted.revoked(-90)))
                == .revoked(at: Fixture.time(-90), .unspecified))
        // 7 is not assigned.
        let bad = Minted.response(.leaf, .revoked(at: Fixture.now, reason: 7))
        #expect(Self.error(bad)?.isMalformed == true)
    }

    @Test func otherCertificates() throws {
        let issuer = DistinguishedName(commonName: "Another")
        let key = Fixture.foreignCA.intermediateKey!
        let serial = Minted.Subject.leaf.serial
        var neighbour = serial
        neighbour[neighbour.count - 1] ^= 1
        let ids = [
            OCSPResponseBuilder.certificateID(
                issuerName: issuer, issuerKey: Minted.ca.intermediateKey!, serial: serial),
            OCSPResponseBuilder.certificateID(
                issuerName: Minted.Subject.leaf.issuerName, issuerKey: key, serial: serial),
            OCSPResponseBuilder.certificateID(
                issuerName: Minted.Subject.leaf.issuerName,
                issuerKey: Minted.ca.intermediateKey!, serial: neighbour),
        ]
        for id in ids {
            let response = Minted.response { $0.singles[0].id = id }
            #expect(try Self.result(response).get() == nil)
        }
        // Among several, the one about the certificate counts.
        let among = Minted.response(.leaf, Minted.revoked(-5)) { builder in
            var other = builder.singles[0]
            (other.id, other.state) = (ids[2], .good)
            builder.singles.insert(other, at: 0)
        }
        #expect(Self.state(among) == .revoked(at: Fixture.time(-5), .unspecified))
    }

    // MARK: Signers

    @Test func wrongSigners() {
        #expect(
            Self.error(Minted.response(by: Fixture.foreignCA.intermediateKey!)) == .unknownSigner)
        // The root issued the issuer, but not the leaf.
        #expect(Self.error(Minted.response(by: Minted.ca.rootKey!)) == .unknownSigner)
        let named = Minted.response(by: Fixture.foreignCA.intermediateKey!) {
            $0.responderName = DevelopmentCA.intermediateName
        }
        #expect(Self.error(named) == .invalidSignature)
        let byName = Minted.response { $0.responderName = DevelopmentCA.intermediateName }
        #expect(Self.state(byName) == .good)
        for index in [40, 100, 200] {
            var changed = Minted.response()
            changed[changed.count - index] ^= 1
            #expect(Self.state(changed) == nil)
        }
    }

    @Test func delegates() {
        #expect(Self.state(Minted.delegated()) == .good)
        let byName = Minted.delegated { $0.responderName = Minted.delegateName }
        #expect(Self.state(byName) == .good)
        let critical = Minted.delegate {
            $0["2.5.29.37"] = .extendedKeyUsage(["1.3.6.1.5.5.7.3.9"], critical: true)
        }
        #expect(Self.state(Minted.delegated(critical)) == .good)
        let second = Minted.delegated {
            $0.certificates = [Minted.ca.leafCertificate, Minted.delegate()]
        }
        #expect(Self.state(second) == .good)
    }

    @Test func delegatesWithoutARight() {
        let others: [(String, [UInt8])] = [
            ("OCSPSigning", Minted.delegate { $0["2.5.29.37"] = nil }),
            (
                "OCSPSigning",
                Minted.delegate { $0["2.5.29.37"] = .extendedKeyUsage(["1.3.6.1.5.5.7.3.1"]) }
            ),
            ("OCSPSigning", Minted.delegate { $0["2.5.29.37"] = .extendedKeyUsage([]) }),
            ("another authority", Minted.delegate { $0.issuer = DevelopmentCA.rootName }),
            ("did not sign", Minted.delegate(by: Fixture.foreignCA.intermediateKey!)),
            ("did not sign", Minted.delegate(by: Minted.ca.rootKey!)),
            (
                "digitalSignature",
                Minted.delegate { $0[CertificateExtension.keyUsageOID] = .keyUsage(.keyCertSign) }
            ),
            (
                "critical",
                Minted.delegate { $0["2.5.29.99"] = .marker("2.5.29.99", critical: true) }
            ),
            ("not valid", Minted.delegate { $0.notAfter = Fixture.time(-2 * Minted.hour) }),
            ("not valid", Minted.delegate { $0.notBefore = Fixture.time(-60) }),
        ]
        for (reason, certificate) in others {
            let error = Self.error(Minted.delegated(certificate))
            #expect(error?.reason == .invalidDelegate, "\(reason)")
            #expect(error?.message.contains(reason) == true, "\(reason): \(error as Any)")
        }
        let missing = Minted.delegated { $0.certificates = [] }
        #expect(Self.error(missing) == .unknownSigner)
        // An expired delegate does not sign a fresh statement with an old date of production.
        let expired = Minted.delegate { $0.notAfter = Fixture.time(-2 * Minted.hour) }
        let old = Minted.delegated(expired, from: -3 * Minted.hour)
        #expect(Self.state(old) == .good)
        let dressed = Minted.delegated(expired) { $0.producedAt = Fixture.time(-3 * Minted.hour) }
        #expect(Self.state(dressed) == nil)
    }

    // MARK: Form

    @Test func dates() {
        #expect(Self.state(Minted.response(from: 4 * 60)) == .good)
        #expect(Self.error(Minted.response(from: 6 * 60)) == .fromTheFuture)
        let produced = Minted.response { $0.producedAt = Fixture.time(6 * 60) }
        #expect(Self.error(produced) == .fromTheFuture)
        let early = Minted.response(from: 6 * 60) { $0.producedAt = Fixture.now }
        #expect(Self.error(early) == .fromTheFuture)
        #expect(Self.error(Minted.response(to: -2 * Minted.hour))?.isMalformed == true)
        #expect(Self.state(Minted.response(to: nil)) == .good)
        #expect(Self.error(Minted.list(from: 6 * 60)) == .fromTheFuture)
        #expect(Self.error(Minted.list(to: -2 * Minted.hour))?.isMalformed == true)
    }

    @Test func responseForms() {
        #expect(Self.error(Minted.response { $0.status = 3 }) == .refusedByResponder(3))
        let type = Minted.response { $0.type = "1.3.6.1.5.5.7.48.1.2" }
        #expect(Self.error(type) == .unsupported("a response of type 1.3.6.1.5.5.7.48.1.2"))
        // A nonce, which nobody asked for.
        let nonce = CertificateExtension(oid: "1.3.6.1.5.5.7.48.1.2", value: [4, 1, 7])
        #expect(Self.state(Minted.response { $0.extensions = [nonce] }) == .good)
        let critical = CertificateExtension.marker("1.2.3", critical: true)
        #expect(
            Self.error(Minted.response { $0.extensions = [critical] })
                == .criticalExtension("1.2.3"))
        #expect(
            Self.error(Minted.response { $0.singles[0].extensions = [critical] })
                == .criticalExtension("1.2.3"))
        // It belongs to a status, and not to the response.
        let invalidity = CertificateExtension.marker("2.5.29.24", critical: true)
        #expect(
            Self.error(Minted.response { $0.extensions = [invalidity] })
                == .criticalExtension("2.5.29.24"))
        #expect(Self.error(Minted.response { $0.trailingInside = [5, 0] })?.isMalformed == true)
        #expect(Self.error(Minted.response() + [0])?.isMalformed == true)
        for count in [0, 1, 5, 100] {
            #expect(Self.error(Array(Minted.response().prefix(count)))?.isMalformed == true)
        }
        let many = Minted.response { builder in
            builder.singles = Array(
                repeating: builder.singles[0], count: Limits.ocspSingleResponses + 1)
        }
        #expect(Self.error(many)?.isMalformed == true)
        let certificates = Minted.response { builder in
            builder.certificates = Array(
                repeating: Minted.ca.leafCertificate, count: Limits.ocspCertificates + 1)
        }
        #expect(Self.error(certificates)?.isMalformed == true)
    }

    @Test func sizes() {
        let list = [UInt8](repeating: 0, count: Limits.revocationListBytes + 1)
        #expect(
            Self.error(list)
                == .tooLarge(bytes: list.count, limit: Limits.revocationListBytes))
        func padded(_ count: Int) -> [UInt8] {
            Minted.response {
                $0.extensions = [
                    CertificateExtension(oid: "1.2.3", value: [UInt8](repeating: 0, count: count))
                ]
            }
        }
        #expect(Self.state(padded(Limits.ocspResponseBytes - 1000)) == .good)
        #expect(Self.state(padded(Limits.ocspResponseBytes)) == nil)
        func parse(_ count: Int) -> RevocationError? {
            do throws(RevocationError) {
                _ = try OCSPResponse([UInt8](repeating: 0, count: count).span)
                return nil
            } catch {
                return error
            }
        }
        let limit = Limits.ocspResponseBytes
        #expect(parse(limit)?.isMalformed == true)
        #expect(parse(limit + 1) == .tooLarge(bytes: limit + 1, limit: limit))
    }

    // MARK: CRLs

    @Test func lists() throws {
        #expect(Self.state(Minted.list()) == .good)
        let entry = RevocationListBuilder.Entry(
            serial: Minted.Subject.leaf.serial, date: Fixture.time(-50), reason: 1)
        let other = RevocationListBuilder.Entry(serial: [9], date: Fixture.time(-70))
        #expect(
            Self.state(Minted.list(revoking: [other, entry]))
                == .revoked(at: Fixture.time(-50), .keyCompromise))
        #expect(Self.state(Minted.list(revoking: [other])) == .good)
        #expect(try Self.result(Minted.list(of: .intermediate)).get() == nil)
        let pem = Array(
            ("-----BEGIN X509 CRL-----\n"
                + Fixture.text(Base64.encode(Minted.list(revoking: [entry]).span))
                + "\n-----END X509 CRL-----\n").utf8)
        #expect(Self.state(pem) == .revoked(at: Fixture.time(-50), .keyCompromise))
    }

    @Test func listsThatAreNotUsed() throws {
        #expect(Self.error(Minted.list(by: Fixture.foreignCA.rootKey!)) == .invalidSignature)
        // Another authority of this name: its list is not about the leaf.
        let foreign = Minted.list(by: Fixture.foreignCA.intermediateKey!) {
            $0.extensions = [
                .authorityKeyIdentifier(Fixture.foreignCA.intermediateKey!.keyIdentifier)
            ]
        }
        #expect(try Self.result(foreign).get() == nil)
        let own = Minted.list {
            $0.extensions = [.authorityKeyIdentifier(Minted.ca.intermediateKey!.keyIdentifier)]
        }
        #expect(Self.state(own) == .good)
        let unknown = Minted.list { $0.extensions = [.marker("1.2.3", critical: true)] }
        #expect(Self.error(unknown) == .criticalExtension("1.2.3"))
        var indirect = RevocationListBuilder.Entry(serial: [9], date: Fixture.now)
        indirect.extensions = [.marker("2.5.29.29", critical: true)]
        #expect(
            Self.error(Minted.list(revoking: [indirect])) == .criticalExtension("2.5.29.29"))
        let old = Minted.list {
            ($0.version, $0.extensions) = (nil, [.marker("1.2.3")])
        }
        #expect(Self.error(old)?.isMalformed == true)
        #expect(Self.state(Minted.list { $0.version = nil }) == .good)
        #expect(Self.error(Minted.list { $0.version = 2 })?.isMalformed == true)
        let two = Minted.list { $0.innerAlgorithm = .ecdsaWithSHA256 }
        #expect(Self.error(two)?.isMalformed == true)
    }

    @Test("only an issuer that may sign CRLs signs one")
    func listUsage() throws {
        let issued = try Minted.ca.issueIntermediate(validity: Fixture.validity) {
            $0[CertificateExtension.keyUsageOID] = .keyUsage(.keyCertSign)
        }
        let chain = try Minted.ca.issueChain(under: issued, validity: Fixture.validity)
        let store = MintedStatus.store(Minted.list(by: issued.key))
        let cell = store.cell(
            of: try Certificate(der: chain.certificates[0]),
            under: try Certificate(der: issued.der), as: .leaf)
        #expect(
            cell.problems.map(\.error) == [
                .invalidDelegate("the issuer's key usage lacks cRLSign")
            ])
    }

    // MARK: Requests

    @Test("a request names the certificate as a response does")
    func request() throws {
        let leaf = Minted.Subject.leaf
        let request = OCSPRequest.der(of: leaf.certificate, under: leaf.issuer)
        let id = leaf.id()
        let expected = DERWriter.build { writer in
            writer.sequence { outer in
                outer.sequence { tbs in
                    tbs.sequence { list in list.sequence { $0.raw(id) } }
                }
            }
        }
        #expect(request == expected)
    }

    @Test func locations() throws {
        let leaf = Minted.Subject.leaf.certificate
        let intermediate = Minted.Subject.intermediate.certificate
        #expect(leaf.ocspLocation == "http://ocsp.example.com/ocsp03-assaydev02")
        #expect(leaf.crlLocation == nil)
        #expect(intermediate.ocspLocation == "http://ocsp.example.com/ocsp03-assayroot")
        #expect(intermediate.crlLocation == "http://crl.example.com/assayroot.crl")
        let root = try Certificate(der: Minted.ca.rootCertificate)
        #expect(root.ocspLocation == nil && root.crlLocation == nil)
        let long = Fixture.chain(leaf: {
            $0[CertificateExtension.authorityInfoAccessOID] = .authorityInfoAccess(
                ocsp: "http://" + String(repeating: "a", count: Limits.revocationLocationBytes))
        })
        #expect(try Certificate(der: long.certificates[0]).ocspLocation == nil)
    }
}

extension RevocationError {
    fileprivate var isMalformed: Bool { reason == .malformed }
}
