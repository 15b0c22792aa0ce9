import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

@testable import Assay

/// To whom a status belongs, and what a CRL says that it leaves out.
@Suite struct RevocationScopeTests {
    private typealias Minted = MintedStatus

    /// The certificates of `Fixture.ca` under another root that is pinned elsewhere: who has
    /// its key can issue an intermediate with the name and the key of any authority.
    private static let foreignChain: SigningChain = Fixture.made {
        let root = IssuedCertificate(
            der: Fixture.foreignCA.rootCertificate, key: Fixture.foreignCA.rootKey!)
        // It may not sign CRLs, so that no list of the genuine authority counts under it.
        let intermediate = try DevelopmentCA.makeIntermediate(
            under: root, validity: Fixture.validity, key: Fixture.ca.intermediateKey!
        ) { $0[CertificateExtension.keyUsageOID] = .keyUsage(.keyCertSign) }
        return SigningChain(
            certificates: [
                Fixture.ca.leafCertificate, intermediate.der, Fixture.foreignCA.rootCertificate,
            ], key: Fixture.ca.chain.key)
    }

    @Test("another configuration's root can't clear or spoil the status of a certificate")
    func twoConfigurations() {
        var policy = Fixture.policy
        let entry = RevocationListBuilder.Entry(
            serial: Minted.Subject.leaf.serial, date: Fixture.time(-50), reason: 1)
        let statuses = [
            (Minted.list(revoking: [entry]), RevocationPolicy.soft, Verdict.certificateRevoked),
            (Minted.list(), .hard(maximumAge: .seconds(24 * 3600)), .valid),
        ]
        for (list, mode, verdict) in statuses {
            policy.revocation = mode
            for foreignFirst in [false, true] {
                let store = Minted.store(list, Minted.response(.intermediate))
                let genuine = Minted.verifier(store)
                let foreign = Verifier(
                    trust: Fixture.trust(Fixture.foreignCA.rootCertificate), keyTables: .never,
                    revocation: store)
                func verify(_ verifier: Verifier, _ chain: SigningChain) -> Verdict {
                    verifier.verify(
                        Fixture.token(Fixture.payload(), chain).span, as: .transaction,
                        policy: policy, at: Fixture.now
                    ).verdict
                }
                if foreignFirst { _ = verify(foreign, Self.foreignChain) }
                #expect(verify(genuine, Fixture.ca.chain) == verdict, "foreign \(foreignFirst)")
                // Neither configuration takes the other's chain.
                #expect(verify(genuine, Self.foreignChain) == .untrustedChain)
                #expect(verify(foreign, Fixture.ca.chain) == .untrustedChain)
                #expect(verify(genuine, Fixture.ca.chain) == verdict)
            }
        }
    }

    private static func error(_ document: [UInt8]) -> RevocationError? {
        do throws(RevocationError) {
            _ = try Minted.cell(.leaf, document)
            return nil
        } catch {
            return error
        }
    }

    private static func isMalformed(_ document: [UInt8]) -> Bool {
        error(document)?.reason == .malformed
    }

    private static func status(_ document: [UInt8]) throws -> RevocationStatus.State? {
        try Minted.cell(.leaf, document).current?.status.state
    }

