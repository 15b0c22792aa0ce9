@testable import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// The test data of Apple's server libraries: each case of its index with this library's verdict.
@Suite struct AppleLibraryTests {
    private static let bundle = "com.example"
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)

    private static func file(_ name: String) -> [UInt8]? { Vectors.bytes("apple-lib/" + name) }

    private static func trust(_ root: String = "certs/testCA.der") throws -> TrustStore {
        try TrustStore.empty.pinning(try #require(file(root)), development: false)
    }

    private static func policy(
        _ environments: StoreEnvironment..., bundle: String = bundle, app: Int64? = 1234
    ) -> Policy {
        Policy(bundleId: bundle, appAppleId: app, environments: Set(environments))
    }

    // MARK: mock_signed_data

    @Test(.enabled(if: Vectors.has("apple-lib/mock_signed_data")))
    func mockSignedData() throws {
        let trust = try Self.trust()
        let cases: [(String, EvidenceKind, Policy, Verdict)] = [
            ("testNotification", .notification, Self.policy(.sandbox), .valid),
            ("testNotification", .notification, Self.policy(.production), .wrongEnvironment),
            ("testNotification", .notification, Self.policy(.production, app: 1235), .wrongApp),
            ("testNotification", .transaction, Self.policy(.sandbox), .wrongKind),
            ("testNotification", .notification, Self.policy(.sandbox, bundle: "com"), .wrongBundle),
            ("transactionInfo", .transaction, Self.policy(.sandbox), .valid),
            ("transactionInfo", .transaction, Self.policy(.production), .wrongEnvironment),
            (
                "transactionInfo", .transaction, Self.policy(.sandbox, bundle: "com.example.x"),
                .wrongBundle
            ),
            ("transactionInfo", .renewalInfo, Self.policy(.sandbox), .valid),
            ("renewalInfo", .renewalInfo, Self.policy(.sandbox), .valid),
            ("renewalInfo", .renewalInfo, Self.policy(.production), .wrongEnvironment),
            ("wrongBundleId", .notification, Self.policy(.sandbox), .wrongBundle),
            (
                "wrongBundleId", .notification, Self.policy(.sandbox, bundle: "com.examplex"),
                .wrongBundle
            ),
            ("missingX5CHeaderClaim", .notification, Self.policy(.production), .invalidChain),
            ("missingX5CHeaderClaim", .notification, Self.policy(.sandbox), .invalidChain),
            // Unsigned text that only contains a transaction id.
            ("legacyTransaction", .transactionReceipt, Self.policy(.sandbox), .malformed),
            ("legacyTransaction", .transaction, Self.policy(.sandbox), .malformed),
        ]
        let verifier = Verifier(trust: trust)
        for (name, kind, policy, verdict) in cases {
            let token = try #require(Self.file("mock_signed_data/" + name))
            let answer = verifier.verify(token.span, as: kind, policy: policy, at: Self.now)
            Fixture.expect(answer, verdict, comment: "\(name) as \(kind)")
            let foreign = Verifier(trust: Fixture.verifier.trust)
            let refused = foreign.verify(token.span, as: kind, policy: policy, at: Self.now)
            #expect(refused.verdict != .valid, "\(name)")
            if verdict == .valid { Fixture.expect(refused, .untrustedChain) }
        }
        for text in ["a.b.c.d", "a.b.c"] {
            let token = Array(text.utf8)
            for kind in [EvidenceKind.transaction, .renewalInfo, .appTransaction, .notification] {
                let answer = verifier.verify(
                    token.span, as: kind, policy: Self.policy(.sandbox), at: Self.now)
                Fixture.expect(answer, .malformed, comment: text)
            }
        }
        try Vectors.report("mock_signed_data", cases.count + 8)
    }

    @Test(.enabled(if: Vectors.has("apple-lib/mock_signed_data")))
    func fieldsOfMockSignedData() throws {
        let trust = try Self.trust()
        let verifier = Verifier(trust: trust)
        func evidence(_ name: String, _ kind: EvidenceKind) throws -> VerifiedEvidence? {
            let token = try #require(Self.file("mock_signed_data/" + name))
            return verifier.verify(
                token.span, as: kind, policy: Self.policy(.sandbox), at: Self.now
            ).evidence
        }
        guard
            case .notification(let notification) = try evidence("testNotification", .notification),
            case .transaction(let transaction) = try evidence("transactionInfo", .transaction),
            case .renewalInfo(let renewal) = try evidence("renewalInfo", .renewalInfo)
        else {
            Issue.record("refused")
            return
        }
        #expect(notification.notification.payload.notificationType == .test)
        #expect(notification.notification.payload.data?.appAppleId == 1234)
        #expect(transaction.payload.environment == .sandbox)
        #expect(transaction.payload.bundleId == "com.example")
        #expect(renewal.payload.signedDate == Timestamp(milliseconds: 1_672_956_154_000))
    }

    // MARK: constants

    private static let effectiveDate = Timestamp(milliseconds: 1_761_962_975_000)
    private static let expired = Timestamp(milliseconds: 2_280_946_846_000)

    private static func constant(_ name: String) throws -> [UInt8] {
        try #require(file("constants/\(name)_BASE64_ENCODED.der"))
    }

    private static func header(_ texts: [String]) -> [UInt8] {
        var header = MintedJWSHeader(certificates: [])
        header.x5c = texts
        return Base64URL.encode(header.json.span)
    }

    private static func verdict(_ x5c: [String], _ chains: KnownChains, _ date: Timestamp)
        -> Verdict
    {
        let header = header(x5c)
        do throws(Refusal) {
            _ = try chains.resolve(header: header.span, effectiveDate: .at(date), now: date)
            return .valid
        } catch {
            return error.verdict
        }
    }

    private static func base64(_ der: [UInt8]) -> String { Fixture.text(Base64.encode(der.span)) }

    @Test(.enabled(if: Vectors.has("apple-lib/constants")))
    func constants() throws {
        let trust = try Self.trust("constants/ROOT_CA_BASE64_ENCODED.der")
        let (root, leaf) = (try Self.constant("ROOT_CA"), try Self.constant("LEAF_CERT"))
        let intermediate = try Self.constant("INTERMEDIATE_CA")
        let wrongLeaf = try Self.constant("LEAF_CERT_INVALID_OID")
        let wrongIntermediate = try Self.constant("INTERMEDIATE_CA_INVALID_OID")
        let underWrong = try Self.constant("LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID")
        let appleLeaf = try Self.constant("REAL_APPLE_SIGNING_CERTIFICATE")
        let appleIntermediate = try Self.constant("REAL_APPLE_INTERMEDIATE")
        let appleRoot = try Self.constant("REAL_APPLE_ROOT")
        let real = try TrustStore.empty.pinning(appleRoot, development: false)
        let (early, late) = (Self.effectiveDate, Self.expired)
        let cases: [([[UInt8]], TrustStore, Timestamp, Verdict)] = [
            ([leaf, intermediate, root], trust, early, .valid),
            ([underWrong, wrongIntermediate, root], trust, early, .wrongCertificatePurpose),
            // Both intermediates have the same name. The marker is checked before the signature.
            ([leaf, wrongIntermediate, root], trust, early, .wrongCertificatePurpose),
            ([wrongLeaf, intermediate, root], trust, early, .wrongCertificatePurpose),
            ([leaf, intermediate, root], trust, late, .certificateExpired),
            ([wrongLeaf, intermediate, root], trust, late, .wrongCertificatePurpose),
            ([leaf, intermediate, root], real, early, .untrustedChain),
            ([leaf, intermediate, appleRoot], real, early, .untrustedChain),
            ([intermediate, root], trust, early, .invalidChain),
            ([leaf, intermediate, root], .empty, early, .untrustedChain),
            ([appleLeaf, appleIntermediate, appleRoot], real, early, .valid),
            ([appleLeaf, appleIntermediate, appleRoot], .apple, early, .valid),
            ([appleLeaf, appleIntermediate, appleRoot], .apple, late, .certificateExpired),
            ([appleLeaf, appleIntermediate, root], trust, early, .untrustedChain),
        ]
        for (index, (certificates, trust, date, verdict)) in cases.enumerated() {
            let x5c = certificates.map(Self.base64)
            let answer = Self.verdict(x5c, KnownChains(trust: trust), date)
            #expect(answer == verdict, "case \(index)")
        }
        let texts = [leaf, intermediate, root].map(Self.base64)
        for first in ["abc", "YWJj", texts[0] + "a"] {
            let chains = KnownChains(trust: trust)
            #expect(Self.verdict([first] + texts[1...], chains, early) == .malformed, "\(first)")
        }
        for root in [Array("abc".utf8), [0, 1, 2], []] {
            #expect(throws: TrustStoreError.self) {
                try TrustStore.empty.pinning(root, development: false)
            }
        }
        let parsed = try Certificate(der: leaf)
        let spki = Self.file("constants/LEAF_CERT_PUBLIC_KEY_BASE64_ENCODED.spki.der")
        #expect(spki == Array(parsed.der[parsed.publicKey.range]))
        try Vectors.report("chain constants", cases.count + 6)
    }

    /// Apple's caches expire after 15 minutes. This cache compares the validity each time
    /// instead.
    @Test(.enabled(if: Vectors.has("apple-lib/constants")))
    func constantsInTheCache() throws {
        let trust = try Self.trust("constants/ROOT_CA_BASE64_ENCODED.der")
        let (root, leaf) = (try Self.constant("ROOT_CA"), try Self.constant("LEAF_CERT"))
        let intermediate = try Self.constant("INTERMEDIATE_CA")
        let appleLeaf = try Self.constant("REAL_APPLE_SIGNING_CERTIFICATE")
        let appleIntermediate = try Self.constant("REAL_APPLE_INTERMEDIATE")
        let texts = [leaf, intermediate, root].map(Self.base64)
        let chains = KnownChains(trust: trust)
        for seconds in [0, 1, 900, 901] as [Int64] {
            let date = Timestamp(milliseconds: Self.effectiveDate.milliseconds + seconds * 1000)
            #expect(Self.verdict(texts, chains, date) == .valid)
            #expect(chains.validations == 1)
        }
        #expect(Self.verdict(texts, chains, Self.expired) == .certificateExpired)
        #expect(chains.validations == 1)
        let third = Self.base64(appleIntermediate)
        // Validation does not depend on the third certificate.
        #expect(Self.verdict([texts[0], texts[1], third], chains, Self.effectiveDate) == .valid)
        #expect(chains.validations == 1)
        let others = [Self.base64(appleLeaf), third, texts[2]]
        #expect(Self.verdict(others, chains, Self.effectiveDate) == .untrustedChain)
    }

    // MARK: Signed with their keys

    /// The chain in Apple's libraries that has a published leaf key.
    private static func chain() throws -> SigningChain {
        SigningChain(
            certificates: try ["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"].map(constant),
            key: try SigningKey(encoded: try #require(file("certs/testLeaf.key"))))
    }

    @Test(.enabled(if: Vectors.has("apple-lib/certs")))
    func signedWithTheTestLeaf() throws {
        let (chain, trust) = (try Self.chain(), try Self.trust())
        let verifier = Verifier(trust: trust)
        let policy = Self.policy(.production, app: nil)
        func payload(_ signed: Timestamp) -> [UInt8] {
            Fixture.payload(signed: signed, bundle: Self.bundle)
        }
        for (signed, verdict) in [
            (Self.effectiveDate, Verdict.valid), (Self.now, .valid),
            (Timestamp(milliseconds: Self.now.milliseconds + 300_001), .invalidDate),
            (Timestamp(milliseconds: 1_600_000_000_000), .certificateExpired),
        ] {
            let token = Fixture.token(payload(signed), chain)
            let answer = verifier.verify(token.span, as: .transaction, policy: policy, at: Self.now)
            Fixture.expect(answer, verdict)
        }
        // A leaf made under their intermediate, and one under an intermediate made under theirs.
        let key = try #require(Self.file("certs/testIntermediate.key"))
        let parsed = try Certificate(der: chain.certificates[1])
        let made = try DevelopmentCA.makeLeaf(
            under: SigningKey(encoded: key), validity: .around(Self.now, days: 10)
        ) { $0.issuer = DistinguishedName(der: Array(parsed.der[parsed.subject])) }
        var further = chain
        further.certificates[0] = made.der
        further.key = made.key
        let token = Fixture.token(payload(Self.now), further)
        let answer = verifier.verify(token.span, as: .transaction, policy: policy, at: Self.now)
        Fixture.expect(answer, .valid)
    }

    // MARK: models

    private static let models: [(String, EvidenceKind, StoreEnvironment, Int64?)] = [
        ("signedTransaction", .transaction, .localTesting, nil),
        ("signedTransactionWithRevocation", .transaction, .localTesting, nil),
        ("signedRenewalInfo", .renewalInfo, .localTesting, nil),
        ("appTransaction", .appTransaction, .localTesting, nil),
        ("signedNotification", .notification, .localTesting, 41234),
        ("signedConsumptionRequestNotification", .notification, .localTesting, 41234),
        ("signedSummaryNotification", .notification, .localTesting, 41234),
        ("signedExternalPurchaseTokenNotification", .notification, .production, 55555),
        ("signedExternalPurchaseTokenSandboxNotification", .notification, .sandbox, 55555),
        ("signedRescindConsentNotification", .notification, .localTesting, nil),
        ("decodedRealtimeRequest", .realtimeRequest, .localTesting, 531412),
    ]

    /// The nested tokens of the models are placeholders. A notification that contains them is
    /// refused.
    @Test(.enabled(if: Vectors.has("apple-lib/models")), arguments: models)
    func model(name: String, kind: EvidenceKind, environment: StoreEnvironment, app: Int64?) throws
    {
        let json = try #require(Self.file("models/\(name).json"))
        let chain = try Self.ca.issueChain(validity: .around(Self.date, days: 3650))
        let verifier = Verifier(trust: Fixture.trust(Self.ca.rootCertificate))
        func verify(_ json: [UInt8], _ policy: Policy) -> Verification {
            Fixture.verify(
                Fixture.token(json, chain), as: kind, policy: policy, at: Self.now, by: verifier)
        }
        let members = try JSONDocument.parse(json).root
        let named = members["data"] ?? members["summary"] ?? members["appData"] ?? members
        let environments = Set(StoreEnvironment.known)
        let policy = Policy(
            bundleId: kind == .transaction || kind == .notification || kind == .appTransaction
                ? Self.bundle : nil, environments: environments)
        let signed =
            named.hasMember("signedTransactionInfo") || named.hasMember("signedRenewalInfo")
            || named.hasMember("signedAppTransactionInfo")
        if signed { Fixture.expect(verify(json, policy), .malformed, comment: name) }

        let clean = Self.withoutPlaceholders(json)
        let answer = verify(clean, policy)
        Fixture.expect(answer, .valid, comment: name)
        let found = try #require(answer.environment)
        #expect(found == environment, "\(name)")
        for other in StoreEnvironment.known where other != found {
            Fixture.expect(
                verify(clean, Policy(bundleId: nil, environments: [other])), .wrongEnvironment)
        }
        if let app, environment == .production {
            var expecting = policy
            expecting.appAppleId = app
            Fixture.expect(verify(clean, expecting), .valid)
            expecting.appAppleId = app + 1
            Fixture.expect(verify(clean, expecting), .wrongApp)
        }
        try Vectors.report("model \(name)", 1)
    }

    /// 2023-10-24, the date of most models.
    private static let date = Timestamp(milliseconds: 1_698_000_000_000)
    private static let ca = Fixture.made { try DevelopmentCA.make(at: date) }

    private static func withoutPlaceholders(_ json: [UInt8]) -> [UInt8] {
        var text = Fixture.text(json)
        for member in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
            // Renames the member, so that it is unknown.
            text = text.replacing("\"\(member)\"", with: "\"x-\(member)\"")
        }
        return Array(text.utf8)
    }

    // MARK: A production chain of 2021

    @Test(.enabled(if: Vectors.has("apple-chain-2021")))
    func productionChainOf2021() throws {
        let names = ["leaf", "intermediate", "root"]
        let certificates = names.compactMap { Vectors.bytes("apple-chain-2021/\($0).der") }
        try #require(certificates.count == 3)
        let leaf = try Certificate(der: certificates[0])
        let x5c = certificates.map(Self.base64)
        let chains = KnownChains(trust: .apple)
        for (seconds, verdict) in [
            (leaf.notBefore - 1, Verdict.certificateExpired), (leaf.notBefore, .valid),
            (leaf.notAfter, .valid), (leaf.notAfter + 1, .certificateExpired),
        ] {
            let date = Timestamp(milliseconds: seconds * 1000)
            #expect(Self.verdict(x5c, chains, date) == verdict)
        }
        #expect(chains.validations == 1)
        // The chain's key signed none of this.
        let chain = SigningChain(certificates: certificates, key: Fixture.ca.leafKey)
        let token = Fixture.token(
            Fixture.payload(signed: Timestamp(milliseconds: leaf.notAfter * 1000)), chain)
        let answer = Fixture.verify(token, at: Self.now, by: Verifier(trust: .apple))
        Fixture.expect(answer, .invalidSignature)
        try Vectors.report("chain of 2021", 1)
    }
}
