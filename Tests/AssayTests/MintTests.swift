import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Checks minted certificates and tokens without Assay's own verifier.
@Suite struct MintTests {
    /// 2026-01-01T00:00:00Z.
    static let now = Timestamp(milliseconds: 1_767_225_600_000)
    static let ca = Result { try DevelopmentCA.make(at: now) }

    private func pem(_ der: [UInt8]) -> [UInt8] { PEM.encode(der, label: "CERTIFICATE") }

    private func verify(_ chain: SigningChain, at now: Timestamp, _ tool: OpenSSLTool) throws
        -> (status: Int32, output: String)
    {
        try tool.run(
            "verify", "-x509_strict", "-attime", String(now.seconds),
            "-CAfile", tool.file("root.pem", pem(chain.certificates[2])),
            "-untrusted", tool.file("intermediate.pem", pem(chain.certificates[1])),
            tool.file("leaf.pem", pem(chain.certificates[0])))
    }

    @Test func opensslAcceptsTheChain() throws {
        guard let tool = try OpenSSLTool() else { return }
        defer { tool.cleanUp() }
        let ca = try Self.ca.get()
        let answer = try verify(ca.chain, at: Self.now, tool)
        #expect(answer.status == 0, "\(answer.output)")

        let foreign = try DevelopmentCA.make(at: Self.now)
        var mixed = ca.chain
        mixed.certificates[2] = foreign.rootCertificate
        #expect(try verify(mixed, at: Self.now, tool).status != 0)
        mixed.certificates[2] = ca.rootCertificate
        mixed.certificates[1] = foreign.intermediateCertificate
        #expect(try verify(mixed, at: Self.now, tool).status != 0)
    }

    @Test(
        "the first version of each customer of the Sandbox is 1.0",
        arguments: [
            (StoreEnvironment.production, "3877"), (.sandbox, "1.0"), (.xcode, "3877"),
        ])
    func originalVersion(environment: StoreEnvironment, version: String) {
        let payload = Samples.appTransaction(
            index: 1, bundleId: Fixture.bundle, appAppleId: 1, environment: environment,
            signedDate: Self.now)
        let text = String(decoding: payload, as: UTF8.self)
        #expect(text.contains(#""originalApplicationVersion":"\#(version)""#), "\(text)")
    }

    @Test func opensslAcceptsFurtherChains() throws {
        guard let tool = try OpenSSLTool() else { return }
        defer { tool.cleanUp() }
        let ca = try Self.ca.get()
        let hour = Validity(
            notBefore: Self.now,
            notAfter: Timestamp(milliseconds: Self.now.milliseconds + 3_600_000))
        let chain = try ca.issueChain(
            under: ca.issueIntermediate(validity: .around(Self.now, days: 30)), validity: hour)
        #expect(chain.certificates[0] != ca.leafCertificate)
        #expect(chain.certificates[1] != ca.intermediateCertificate)
        // Skips the second of notAfter itself: OpenSSL rejects it, RFC 5280 accepts it.
        for (seconds, passes) in [(-1, false), (0, true), (3599, true), (3601, false)] {
            let time = Timestamp(milliseconds: Self.now.milliseconds + Int64(seconds) * 1000)
            let answer = try verify(chain, at: time, tool)
            #expect((answer.status == 0) == passes, "\(seconds): \(answer.output)")
        }
        let critical = try ca.issueChain(validity: hour) { leaf in
            leaf.extensions.append(.marker("1.2.3.4", critical: true))
        }
        #expect(try verify(critical, at: Self.now, tool).output.contains("critical extension"))
        var broken = ca.chain
        broken.certificates[0][broken.certificates[0].count - 1] ^= 1
        #expect(try verify(broken, at: Self.now, tool).status != 0)
    }