    /// A DER element.
    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        [tag, UInt8(content.count)] + content
    }

    @Test("a list that leaves certificates out is refused by what it says, critical or not")
    func scopes() throws {
        let point = "2.5.29.28"
        let cases: [(String, [UInt8], String?)] = [
            ("2.5.29.27", Self.element(2, [1]), "a delta CRL"),
            (point, Self.element(0x30, Self.element(0x81, [0xFF])), "a CRL of end entities alone"),
            (point, Self.element(0x30, Self.element(0x82, [0xFF])), "a CRL of authorities alone"),
            (
                point, Self.element(0x30, Self.element(0x83, [7, 0x60])),
                "a CRL of some reasons alone"
            ),
            (point, Self.element(0x30, Self.element(0x84, [0xFF])), "an indirect CRL"),
            (
                point, Self.element(0x30, Self.element(0x85, [0xFF])),
                "a CRL of attribute certificates alone"
            ),
            (
                point,
                Self.element(
                    0x30, Self.element(0xA0, Self.element(0xA0, Self.element(0x86, [0x61])))),
                "a CRL of one distribution point"
            ),
            (point, Self.element(0x30, []), nil),
            (point, Self.element(0x30, Self.element(0x81, [0])), nil),
        ]
        for (oid, value, scope) in cases {
            for isCritical in [false, true] {
                let list = Minted.list {
                    $0.extensions = [
                        CertificateExtension(oid: oid, critical: isCritical, value: value)
                    ]
                }
                #expect(Self.error(list) == scope.map { .unsupported($0) }, "\(oid) \(value)")
            }
        }
        for bad in [Self.element(5, []), Self.element(0x30, Self.element(0x86, [0])), []] {
            let list = Minted.list {
                $0.extensions = [CertificateExtension(oid: point, value: bad)]
            }
            #expect(Self.isMalformed(list), "\(bad)")
        }
    }

    @Test("the date since which the key is suspected counts where it is earlier")
    func invalidityDate() throws {
        func date(_ text: String) -> CertificateExtension {
            CertificateExtension(oid: "2.5.29.24", value: Self.element(0x18, Array(text.utf8)))
        }
        let early = Timestamp(milliseconds: 1_577_836_800_000)
        for (text, expected) in [
            ("20200101000000Z", early), ("20990101000000Z", Fixture.time(-50)),
        ] {
            var entry = RevocationListBuilder.Entry(
                serial: Minted.Subject.leaf.serial, date: Fixture.time(-50), reason: 4)
            entry.extensions.append(date(text))
            let found = try Self.status(Minted.list(revoking: [entry]))
            #expect(found == .revoked(at: expected, .superseded), "\(text)")
            let response = Minted.response(.leaf, Minted.revoked(-50, .superseded)) {
                $0.singles[0].extensions = [date(text)]
            }
            #expect(try Self.status(response) == .revoked(at: expected, .superseded), "\(text)")
        }
        let bad = Minted.response(.leaf, Minted.revoked(-50)) {
            $0.singles[0].extensions = [date("2020")]
        }
        #expect(Self.isMalformed(bad))
    }

    @Test("a file with two CRLs is two: each counts for its issuer, and the newer of one issuer")
    func severalLists() throws {
        func pem(_ lists: [[UInt8]]) -> [UInt8] {
            Array(
                lists.map {
                    "-----BEGIN X509 CRL-----\n" + Fixture.text(Base64.encode($0.span))
                        + "\n-----END X509 CRL-----\n"
                }.joined().utf8)
        }
        let entry = RevocationListBuilder.Entry(
            serial: Minted.Subject.leaf.serial, date: Fixture.time(-50), reason: 1)
        let revoked = Minted.list(revoking: [entry], from: -2 * Minted.hour)
        let good = Minted.list()
        let other = Minted.list(of: .intermediate)
        let isRevoked = RevocationStatus.State.revoked(at: Fixture.time(-50), .keyCompromise)
        for (lists, expected) in [
            ([other, good], .good), ([good, other], .good), ([other, revoked], isRevoked),
            // What is revoked stays revoked.
            ([good, revoked], isRevoked), ([revoked, good], isRevoked),
        ] as [([[UInt8]], RevocationStatus.State)] {
            #expect(try Self.status(pem(lists)) == expected)
        }
        #expect(try Minted.cell(.intermediate, pem([good, other])).current?.status.state == .good)
        let forged = Minted.list(by: Fixture.foreignCA.intermediateKey!)
        #expect(try Self.status(pem([good, forged])) == .good)
        #expect(try Self.status(pem([forged, forged])) == nil)
        #expect(Self.error(pem([good]) + Array("-----BEGIN X509 CRL-----".utf8)) != nil)
    }
}
