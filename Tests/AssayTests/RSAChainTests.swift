import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Tests the rules of sections 4 and 5 on minted receipts. Each case is wrong in one way.
@Suite struct RSAChainTests {
    static let now = AppleTransactionReceiptTests.now

    private func verify(
        _ receipt: MintedTransactionReceipt, _ intermediates: [[UInt8]]? = nil,
        denying denied: Set<Fingerprint> = []
    ) throws -> Verification {
        let intermediates = try intermediates ?? [MintedRSA.intermediate()]
        let trust = try MintedRSA.trust(intermediates: intermediates).denying(denied)
        let text = try receipt.text
        return Verifier(trust: trust).verify(
            text.span, as: .transactionReceipt,
            policy: AppleTransactionReceiptTests.everything, at: Self.now)
    }

    private func receipt(
        _ configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> MintedTransactionReceipt {
        MintedTransactionReceipt(leaf: try MintedRSA.leaf(configure), key: MintedRSA.leafKey)
    }

    @Test func minted() throws {
        let answer = try verify(receipt())
        #expect(answer.verdict == .valid, "\(answer.detail)")
        let minted = AppleTransactionReceiptTests.receipt(answer)
        #expect(minted?.purchaseDate == Timestamp(milliseconds: 1_433_160_000_123))
        #expect(answer.dedupKey == "Sandbox/com.example.game/1000000000000001")
        let sha1 = try receipt { $0.setAlgorithm(.sha1WithRSA) }
        #expect(try verify(sha1).verdict == .valid)
    }

    @Test func leaves() throws {
        let usage = CertificateExtension.keyUsageOID
        let cases: [(Verdict, (inout CertificateBuilder) -> Void)] = [
            (
                .invalidChain,
                {
                    $0.version = nil; $0.rawExtensions = []
                }
            ),
            (.invalidChain, { $0.tbsSignatureAlgorithm = .sha1WithRSA }),
            (.invalidChain, { $0.extensions.append(.marker("1.2.3.4", critical: true)) }),
            (.invalidChain, { $0["2.5.29.19"] = .basicConstraints(ca: true) }),
            (.invalidChain, { $0[usage] = .keyUsage(.keyCertSign) }),
            (.invalidChain, { $0.signature = [UInt8](repeating: 1, count: 256) }),
            (.untrustedChain, { $0.issuer = DistinguishedName(commonName: "Another") }),
            (.unsupportedAlgorithm, { $0.setAlgorithm(.sha384WithRSA) }),
            (.wrongCertificatePurpose, { $0[CertificateExtension.leafMarkerOID] = nil }),
            (
                .certificateExpired,
                { $0.notAfter = Timestamp(milliseconds: 1_433_159_999_000) }
            ),
            (.valid, { $0.notAfter = Timestamp(milliseconds: 1_433_160_000_000) }),
            (
                .certificateExpired,
                { $0.notBefore = Timestamp(milliseconds: 1_433_160_001_000) }
            ),
            (.valid, { $0.notBefore = Timestamp(milliseconds: 1_433_160_000_000) }),
        ]
        for (index, (verdict, configure)) in cases.enumerated() {
            let answer = try verify(receipt(configure))
            #expect(answer.verdict == verdict, "case \(index): \(answer.detail)")
        }
    }

    @Test func intermediates() throws {
        let usage = CertificateExtension.keyUsageOID
        let cases: [(Verdict, (inout CertificateBuilder) -> Void)] = [
            (.invalidChain, { $0.tbsSignatureAlgorithm = .sha1WithRSA }),
            (.invalidChain, { $0.extensions.append(.marker("1.2.3.4", critical: true)) }),
            (.invalidChain, { $0[usage] = .keyUsage(.digitalSignature) }),
            (.untrustedChain, { $0.issuer = DistinguishedName(commonName: "Another") }),
            (.untrustedChain, { $0.subject = DistinguishedName(commonName: "Another") }),
            (.untrustedChain, { $0.signature = [UInt8](repeating: 1, count: 256) }),
            (
                .wrongCertificatePurpose,
                { $0[CertificateExtension.intermediateMarkerOID] = nil }
            ),
            (
                .certificateExpired,
                { $0.notAfter = Timestamp(milliseconds: 1_433_159_999_000) }
            ),
            (
                .invalidChain,
                { $0.subjectPublicKeyInfo = MintedRSA.otherKey.subjectPublicKeyInfo }
            ),
        ]
        let good = try MintedRSA.intermediate()
        for (index, (verdict, configure)) in cases.enumerated() {
            let bad = try MintedRSA.intermediate(configure)
            let answer = try verify(receipt(), [bad])
            #expect(answer.verdict == verdict, "case \(index): \(answer.detail)")
            // A bad intermediate next to a good one does no harm, in either order.
            #expect(try verify(receipt(), [bad, good]).verdict == .valid, "case \(index)")
            #expect(try verify(receipt(), [good, bad]).verdict == .valid, "case \(index)")
        }
        #expect(throws: TrustStoreError.notACertificateAuthority) {
            try MintedRSA.trust(intermediates: [MintedRSA.leaf()])
        }
    }