    @Test func certificatesParseAsIntended() throws {
        guard let tool = try OpenSSLTool() else { return }
        defer { tool.cleanUp() }
        let ca = try Self.ca.get()
        let expectations = [
            (
                ca.leafCertificate,
                [
                    "Version: 3 (0x2)", "ecdsa-with-SHA384", "prime256v1", "CA:FALSE",
                    "Digital Signature", "1.2.840.113635.100.6.11.1",
                    "Not Before: Dec 31 00:00:00 2025",
                    "CN = Assay Development App Store Evidence Signing", "Explicit Text",
                ]
            ),
            (
                ca.intermediateCertificate,
                [
                    "secp384r1", "CA:TRUE, pathlen:0", "Certificate Sign, CRL Sign",
                    "1.2.840.113635.100.6.2.1", "URI:http://crl.example.com/assayroot.crl",
                ]
            ),
            (
                ca.rootCertificate,
                [
                    "secp384r1", "CA:TRUE", "CN = Assay Development Root CA",
                    "Not After : Dec 31 00:00:00 2050",
                ]
            ),
            (
                try SigningChain.storeKitTesting(at: Self.now).certificates[0],
                [
                    "Serial Number: 1 (0x1)", "ecdsa-with-SHA256", "CA:TRUE, pathlen:0",
                    "CN = StoreKit Testing in Xcode", "email:StoreKit Testing in Xcode",
                ]
            ),
        ]
        for (der, lines) in expectations {
            let path = try tool.file("certificate.der", der)
            let text = try tool.run("x509", "-inform", "DER", "-in", path, "-noout", "-text").output
            for line in lines { #expect(text.contains(line), "\(line) in \(text)") }
        }
    }

    /// Minted certificates are within 16 bytes of the size of Apple's: 1,077, 794 and 583 bytes.
    @Test func sizesMatchApples() throws {
        let sizes = try Self.ca.get().chain.certificates.map(\.count)
        print("leaf, intermediate, root: \(sizes) bytes")
        for (size, apples) in zip(sizes, [1077, 794, 583]) { #expect(abs(size - apples) <= 16) }
    }

    @Test func everyPartCanBeWrong() throws {
        let key = try SigningKey(generating: .p256)
        var builder = try CertificateBuilder(
            subject: DevelopmentCA.leafName, issuer: DevelopmentCA.leafName, publicKeyOf: key,
            notBefore: Self.now, notAfter: Self.now, extensions: [.basicConstraints(ca: true)],
            signatureAlgorithm: .ecdsaWithSHA256)
        builder.signature = [1, 2, 3]
        let plain = try builder.signed(by: key)
        let changes: [(inout CertificateBuilder) -> Void] = [
            { $0.version = nil }, { $0.version = 0 }, { $0.serial = [] }, { $0.serial = [0, 0] },
            { $0.tbsSignatureAlgorithm = .ecdsaWithSHA1 },
            { $0.signatureAlgorithm = .sha256WithRSA }, { $0.setAlgorithm(.sha512WithRSA) },
            { $0.issuer = DistinguishedName(der: [0x30, 0]) },
            { $0.subject = DistinguishedName(commonName: "x") }, { $0.rawValidity = [0x30, 0] },
            { $0.subjectPublicKeyInfo = [0x30, 0] }, { $0.rawExtensions = [] },
            { $0.extensions = [] }, { $0[CertificateExtension.basicConstraintsOID]?.value = [] },
            { $0[CertificateExtension.basicConstraintsOID] = nil },
            { $0.extensions += [.keyUsage([])] }, { $0.trailingInTBS = [5, 0] },
            { $0.trailingInside = [5, 0] }, { $0.trailing = [0] }, { $0.signature = [] },
            { $0.signature = nil },
        ]
        for (index, change) in changes.enumerated() {
            var changed = builder
            change(&changed)
            #expect(try changed.signed(by: key) != plain, "change \(index)")
        }
    }

    // MARK: The folder

    @Test func folderRoundTrip() throws {
        let ca = try Self.ca.get()
        let files = try ca.files()
        #expect(files.map(\.name) == DevelopmentCA.fileNames)
        #expect(files.map(\.secret) == [false, false, false, true, true, true])
        let again = try DevelopmentCA(files: files.reversed())
        #expect(again.chain.certificates == ca.chain.certificates)
        #expect(try again.files() == files)
        _ = try again.issueIntermediate(validity: .around(Self.now, days: 1))
    }

    @Test func folderWithoutAuthorityKeysStillSigns() throws {
        let files = try Self.ca.get().files().filter {
            $0.name != "root-key.pem" && $0.name != "intermediate-key.pem"
        }
        let ca = try DevelopmentCA(files: files)
        _ = try Minter(ca.chain).sign([])
        #expect(throws: MintError.missingIssuerKey("root-key.pem")) {
            try ca.issueIntermediate(validity: .around(Self.now, days: 1))
        }
        #expect(throws: MintError.missingIssuerKey("intermediate-key.pem")) {
            try ca.issueChain(validity: .around(Self.now, days: 1))
        }
    }

    @Test func brokenFolders() throws {
        let files = try Self.ca.get().files()
        let other = try DevelopmentCA.make(at: Self.now).files()
        func folder(_ change: (inout [DevelopmentCA.File]) -> Void) -> MintError? {
            var changed = files
            change(&changed)
            do throws(MintError) {
                _ = try DevelopmentCA(files: changed)
                return nil
            } catch { return error }
        }
        #expect(folder { _ in } == nil)
        for (index, name) in ["root.pem", "intermediate.pem", "leaf.pem"].enumerated() {
            #expect(folder { $0.remove(at: index) } == .missingFile(name))
            #expect(folder { $0[index].contents.removeLast(30) } == .malformedFile(name))
        }
        #expect(folder { $0.removeLast() } == .missingFile("leaf-key.pem"))
        #expect(folder { $0[0].contents = $0[2].contents } == .foreignCertificate("root.pem"))
        for index in 3..<6 {
            let name = files[index].name
            #expect(folder { $0[index].contents.removeFirst() } == .malformedFile(name))
            #expect(folder { $0[index] = other[index] } == .keyMismatch(name))
        }
    }

