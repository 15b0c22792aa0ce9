import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// The rest of lines 52, 55 and 56 of the catalogue of hostile input: receipts whose signatures
/// or chains are almost right.
@Suite struct HostileReceiptChainTests {
    private typealias Minted = MintedReceipts

    /// The encoded message of an RSA signature with a key of 2048 bits: RFC 8017, section 9.2.
    private static func encoded(_ info: [UInt8], padding: Int? = nil) -> [UInt8] {
        let start = [0x00, 0x01] + [UInt8](repeating: 0xFF, count: padding ?? 253 - info.count)
        let block = start + [0x00] + info
        return block + [UInt8](repeating: 0x5A, count: 256 - block.count)
    }

    private static func digestInfo(_ parameters: [UInt8], _ digest: [UInt8]) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.sequence {
                    $0.oid("2.16.840.1.101.3.4.2.1")
                    $0.raw(parameters)
                }
                $0.octetString(digest)
            }
        }
    }

    @Test("line 52: signatures that a lenient parser of DigestInfo accepts, under the genuine key")
    func forgeries() throws {
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        let ca = try Minted.ca.get()
        let key = try openssl.file("key.der", try ca.leafKey.pkcs8())
        let digest = SHA256.digest(Minted.sample().payload.span).octets.span.array
        let null: [UInt8] = [0x05, 0x00]
        let garbage = [UInt8](repeating: 0x5A, count: 60)
        var mixed = Self.encoded(Self.digestInfo(null, digest))
        mixed[100] = 0xFE
        let cases: [(String, [UInt8], Verdict)] = [
            ("right", Self.encoded(Self.digestInfo(null, digest)), .valid),
            ("no NULL", Self.encoded(Self.digestInfo([], digest)), .invalidSignature),
            (
                "garbage as parameters",
                Self.encoded(
                    Self.digestInfo(
                        DERWriter.build { $0.octetString(garbage) }, digest)), .invalidSignature
            ),
            (
                "garbage within NULL",
                Self.encoded(Self.digestInfo([0x05, 0x3C] + garbage, digest)), .invalidSignature
            ),
            (
                "garbage behind", Self.encoded(Self.digestInfo(null, digest), padding: 8),
                .invalidSignature
            ),
            (
                "garbage behind, padding short by one",
                Self.encoded(Self.digestInfo(null, digest), padding: 201), .invalidSignature
            ),
            (
                "no padding", Self.encoded(Self.digestInfo(null, digest), padding: 0),
                .invalidSignature
            ),
            ("padding of something else", mixed, .invalidSignature),
            ("the digest alone", Self.encoded(digest), .invalidSignature),
            (
                "a digest cut short", Self.encoded(Self.digestInfo(null, Array(digest.dropLast()))),
                .invalidSignature
            ),
        ]
        for (name, block, expected) in cases {
            let (input, output) = (try openssl.file("block", block), try openssl.file("out", []))
            let made = try openssl.run(
                "pkeyutl", "-decrypt", "-inkey", key, "-keyform", "DER", "-pkeyopt",
                "rsa_padding_mode:none", "-in", input, "-out", output)
            try #require(made.status == 0, "\(made.output)")
            let signature = try OpenSSLTool.contents(of: output)
            let verdict = try HostileReceipts.verdict { $0.signers[0].signature = signature }
            #expect(verdict == expected, "\(name)")
        }
    }

    @Test("line 52: a receipt key with exponent 3 is refused")
    func smallExponent() throws {
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        let file = try openssl.file("key.pem", [])
        let made = try openssl.run(
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt",
            "rsa_keygen_pubexp:3", "-out", file)
        try #require(made.status == 0, "\(made.output)")
        let key = try SigningKey(encoded: OpenSSLTool.contents(of: file))
        let ca = try Minted.ca.get()
        let intermediate = IssuedCertificate(
            der: ca.intermediateCertificate, key: try #require(ca.intermediateKey))
        let leaf = try ReceiptCA.makeLeaf(
            under: intermediate, validity: .around(Minted.now, days: 100), digest: .sha256, key: key
        )
        let chain = SigningChain(
            certificates: [leaf.der, intermediate.der, ca.rootCertificate], key: key)
        let receipt = try ReceiptMinter(chain).sign(Minted.sample().payload)
        #expect(try HostileReceipts.verdict(receipt) == .unsupportedAlgorithm)
    }

    @Test("line 55: an expired intermediate, like the first WWDR in 2016")
    func intermediateDates() throws {
        let ca = try Minted.ca.get()
        let root = IssuedCertificate(der: ca.rootCertificate, key: try #require(ca.rootKey))
        func seconds(_ count: Int64) -> Timestamp {
            Timestamp(milliseconds: Minted.now.milliseconds + count * 1000)
        }
        for (from, to, expected) in [
            (-1000, 1000, Verdict.valid), (-1000, 0, .valid), (0, 1000, .valid),
            (-1000, -1, .certificateExpired), (1, 1000, .certificateExpired),
        ] as [(Int64, Int64, Verdict)] {
            let intermediate = try ReceiptCA.makeIntermediate(
                under: root, validity: Validity(notBefore: seconds(from), notAfter: seconds(to)),
                digest: .sha256)
            let leaf = try ReceiptCA.makeLeaf(
                under: intermediate, validity: .around(Minted.now, days: 100), digest: .sha256)
            let chain = SigningChain(
                certificates: [leaf.der, intermediate.der, ca.rootCertificate], key: leaf.key)
            let receipt = try ReceiptMinter(chain).sign(Minted.sample().payload)
            #expect(try HostileReceipts.verdict(receipt) == expected, "\(from) to \(to)")
        }
    }

    @Test("line 56: a million in-app records")
    func aMillionRecords() throws {
        var payload = ReceiptPayload()
        for attribute in Minted.sample().attributes { payload.append(attribute) }
        let record = ReceiptPayload.encode(ReceiptPayload.inApp([]))
        var records: [UInt8] = []
        records.reserveCapacity(1_000_000 * record.count)
        for _ in 0..<1_000_000 { records += record }
        payload.append(raw: records)
        let receipt = try HostileReceipts.minter().sign(payload.bytes)
        let answer = try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        #expect(answer.verdict == .valid, "\(answer.detail)")
        guard case .appReceipt(let decoded) = answer.evidence else { return }
        #expect(decoded.inApp.count == 1_000_000)
    }
}