    /// The refusal comes from the first failing check in the documented order, not from the first
    /// candidate.
    @Test func theLastStageDecidesTheRefusal() throws {
        let unmarked = try MintedRSA.intermediate {
            $0[CertificateExtension.intermediateMarkerOID] = nil
        }
        let expired = try MintedRSA.intermediate {
            $0.notAfter = Timestamp(milliseconds: 1_433_159_999_000)
        }
        for order in [[unmarked, expired], [expired, unmarked]] {
            #expect(try verify(receipt(), order).verdict == .certificateExpired)
        }
    }

    @Test func denied() throws {
        let minted = try receipt()
        let intermediate = try MintedRSA.intermediate()
        for certificate in [minted.leaf, intermediate] {
            let fingerprint = Fingerprint(SHA256.digest(certificate.span))
            let answer = try verify(minted, [intermediate], denying: [fingerprint])
            #expect(answer.verdict == .certificateRevoked)
        }
        let trust = try MintedRSA.trust(intermediates: [intermediate])
        let root = try #require(Fingerprint(trust.anchors[0].fingerprint))
        let text = try minted.text
        let answer = Verifier(trust: trust.denying([root])).verify(
            text.span, as: .transactionReceipt,
            policy: AppleTransactionReceiptTests.everything, at: Self.now)
        #expect(answer.verdict == .certificateRevoked)
    }

    /// A server keeps its verifier while the trust store is unchanged.
    @Test func identity() throws {
        let intermediate = try MintedRSA.intermediate()
        let fingerprint = Fingerprint(SHA256.digest(intermediate.span))
        let root = try MintedRSA.root()
        let plain = try TrustStore.empty.pinning(root, development: false)
        let stores = [
            plain, try plain.adding(intermediate: intermediate), plain.denying([fingerprint]),
            try plain.adding(intermediate: intermediate).denying([fingerprint]),
            try plain.pinning(root, development: true),
            .empty, .apple,
        ]
        #expect(Set(stores.map(\.identity)).count == stores.count)
        let again = try TrustStore.empty.pinning(root, development: false)
        #expect(again.identity == plain.identity)
    }

    /// A root that is not pinned is rejected, whatever its name.
    @Test func anotherRoot() throws {
        let trust = try TrustStore.apple.adding(intermediate: MintedRSA.intermediate())
        let text = try receipt().text
        let answer = Verifier(trust: trust).verify(
            text.span, as: .transactionReceipt,
            policy: AppleTransactionReceiptTests.everything, at: Self.now)
        #expect(answer.verdict == .untrustedChain)
    }

    @Test func keysAndVersions() throws {
        // A 1024-bit key is rejected in version 3, and a version 3 certificate in version 2.
        let small = MintedTransactionReceipt(
            leaf: try MintedRSA.leaf(key: MintedRSA.smallLeafKey), key: MintedRSA.smallLeafKey)
        #expect(try verify(small).verdict == .malformed)
        var old = small
        old.version = 2
        #expect(try verify(old).verdict == .wrongCertificatePurpose)
        old.leaf = try MintedRSA.leaf(key: MintedRSA.smallLeafKey) {
            $0.extensions.append(.marker("1.2.840.113635.100.6.5.1"))
        }
        // The intermediate must be the iTunes Store's.
        #expect(try verify(old).verdict == .wrongCertificatePurpose)
        let store = try MintedRSA.intermediate {
            $0.extensions.append(.marker("1.2.840.113635.100.6.2.2"))
        }
        let answer = try verify(old, [store])
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(AppleTransactionReceiptTests.receipt(answer)?.legacyKey == true)
        let current = try verify(receipt())
        #expect(AppleTransactionReceiptTests.receipt(current)?.legacyKey == false)
        // Version 2 has no space for the signature of a larger key, whatever the certificate
        // says.
        old.leaf = try MintedRSA.leaf {
            $0.extensions.append(.marker("1.2.840.113635.100.6.5.1"))
        }
        #expect(try verify(old, [store]).verdict == .invalidSignature)
    }

