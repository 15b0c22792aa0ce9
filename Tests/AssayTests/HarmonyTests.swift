import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Evidence of Huawei's IAP Kit on HarmonyOS, in the form of Huawei's documentation and of its
/// genuine tokens.
@Suite struct HarmonyTests {
    private static let chain = Fixture.made { try Fixture.ca.issueHarmonyChain(at: Fixture.now) }
    private static let application = "100000001"

    private static let trust = Fixture.made {
        try TrustStore.apple.pinningHarmony(Fixture.ca.rootCertificate)
    }
    private static let verifier = Verifier(trust: trust, keyTables: .never)

    private static var policy: Policy {
        var policy = Policy(
            bundleId: "com.example.ios", environments: [.production, .sandbox])
        policy.harmonyApplicationIds = [application]
        return policy
    }

    private static func purchase(
        index: Int = 1, environment: StoreEnvironment = .production,
        changing changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        Fixture.change(
            Samples.harmonyPurchase(
                index: index, applicationId: application, productId: "gold",
                environment: environment, signedDate: Fixture.now), changes)
    }

    private static func subscription() -> [UInt8] {
        Samples.harmonySubscription(
            index: 1, applicationId: application, productId: "month", environment: .production,
            signedDate: Fixture.now)
    }

    private static func sign(_ payload: [UInt8], _ chain: SigningChain = chain) -> [UInt8] {
        Fixture.made { try Minter(chain).sign(payload) }
    }

    private static func verify(
        _ token: [UInt8], as kind: EvidenceKind = .harmonyPurchase,
        by verifier: Verifier = verifier,
        policy: Policy = policy, expecting expectations: Expectations = .none
    ) -> Verification {
        verifier.verify(
            token.span, as: kind, policy: policy, expecting: expectations, at: Fixture.now)
    }

