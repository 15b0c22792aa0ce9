import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Evidence signed by Xcode's StoreKit testing, from Apple's server libraries.
@Suite struct XcodeEvidenceTests {
    private static let now = AppleEvidenceTests.now

    private static func file(_ name: String) -> [UInt8]? { Vectors.bytes("apple-lib/" + name) }

    @Test(.enabled(if: Vectors.has("apple-lib/xcode")))
    func xcode() throws {
        let cases: [(String, EvidenceKind)] = [
            ("xcode-signed-app-transaction", .appTransaction),
            ("xcode-signed-transaction", .transaction),
            ("xcode-signed-renewal-info", .renewalInfo),
        ]
        let bundle = "com.example.naturelab.backyardbirds.example"
        for (name, kind) in cases {
            let token = try #require(Self.file("xcode/" + name))
            let segment = Array(token[..<(token.firstIndex(of: UInt8(ascii: ".")) ?? 0)])
            let decoded = try Base64URL.decode(segment.span)
            var texts: [String] = []
            if let x5c = try JSONDocument.parse(decoded).root["x5c"]?.elements {
                for entry in x5c { texts.append(entry.string ?? "") }
            }
            let text = Array(try #require(texts.first).utf8)
            let certificate = try Base64.decode(text.span)
            let pinned = Verifier(trust: Fixture.trust(certificate, development: true))
            let xcode = Policy(bundleId: bundle, environments: [.xcode])
            let production = Policy(bundleId: bundle, environments: [.production])
            func verify(_ verifier: Verifier, _ policy: Policy, _ token: [UInt8]) -> Verification {
                verifier.verify(token.span, as: kind, policy: policy, at: Self.now)
            }
            let answer = verify(pinned, xcode, token)
            Fixture.expect(answer, .valid, comment: name)
            #expect(answer.environment == .xcode)
            Fixture.expect(verify(pinned, production, token), .wrongEnvironment, comment: name)
            for policy in [xcode, production] {
                Self.expectAdvice(verify(Verifier(trust: .apple), policy, token), name)
            }
            #expect(Inspection(token.span).problems == [EvidenceForm.xcodeText])
            var flipped = token
            flipped[flipped.count - 5] ^= 1
            Fixture.expect(verify(pinned, xcode, flipped), .invalidSignature, .malformed)
            Self.checkFields(answer.evidence)
        }
        for name in ["xcode-app-receipt-empty", "xcode-app-receipt-with-transaction"] {
            let receipt = try #require(Self.file("xcode/" + name))
            let answer = Verifier(trust: .apple).verify(
                receipt.span, as: .appReceipt,
                policy: Policy(bundleId: nil, environments: [.xcode]), at: Self.now)
            Self.expectAdvice(answer, name)
            #expect(Inspection(receipt.span).problems.first == EvidenceForm.xcodeText)
        }
        try Vectors.report("Xcode's JWS", cases.count)
    }

    /// Without the pinned certificate, the refusal says how to accept the evidence.
    private static func expectAdvice(_ answer: Verification, _ name: String) {
        Fixture.expect(answer, .untrustedChain, comment: name)
        #expect(answer.detail == EvidenceForm.xcodeText, "\(name): \(answer.detail)")
    }

    /// The name of the key or of the certificate is enough, and neither makes evidence valid.
    @Test func minted() throws {
        // The refusal is not about an extension.
        let chain = try SigningChain.storeKitTesting(validity: Fixture.validity) {
            $0.extensions.append(
                CertificateExtension(oid: "1.2.3.4", critical: true, value: [5, 0]))
        }
        let der = chain.certificates[0]
        let payload = Fixture.payload(environment: .xcode)
        func token(_ certificates: [[UInt8]], kid: String? = nil) throws -> [UInt8] {
            var header = MintedJWSHeader(certificates: certificates)
            if let kid { header.extraMembers = [("kid", "\"\(kid)\"")] }
            return try Minter(key: chain.key, header: header).sign(payload)
        }
        let policy = Policy(bundleId: Fixture.bundle, environments: [.xcode])
        func verify(_ token: [UInt8], _ trust: TrustStore) -> Verification {
            Verifier(trust: trust).verify(
                token.span, as: .transaction, policy: policy, at: Fixture.now)
        }
        let other = Fixture.ca.chain.certificates[0]
        Self.expectAdvice(verify(try token([der]), .apple), "the certificate")
        Self.expectAdvice(
            verify(try token([other], kid: "Apple_Xcode_Key"), .apple), "the key's name")
        Fixture.expect(verify(try token([other]), .apple), .invalidChain)
        Fixture.expect(verify(try token([der, der]), .apple), .invalidChain)
        let pinned = Fixture.trust(der, development: true)
        Fixture.expect(verify(try token([der]), pinned), .valid)
    }

    private static func checkFields(_ evidence: VerifiedEvidence?) {
        switch evidence {
        case .appTransaction(let app):
            #expect(app.payload.applicationVersion == "1")
            #expect(app.payload.originalPurchaseDate?.milliseconds == -62_135_769_600_000)
            #expect(app.payload.receiptCreationDate?.milliseconds == 1_697_680_122_257)
            #expect(
                app.payload.deviceVerificationNonce == "48c8b92d-ce0d-4229-bedf-e61b4f9cfc92")
            #expect(app.payload.appAppleId == nil && app.payload.receiptType == .xcode)
        case .transaction(let transaction):
            #expect(transaction.payload.transactionId == "0")
            #expect(transaction.payload.productId == "pass.premium")
            #expect(transaction.payload.purchaseDate?.milliseconds == 1_697_679_936_049)
            #expect(transaction.payload.expiresDate?.milliseconds == 1_700_358_336_049)
            #expect(transaction.payload.storefront == "USA")
            #expect(transaction.payload.storefrontId == "143441")
        case .renewalInfo(let renewal):
            #expect(renewal.payload.autoRenewStatus?.rawValue == 1)
            #expect(renewal.payload.renewalDate?.milliseconds == 1_700_358_336_049)
        default: Issue.record("no such evidence")
        }
    }
}