    @Test func parts() throws {
        let good = try receipt()
        func verdict(_ change: (inout MintedTransactionReceipt) -> Void) throws -> Verdict {
            var changed = good
            change(&changed)
            return try verify(changed).verdict
        }
        #expect(try verdict { $0.certificateLength = $0.leaf.count + 1 } == .malformed)
        #expect(try verdict { $0.certificateLength = $0.leaf.count - 1 } == .malformed)
        #expect(try verdict { $0.certificateLength = 0xFFFF_FFFF } == .malformed)
        #expect(try verdict { $0.trailing = [0] } == .malformed)
        #expect(try verdict { $0.version = 1 } == .malformed)
        #expect(try verdict { $0.version = 4 } == .malformed)
        #expect(try verdict { $0.key = MintedRSA.otherKey } == .invalidSignature)
        #expect(try verdict { $0.members.append(("pod", "101")) } == .malformed)
        #expect(try verdict { $0.members.append(("signature", "AA==")) } == .malformed)
        #expect(try verdict { $0.members = [] } == .valid)

        let info: [([String: String?], Verdict)] = [
            (["purchase-date": nil], .malformed),
            (["purchase-date": "yesterday"], .malformed),
            (["purchase-date-ms": "1433160001123"], .malformed),
            (["purchase-date-ms": "soon"], .malformed),
            (["purchase-date-ms": nil], .valid),
            (
                ["purchase-date": "2029-06-01 12:00:00 Etc/GMT", "purchase-date-ms": nil],
                .invalidDate
            ),
            (
                ["purchase-date": "1969-06-01 12:00:00 Etc/GMT", "purchase-date-ms": nil],
                .invalidDate
            ),
            (["transaction-id": nil], .wrongEnvironment),
            (["transaction-id": "160000408504141"], .valid),
            (["expires-date": "2012-10-13 19:45:08 Etc/GMT"], .valid),
            (["expires-date": "never"], .malformed),
        ]
        for (changes, expected) in info {
            let found = try verdict {
                $0.purchaseInfo = MintedTransactionReceipt.purchaseInfo(changes)
            }
            #expect(found == expected, "\(changes)")
        }
    }

    /// IDs of 16 digits that begin with 2000000 are the sandbox's. Those of 15 digits can be
    /// Production's.
    @Test func environments() throws {
        let cases: [(String, StoreEnvironment)] = [
            ("1000000000000002", .sandbox), ("2000000000000002", .sandbox),
            ("200000012345678", .production), ("160000408504141", .production),
        ]
        for (id, environment) in cases {
            var minted = try receipt()
            minted.purchaseInfo = MintedTransactionReceipt.purchaseInfo(["transaction-id": id])
            let answer = try verify(minted)
            let found = AppleTransactionReceiptTests.receipt(answer)?.environment
            #expect(found == environment, "\(id)")
        }
    }

    /// Every octet of the signature blob and of purchase-info counts.
    @Test func everyOctet() throws {
        let good = try receipt()
        let trust = try MintedRSA.trust(intermediates: [MintedRSA.intermediate()])
        let verifier = Verifier(trust: trust)
        let blob = try good.blob
        func verdict(_ blob: [UInt8], _ info: [UInt8]) -> Verdict {
            let text = MintedTransactionReceipt.text(
                blob: blob, purchaseInfo: info, members: good.members)
            return verifier.verify(
                text.span, as: .transactionReceipt,
                policy: AppleTransactionReceiptTests.everything, at: Self.now
            ).verdict
        }
        #expect(verdict(blob, good.purchaseInfo) == .valid)
        for index in blob.indices {
            var changed = blob
            changed[index] ^= 1
            #expect(verdict(changed, good.purchaseInfo) != .valid, "signature, octet \(index)")
        }
        for index in good.purchaseInfo.indices {
            var changed = good.purchaseInfo
            changed[index] ^= 1
            #expect(verdict(blob, changed) != .valid, "purchase-info, octet \(index)")
        }
    }

    /// Evidence of another kind is reported as that kind.
    @Test func otherKinds() throws {
        let verifier = Verifier(trust: .apple)
        let cases: [(String, String)] = [
            ("eyJhbGciOiJFUzI1NiJ9.eyJhIjoxfQ.c2ln", "a token without certificates"),
            ("MIIUEAYJKoZIhvcNAQcCoIIUATCCE", "app receipt"),
            ("{\"Store\":\"AppleAppStore\",\"Payload\":\"MII\"}", "wrapper: an app receipt"),
            ("eyJTdG9yZSI6IkFwcGxlQXBwU3RvcmUifQ==", "JSON"),
        ]
        for (text, name) in cases {
            let answer = verifier.verify(
                Array(text.utf8).span, as: .transactionReceipt,
                policy: AppleTransactionReceiptTests.everything, at: Self.now)
            #expect(answer.verdict == .wrongKind, "\(text)")
            #expect(answer.detail.contains(name), "\(answer.detail)")
        }
        for text in ["", " ", "{", "}", "AAAA", "{}", "{\"signature\" = \"AA==\";}"] {
            let answer = verifier.verify(
                Array(text.utf8).span, as: .transactionReceipt,
                policy: AppleTransactionReceiptTests.everything, at: Self.now)
            #expect(answer.verdict == .malformed, "\(text)")
        }
        let large = [UInt8](repeating: UInt8(ascii: " "), count: 70_000)
        let answer = verifier.verify(
            large.span, as: .transactionReceipt,
            policy: AppleTransactionReceiptTests.everything, at: Self.now)
        #expect(answer.verdict == .malformed)
    }
}
