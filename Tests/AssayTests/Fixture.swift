import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Minted chains, payloads and the verifier that trusts them, shared by the tests of the core.
enum Fixture {
    /// 2026-01-01T00:00:00Z.
    static let now = Timestamp(milliseconds: 1_767_225_600_000)
    static let bundle = "com.example.app"
    static let app: Int64 = 1_234_567_890

    static let ca = made { try DevelopmentCA.make(at: now) }
    /// The same names with other keys.
    static let foreignCA = made { try DevelopmentCA.make(at: now) }
    static let verifier = Verifier(trust: trust(ca.rootCertificate))
    static let policy = Policy(bundleId: bundle, appAppleId: app, environments: [.production])
    static let validity = Validity.around(now, days: 700)

    static func made<Value>(_ make: () throws -> Value) -> Value {
        do { return try make() } catch { fatalError("nothing minted: \(error)") }
    }

    static func trust(_ roots: [UInt8]..., development: Bool = false) -> TrustStore {
        made {
            try roots.reduce(TrustStore.empty) { store, root in
                try store.pinning(root, development: development)
            }
        }
    }

    static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: now.milliseconds + seconds * 1000)
    }

    // MARK: Payloads

    static func payload(
        _ kind: EvidenceKind = .transaction, environment: StoreEnvironment = .production,
        index: Int = 1, signed: Timestamp = now, bundle: String = bundle,
        changing changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        let make: (Int, String, Int64, StoreEnvironment, Timestamp) -> [UInt8] =
            switch kind {
            case .transaction: Samples.transaction
            case .renewalInfo: Samples.renewalInfo
            case .appTransaction: Samples.appTransaction
            case .realtimeRequest: Samples.realtimeRequest
            case .notification:
                {
                    Samples.notification(
                        index: $0, bundleId: $1, appAppleId: $2, environment: $3, signedDate: $4,
                        signedTransactionInfo: nil, signedRenewalInfo: nil)
                }
            case .appReceipt, .transactionReceipt, .serverAnswer, .notificationV1,
                .googlePurchase, .huaweiPurchase, .harmonyPurchase, .harmonySubscription,
                .harmonyNotification, .googleNotification, .huaweiNotification:
                fatalError("no JWS")
            }
        return change(make(index, bundle, app, environment, signed), changes)
    }

    /// A JSON object with members replaced or added (as JSON text), or removed (nil).
    static func change(_ json: [UInt8], _ changes: KeyValuePairs<String, String?>) -> [UInt8] {
        guard !changes.isEmpty else { return json }
        let members = made { try JSONDocument.parse(json).members().pairs }
        var texts: [(name: String, json: String)] = members.map { name, value in
            var writer = JSONWriter()
            writer.value(value)
            return (name, String(decoding: writer.text, as: UTF8.self))
        }
        for (name, json) in changes {
            let index = texts.firstIndex { $0.name == name }
            if let index { texts.remove(at: index) }
            if let json { texts.insert((name, json), at: index ?? texts.count) }
        }
        return Array(("{" + texts.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}").utf8)
    }

    static func quoted(_ token: [UInt8]) -> String { "\"" + text(token) + "\"" }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Tokens

    static func token(
        _ payload: [UInt8] = payload(), _ chain: SigningChain = ca.chain,
        header: (inout MintedJWSHeader) -> Void = { _ in },
        signature: (inout [UInt8]) -> Void = { _ in }
    ) -> [UInt8] {
        made { try Minter(chain, changing: header).sign(payload, changingSignature: signature) }
    }

    /// A chain below the minted root. The closures change its certificates before they are
    /// signed.
    static func chain(
        leaf: (inout CertificateBuilder) -> Void = { _ in },
        intermediate: ((inout CertificateBuilder) -> Void)? = nil
    ) -> SigningChain {
        made {
            let issuer = try intermediate.map {
                try ca.issueIntermediate(validity: validity, configure: $0)
            }
            return try ca.issueChain(under: issuer, validity: validity, configure: leaf)
        }
    }

    static func segments(_ token: [UInt8]) -> [[UInt8]] {
        token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    static func join(_ segments: [[UInt8]]) -> [UInt8] {
        Array(segments.joined(separator: [UInt8(ascii: ".")]))
    }

    // MARK: Answers

    static func verify(
        _ token: [UInt8], as kind: EvidenceKind = .transaction, policy: Policy = policy,
        expecting expectations: Expectations = .none, at now: Timestamp = now,
        by verifier: Verifier = verifier
    ) -> Verification {
        let answer = verifier.verify(
            token.span, as: kind, policy: policy, expecting: expectations, at: now)
        ExplanationAgreement.expect(
            token, as: kind, trust: verifier.trust, policy: policy, expecting: expectations,
            at: now, explains: answer)
        return answer
    }

    /// Checks the verdict and what holds for every answer: the payload is present exactly when
    /// the evidence is valid, and the detail is never empty.
    static func expect(
        _ answer: Verification, _ verdicts: Verdict..., comment: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        expect(answer, oneOf: verdicts, comment: comment, at: location)
    }

    static func expect(
        _ answer: Verification, oneOf verdicts: [Verdict], comment: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(
            verdicts.contains(answer.verdict),
            "\(comment): \(answer.verdict.name), \(answer.detail)",
            sourceLocation: location)
        #expect((answer.evidence != nil) == (answer.verdict == .valid), sourceLocation: location)
        #expect(!answer.detail.isEmpty && answer.detail.utf8.count < 700, sourceLocation: location)
    }
}