    // MARK: Tokens

    private func segments(_ token: [UInt8]) -> [[UInt8]] {
        token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    private func decoded(_ segment: [UInt8]) throws -> [UInt8] {
        try Base64URL.decode(segment.span)
    }

    @Test func tokensAreSignedByTheLeaf() throws {
        guard let tool = try OpenSSLTool() else { return }
        defer { tool.cleanUp() }
        let ca = try Self.ca.get()
        let token = try Minter(ca.chain).sign(Array("{\"a\":1}".utf8))
        let parts = segments(token)
        #expect(parts.count == 3)
        #expect(parts[1] == Array("eyJhIjoxfQ".utf8))
        #expect(parts[2].count == 86)
        let signature = try decoded(parts[2])
        #expect(signature.count == 64)
        let encoded = DERWriter.build { writer in
            writer.sequence {
                $0.unsignedInteger(Array(signature[..<32]))
                $0.unsignedInteger(Array(signature[32...]))
            }
        }
        let key = PEM.encode(ca.leafKey.subjectPublicKeyInfo, label: "PUBLIC KEY")
        let answer = try tool.run(
            "dgst", "-sha256", "-verify", tool.file("key.pem", key),
            "-signature", tool.file("signature", encoded),
            tool.file("data", parts[0] + [UInt8(ascii: ".")] + parts[1]))
        #expect(answer.status == 0, "\(answer.output)")
    }

    @Test func headers() throws {
        let ca = try Self.ca.get()
        func header(_ minter: Minter) throws -> String {
            let first = segments(try minter.sign([]))[0]
            return String(decoding: try decoded(first), as: UTF8.self)
        }
        let plain = try header(Minter(ca.chain))
        #expect(plain.hasPrefix("{\"alg\":\"ES256\",\"x5c\":[\"MII"))
        #expect(plain.hasSuffix("\"]}"))
        #expect(
            try header(
                Minter(ca.chain) {
                    $0.x5c = []; $0.alg = "none"
                })
                == "{\"alg\":\"none\",\"x5c\":[]}")
        let extra = try header(
            Minter(ca.chain) {
                $0.x5c = nil; $0.extraMembers = [("crit", "[\"b64\"]")]
            })
        #expect(extra == "{\"alg\":\"ES256\",\"crit\":[\"b64\"]}")
        #expect(try header(Minter(ca.chain) { $0.raw = Array("{".utf8) }) == "{")
    }

    @Test func signaturesCanBeChanged() throws {
        let minter = Minter(try Self.ca.get().chain)
        let token = try minter.sign([1]) { $0 = [0xFF, 0xEF] }
        #expect(segments(token)[1...] == [Array("AQ".utf8), Array("_-8".utf8)])
    }

    @Test(arguments: EvidenceKind.allCases)
    func samples(kind: EvidenceKind) throws {
        let minter = Minter(try Self.ca.get().chain)
        func mint(_ index: Int) throws -> [UInt8] {
            try minter.mint(
                kind, index: index, bundleId: "com.example.app", appAppleId: 1234,
                environment: .production, signedDate: Self.now)
        }
        if kind.format != .jws, kind != .serverAnswer {
            #expect(throws: MintError.notAToken(kind)) { try mint(0) }
            return
        }
        if kind == .serverAnswer {
            let text = String(decoding: try mint(0), as: UTF8.self)
            #expect(text.contains(#""signedTransactions":["ey"#))
            return
        }
        let parts = try segments(mint(0))
        #expect(parts.count == 3)
        #expect(try segments(mint(0))[0] == parts[0])
        // A notification contains signatures, and a signature never repeats.
        #expect(try (segments(mint(0))[1] == parts[1]) == (kind != .notification))
        #expect(try segments(mint(1))[1] != parts[1])
        let payload = String(decoding: try decoded(parts[1]), as: UTF8.self)
        #expect(payload.contains("\"com.example.app") || kind == .realtimeRequest)
        guard kind == .notification else { return }
        // The header occurs three times: in the notification itself and in its two nested tokens.
        let header = String(decoding: parts[0], as: UTF8.self)
        #expect(payload.ranges(of: header).count == 2)
    }
}