    @Test("purchases, subscriptions and notifications are VALID, alone and in a POST body")
    func kinds() throws {
        let subscription = Self.subscription()
        let notification = Samples.harmonyNotification(
            index: 1, applicationId: Self.application, productId: "gold",
            environment: .production, signedDate: Fixture.now)
        let body =
            Array(#"{"jwsNotification":""#.utf8) + Self.sign(notification)
            + Array("\"}".utf8)
        let cases: [(EvidenceKind, [UInt8])] = [
            (.harmonyPurchase, Self.sign(Self.purchase())),
            (.harmonySubscription, Self.sign(subscription)),
            (.harmonyNotification, Self.sign(notification)), (.harmonyNotification, body),
        ]
        for (kind, evidence) in cases {
            let answer = Self.verify(evidence, as: kind)
            #expect(answer.verdict == .valid, "\(kind): \(answer.detail)")
            #expect(answer.environment == .production && answer.certificate != nil)
            #expect(answer.dedupKey == "harmony/\(Self.application)/20260101000000000001")
            #expect(Verifier.likelyKind(of: evidence.span) == kind)
            for (other, _) in cases where other != kind && evidence != body {
                #expect(Self.verify(evidence, as: other).verdict == .wrongKind)
            }
        }
        #expect(Self.verify(cases[0].1).state == .purchased)
        guard
            case .harmonySubscription(let state) = Self.verify(cases[1].1, as: .harmonySubscription)
                .evidence
        else {
            Issue.record("no subscription")
            return
        }
        #expect(state.payload.lastPurchaseOrder?.productId == "month")
        #expect(state.payload.autoRenewStatusCode == 1 && state.payload.expiresTime != nil)
    }

    @Test("neither store's roots are good for the other's evidence, in any order and one batch")
    func rootsAreApart() throws {
        let ofHarmony = Self.sign(Self.purchase())
        let ofApple = Fixture.token()
        let both = try Self.trust.pinning(Fixture.ca.rootCertificate, development: false)
        let apple = try TrustStore.apple.pinning(Fixture.ca.rootCertificate, development: false)
        func verdicts(_ trust: TrustStore, _ kinds: [(EvidenceKind, [UInt8])]) -> [Verdict] {
            let verifier = Verifier(trust: trust, keyTables: .never)
            let policy = Policy(bundleId: nil)
            // Twice, so that the caches have what was valid.
            return (0..<2).flatMap { _ in
                var batch = kinds.map { kind, token in
                    verifier.prepare(token.span, as: kind, policy: policy, at: Fixture.now)
                }
                verifier.verifySignatures(&batch)
                return batch.map(\.verification.verdict)
            }
        }
        let all: [(EvidenceKind, [UInt8])] = [
            (.harmonyPurchase, ofHarmony), (.transaction, ofHarmony), (.transaction, ofApple),
            (.harmonyPurchase, ofApple),
        ]
        let untrusted = Verdict.untrustedChain
        for (trust, expected) in [
            (Self.trust, [.valid, untrusted, untrusted, .wrongCertificatePurpose]),
            (apple, [untrusted, .wrongCertificatePurpose, .valid, untrusted]),
            (both, [.valid, .wrongCertificatePurpose, .valid, .wrongCertificatePurpose]),
            (TrustStore.apple, [untrusted, untrusted, untrusted, untrusted]),
        ] as [(TrustStore, [Verdict])] {
            #expect(verdicts(trust, all) == expected + expected)
            let reversed = Array(expected.reversed())
            #expect(verdicts(trust, all.reversed()) == reversed + reversed)
        }
        let none = Self.verify(ofHarmony, by: Verifier(trust: .apple, keyTables: .never))
        #expect(none.detail.contains("[app.harmony]") && none.detail.contains("--root"))
    }

    @Test("the leaf needs Huawei's marker, a key for messages and a date within its validity")
    func leaves() throws {
        let validity = Validity.around(Fixture.now, days: 760)
        func token(_ configure: (inout CertificateBuilder) -> Void) throws -> [UInt8] {
            let chain = try Fixture.ca.issueChain(validity: validity) { leaf in
                leaf[CertificateExtension.leafMarkerOID] = .marker(
                    CertificateExtension.harmonyMarkerOID)
                configure(&leaf)
            }
            return Self.sign(Self.purchase(), chain)
        }
        #expect(Self.verify(try token { _ in }).verdict == .valid)
        let withoutMarker = Self.verify(
            try token { $0[CertificateExtension.harmonyMarkerOID] = nil })
        #expect(withoutMarker.verdict == .wrongCertificatePurpose)
        #expect(withoutMarker.detail.contains("Huawei's extension 1.3.6.1.4.1.2011.2.415.1.1"))
        let authority = try token {
            $0[CertificateExtension.basicConstraintsOID] = .basicConstraints(ca: true)
        }
        #expect(Self.verify(authority).verdict == .invalidChain)
        let early = Self.purchase(changing: ["signedTime": "1"])
        #expect(Self.verify(Self.sign(early)).verdict == .certificateExpired)
        let late = "\(Fixture.now.milliseconds + Limits.clockSkewMilliseconds + 1)"
        let future = Self.purchase(changing: ["signedTime": late])
        #expect(Self.verify(Self.sign(future)).verdict == .invalidDate)
        // Apple's member does not name the date here.
        let other = Self.purchase(changing: ["signedDate": late])
        #expect(Self.verify(Self.sign(other)).verdict == .valid)
    }

    @Test("the objects of IAP Kit around a token are opened, one with two tokens is not")
    func objects() {
        let order = String(decoding: Self.sign(Self.purchase()), as: UTF8.self)
        let state = String(decoding: Self.sign(Self.subscription()), as: UTF8.self)
        let cases: [(String, EvidenceKind)] = [
            (#"{"type":0,"jwsPurchaseOrder":"\#(order)"}"#, .harmonyPurchase),
            (#"{"responseCode":"0","jwsPurchaseOrder":"\#(order)"}"#, .harmonyPurchase),
            (#"{"type":2,"jwsSubscriptionStatus":"\#(state)"}"#, .harmonySubscription),
            (#"{"responseCode":"0","jwsSubGroupStatus":"\#(state)"}"#, .harmonySubscription),
            (#"{"purchaseData":{"jwsPurchaseOrder":"\#(order)"}}"#, .harmonyPurchase),
            (#"{"purchaseData":"{\"jwsPurchaseOrder\":\"\#(order)\"}"}"#, .harmonyPurchase),
        ]
        for (text, kind) in cases {
            let evidence = Array(text.utf8)
            let answer = Self.verify(evidence, as: kind)
            #expect(answer.verdict == .valid, "\(answer.detail)")
            #expect(answer.unwrapped == "IAP Kit")
            #expect(Verifier.likelyKind(of: evidence.span) == kind)
        }
        let both = #"{"jwsPurchaseOrder":"\#(order)","jwsSubscriptionStatus":"\#(state)"}"#
        let answer = Self.verify(Array(both.utf8))
        #expect(answer.verdict == .malformed && answer.detail.contains("one item at a time"))
        let body = Self.verify(Array(#"{"jwsNotification":"\#(order)"}"#.utf8))
        #expect(body.verdict == .malformed && body.detail.contains("use the kind harmony-notif"))
        let spaced = Self.verify(Array("\n{\"jwsPurchaseOrder\":\"\(order)\"}".utf8))
        #expect(spaced.verdict == .malformed && spaced.detail.contains("white space before"))
    }

    @Test("a subscription's state has no date: it counts as of now, and is as old as its order")
    func subscriptionDate() throws {
        let token = Self.sign(Self.subscription())
        let day: Int64 = 86_400_000
        let later = Fixture.now.advanced(by: 30 * day)
        func verify(_ oldest: Timestamp?) -> Verification {
            Self.verifier.verify(
                token.span, as: .harmonySubscription, policy: Self.policy,
                expecting: Expectations(notOlderThan: oldest), at: later)
        }
        let answer = verify(nil)
        #expect(answer.verdict == .valid)
        #expect(answer.evidenceKey?.hasSuffix("/\(Fixture.now.milliseconds)") == true)
        #expect(verify(Fixture.now).verdict == .valid)
        #expect(verify(Timestamp(milliseconds: Fixture.now.milliseconds + 1)).verdict == .mismatch)
        // The certificates have to be valid now.
        let afterAll = Fixture.now.advanced(by: 4000 * day)
        let expired = Self.verifier.verify(
            token.span, as: .harmonySubscription, policy: Self.policy, at: afterAll)
        #expect(expired.verdict == .certificateExpired)
    }

    @Test("a changed token is refused")
    func changed() {
        let token = Self.sign(Self.purchase())
        for index in stride(from: 0, to: token.count, by: 97) {
            var changed = token
            changed[index] =
                changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(Self.verify(changed).verdict != .valid, "byte \(index)")
        }
    }

    @Test("a refunded purchase is VALID and not paid")
    func refunded() {
        for changes: KeyValuePairs<String, String?> in [
            ["revocationTime": "1700000000000"], ["purchaseOrderRevocationReasonCode": #""0""#],
        ] {
            let answer = Self.verify(Self.sign(Self.purchase(changing: changes)))
            #expect(answer.verdict == .valid && answer.state == .refunded)
            #expect(answer.detail.contains("grant nothing"))
        }
    }

    @Test("an order without a time of the purchase is not complete, and not paid")
    func incomplete() {
        let answer = Self.verify(Self.sign(Self.purchase(changing: ["purchaseTime": nil])))
        #expect(answer.verdict == .valid && answer.state == .pending)
        #expect(answer.detail.contains("grant nothing"))
    }

    @Test("the app is the application id or the bundle name; the policy's other app is refused")
    func apps() {
        let named = Self.sign(Self.purchase(changing: ["packageName": #""com.example.harmony""#]))
        let cases: [([String], bundle: String?, Verdict)] = [
            ([Self.application], nil, .valid), (["com.example.harmony"], nil, .valid),
            (["x", Self.application], nil, .valid), (["x"], nil, .wrongBundle),
            ([], Self.application, .valid), ([], "com.example.harmony", .valid),
            ([], "x", .wrongBundle), ([], nil, .valid),
        ]
        for (applications, bundle, verdict) in cases {
            var policy = Policy(bundleId: bundle)
            policy.harmonyApplicationIds = applications
            #expect(Self.verify(named, policy: policy).verdict == verdict, "\(applications)")
        }
        let nameless = Self.sign(Self.purchase(changing: ["applicationId": nil]))
        #expect(Self.verify(nameless).verdict == .wrongBundle)
    }

    @Test("each expectation, and a neighbour that it refuses")
    func expectations() throws {
        let token = Self.sign(Self.purchase(environment: .sandbox))
        let members = try JSONDocument.parse(Self.purchase()).members()
        let order = try #require(members["purchaseOrderId"]?.string)
        let cases: [(Expectations, Verdict)] = [
            (Expectations(environments: [.sandbox]), .valid),
            (Expectations(environments: [.production]), .wrongEnvironment),
            (Expectations(productIds: ["gold"]), .valid),
            (Expectations(productIds: ["silver"]), .mismatch),
            (Expectations(transactionId: order), .valid),
            (Expectations(transactionId: order + "0"), .mismatch),
            (Expectations(appAccountToken: "a"), .mismatch),
            (Expectations(notOlderThan: Fixture.now), .valid),
        ]
        for (expectations, verdict) in cases {
            #expect(Self.verify(token, expecting: expectations).verdict == verdict)
        }
    }

    @Test("a certificate that is no authority cannot be pinned for HarmonyOS")
    func pinning() {
        #expect(throws: TrustStoreError.notACertificateAuthority) {
            try TrustStore.apple.pinningHarmony(Fixture.ca.leafCertificate)
        }
        let store = Self.trust
        #expect(store.anchors.count == TrustStore.apple.anchors.count)
        #expect(store.identity != TrustStore.apple.identity)
        #expect(store.harmonyAnchors.map(\.name) == [Fixture.ca.rootName])
    }
}

extension DevelopmentCA {
    fileprivate var rootName: String {
        Fixture.made { try Certificate(der: rootCertificate) }.subjectCommonName
    }
}
