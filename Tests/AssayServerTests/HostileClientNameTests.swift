import AssayClient
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// The clients that `tls.client-names` accepts. Names are compared by type and octets.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct HostileClientNameTests {
    private static let spiffe = "spiffe://example.org/backend"
    private static let served = [spiffe, "Backend.example.org", "billing job", "k"]
    private static let names = ClientNames(served)

    private static func octets(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test("line 85: each name matches only names of its own type")
    func types() {
        let table: [(domains: [String], uris: [String], common: String?, isAllowed: Bool)] = [
            ([], [Self.spiffe], nil, true),
            ([Self.spiffe], [], nil, false),
            ([], [], Self.spiffe, false),
            // A URI without a scheme matches neither a DNS name nor a common name.
            (["backend.example.org"], [], nil, true),
            ([], ["backend.example.org"], nil, false),
            ([], ["Backend.example.org"], nil, false),
            ([], ["billing job"], nil, false),
            ([], ["billing job"], "billing job", false),
            ([], [], "billing job", true),
            // Several alternative names. The common name counts only when there are none.
            (["other.example.org", "backend.example.org"], [], nil, true),
            (["other.example.org"], [], "billing job", false),
            ([], [Self.spiffe, "spiffe://example.org/other"], nil, false),
            ([], [Self.spiffe, Self.spiffe], nil, false),
            (["backend.example.org"], ["spiffe://example.org/other"], nil, true),
            ([], [], nil, false),
        ]
        for row in table {
            let certificate = CertificateNames(
                domains: row.domains.map(Self.octets), uris: row.uris.map(Self.octets),
                commonName: row.common.map(Self.octets))
            #expect(Self.names.allow(certificate) == row.isAllowed, "\(row)")
        }
    }

    @Test(
        "line 85: a list of names of one type does not count as empty, which would accept everyone")
    func emptiness() {
        #expect(ClientNames([]).isEmpty)
        for name in [Self.spiffe, "backend.example.org", "billing job", ""] {
            #expect(!ClientNames([name]).isEmpty, "\(name)")
        }
    }

    @Test("line 85: names match by octets; only DNS names ignore ASCII case")
    func octets() {
        func isAllowed(domain: String) -> Bool {
            Self.names.allow(CertificateNames(domains: [Self.octets(domain)]))
        }
        for name in ["backend.example.org", "BACKEND.EXAMPLE.ORG", "Backend.Example.org", "K"] {
            #expect(isAllowed(domain: name), "\(name)")
        }
        for name in [
            // KELVIN SIGN: equivalent to K in Unicode, and folded to lower-case k.
            "\u{212A}", "bac\u{212A}end.example.org", "backend.example.org\0",
            "backend.example.org\0.example.com", "backend.example.org.", "*.example.org", "*",
            " backend.example.org", "",
        ] {
            #expect(!isAllowed(domain: name), "\(name)")
        }
        for (name, expected) in [
            ("billing job", true), ("Billing job", false), ("billing job\0", false), ("k", true),
            ("K", false), ("\u{212A}", false), ("Backend.example.org", true),
            ("backend.example.org", false),
        ] {
            let certificate = CertificateNames(commonName: Self.octets(name))
            #expect(Self.names.allow(certificate) == expected, "\(name)")
        }
        for (uri, expected) in [
            (Self.spiffe, true), (Self.spiffe + "\0", false), (Self.spiffe.uppercased(), false),
            ("spiffe://example.org/bac\u{212A}end", false),
        ] {
            let certificate = CertificateNames(uris: [Self.octets(uri)])
            #expect(Self.names.allow(certificate) == expected, "\(uri)")
        }
        // Names that compare equal as Strings stay two names.
        let kelvin = ClientNames(["\u{212A}", "K"])
        for name in ["\u{212A}", "K"] {
            #expect(kelvin.allow(CertificateNames(commonName: Self.octets(name))))
        }
    }

    private static let utf8String: UInt8 = 0x0C
    private static let printableString: UInt8 = 0x13
    private static let bmpString: UInt8 = 0x1E

    /// A subject whose common names have these string types and octets.
    private static func subject(_ names: (tag: UInt8, octets: [UInt8])...) -> DistinguishedName {
        DistinguishedName(
            der: DERWriter.build { writer in
                writer.sequence { subject in
                    for name in names {
                        subject.set { relative in
                            relative.sequence { attribute in
                                attribute.oid("2.5.4.3")
                                attribute.element(tag: name.tag, content: name.octets)
                            }
                        }
                    }
                }
            })
    }

    @Test("line 85: the same for certificates at a server's port")
    func certificates() async throws {
        let pki = try TestPKI()
        let name = Self.octets("billing job")
        let wide: [UInt8] = name.flatMap { octet -> [UInt8] in [0, octet] }
        // The octets of this BMPString equal an accepted name.
        let disguised = Self.octets("Backend.example.org!")
        let table: [(DistinguishedName?, [TestPKI.Name], isAllowed: Bool)] = [
            (Self.subject((Self.utf8String, name)), [], true),
            (Self.subject((Self.printableString, name)), [], true),
            (Self.subject((Self.bmpString, wide)), [], false),
            (Self.subject((Self.bmpString, disguised)), [], false),
            (Self.subject((Self.utf8String, disguised)), [], true),
            (Self.subject((Self.utf8String, name), (Self.utf8String, name)), [], false),
            (Self.subject((Self.utf8String, name)), [.dns("other.example.org")], false),
            (nil, [.uri("backend.example.org")], false),
            (nil, [.dns("backend.example.org")], true),
            (nil, [.dns("bac\u{212A}end.example.org")], false),
            (nil, [.dns("backend.example.org\0.example.com")], false),
            (nil, [.dns("*.example.org")], false),
        ]
        let served = Self.served + ["Backend.example.org!"]
        let test = try SocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(names: served)
        }
        for (subject, names, isAllowed) in table {
            let identity = try pki.issue("someone", names, subject: subject)
            let client = try AssayClient(
                address: test.server.endpoints[2],
                options: ClientOptions(
                    timeout: .seconds(20), retriesOnce: false, tls: try pki.client(identity)))
            defer { client.close() }
            do throws(ClientError) {
                try await client.ping()
                #expect(isAllowed, "\(names)")
            } catch {
                guard error.status?.code == .permissionDenied, !isAllowed else {
                    Issue.record("\(names): \(error)")
                    continue
                }
            }
        }
        test.server.drain()
        test.server.wait()
    }

    @Test("line 85: app entry names match by octets")
    func appEntries() throws {
        let token = try Minted.transaction.get()
        try withSocketServer {
            $0.apps["K"] = $0.apps["game"]
            $0.apps["caf\u{E9}"] = $0.apps["game"]
        } _: { test in
            let client = try RawClient(test.unix)
            for (name, isThere) in [
                ("K", true), ("\u{212A}", false), ("k", false), ("caf\u{E9}", true),
                ("cafe\u{301}", false), ("game", true), ("Game", false),
            ] {
                try client.send(RawClient.verify(1, .transaction, token, app: name))
                let status = try client.receive()?.head.status
                #expect(status == (isThere ? .ok : .notFound), "\(name)")
            }
        }
    }
}
