import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Pushes of Google Play's notifications: the token of the sender, and what the message says.
@Suite struct GoogleNotificationTests {
    typealias Push = PushFixture

    @Test("a push is VALID, and says what changed, with the message's id as its key")
    func valid() throws {
        let answer = Push.verify(Push.evidence())
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(answer.detail.contains("does not sign the message"))
        #expect(answer.environment == nil && answer.state == nil)
        #expect(answer.certificate == nil)
        #expect(answer.dedupKey == "google/\(Fixture.bundle)/message/1370000000000001")
        #expect(
            answer.evidenceKey
                == "google/\(Fixture.bundle)/google-notification/1370000000000001")
        guard case .googleNotification(let verified) = answer.evidence else {
            Issue.record("no notification")
            return
        }
        #expect(verified.json == Push.data())
        let payload = verified.payload
        #expect(payload.packageName == Fixture.bundle && payload.eventTimeMillis == Fixture.now)
        #expect(payload.messageId == "1370000000000001")
        #expect(payload.subscription == "projects/example/subscriptions/play")
        #expect(EvidenceIdentifiers(of: answer.evidence).subtype?.rawValue == "4")
    }

    @Test("each thing that can change, with its members")
    func subjects() throws {
        let token = try #require(
            JSONDocument.parse(Push.data()).root["subscriptionNotification"]?["purchaseToken"]?
                .string)
        let cases: [(GoogleNotificationSubject, (GoogleNotification) -> Bool)] = [
            (
                .subscription,
                {
                    $0.notificationType == 4 && $0.subscriptionId == "gold" && $0.sku == nil
                        && $0.purchaseToken == token
                }
            ),
            (
                .oneTimeProduct,
                {
                    $0.notificationType == 1 && $0.sku == "gold" && $0.subscriptionId == nil
                        && $0.purchaseToken == token
                }
            ),
            (
                .voidedPurchase,
                {
                    $0.notificationType == nil && $0.orderId == "GPA.3300-0000-0000-00001"
                        && $0.productType == 2 && $0.refundType == 1 && $0.purchaseToken == token
                }
            ),
            (.test, { $0.notificationType == nil && $0.purchaseToken == nil }),
        ]
        for (subject, holds) in cases {
            let answer = Push.verify(Push.evidence(Push.data(about: subject)))
            guard case .googleNotification(let verified) = answer.evidence else {
                Issue.record("\(subject): \(answer.detail)")
                continue
            }
            #expect(verified.payload.about == subject && holds(verified.payload), "\(subject)")
        }
    }

    @Test("the forms of the header and of the body, and neighbours that are none")
    func forms() {
        let (token, body) = (Push.text(Push.token()), Push.text(Push.body()))
        func string(_ text: String) -> String {
            var writer = JSONWriter()
            writer.value(text)
            return Push.text(writer.text)
        }
        let bearer = string("Bearer " + token)
        let cases: [(String, Verdict)] = [
            (#"{"authorization":\#(bearer),"body":\#(string(body))}"#, .valid),
            (#"{"body":\#(body),"authorization":\#(bearer)}"#, .valid),
            (#"{"Authorization":\#(bearer),"body":\#(body),"more":[1]}"#, .valid),
            (#"{"authorization":\#(string("bEARER  " + token)),"body":\#(body)}"#, .valid),
            (#"{"authorization":\#(string(token)),"body":\#(body)}"#, .valid),
            (#"{"authorization":\#(string("Basic " + token)),"body":\#(body)}"#, .malformed),
            (#"{"authorization":"Bearer ","body":\#(body)}"#, .malformed),
            (#"{"authorization":"","body":\#(body)}"#, .malformed),
            (#"{"authorization":null,"body":\#(body)}"#, .malformed),
            (#"{"authorization":[\#(bearer)],"body":\#(body)}"#, .malformed),
            (#"{"authorization":\#(bearer),"body":[]}"#, .malformed),
            (#"{"authorization":\#(bearer),"body":""}"#, .malformed),
            (#"{"authorization":\#(bearer)}"#, .malformed), (body, .malformed),
            (token, .malformed), ("", .malformed), ("{}", .malformed),
            // A member twice: which one counts, two parsers could answer differently.
            (
                #"{"authorization":\#(bearer),"authorization":\#(bearer),"body":\#(body)}"#,
                .malformed
            ),
            (#"{"authorization":\#(bearer),"body":{},"body":\#(body)}"#, .malformed),
        ]
        for (text, verdict) in cases {
            let answer = Push.verify(Array(text.utf8))
            #expect(answer.verdict == verdict, "\(text.prefix(60)): \(answer.detail)")
        }
    }

    @Test("the body is that of a push with one notification of an app")
    func bodies() {
        let data = Push.text(Push.data())
        func body(_ data: String, _ more: String = #""messageId":"7""#) -> String {
            #"{"message":{"data":"\#(Push.base64(data))",\#(more)},"subscription":"s"}"#
        }
        let test = #""testNotification":{"version":"1.0"}"#
        let cases: [(String, Verdict)] = [
            (body(data), .valid), (body(data, #""message_id":"7""#), .valid),
            (body(#"{"packageName":"\#(Fixture.bundle)",\#(test)}"#), .valid),
            (body(data, #""messageId":"""#), .malformed), (body(data, #""a":1"#), .malformed),
            (body(data, #""messageId":7"#), .malformed), (data, .malformed),
            (#"{"message":{"messageId":"7"}}"#, .malformed),
            (#"{"message":{"messageId":"7","data":"{}"}}"#, .malformed),
            (#"{"message":"{}"}"#, .malformed), ("[]", .malformed), ("{", .malformed),
            (body("[]"), .malformed), (body("{}"), .wrongKind),
            (body("{" + test + "}"), .wrongKind),
            (body(#"{"packageName":"\#(Fixture.bundle)"}"#), .valid),
            (body(#"{"packageName":7,\#(test)}"#), .wrongKind),
            (
                body(#"{"packageName":"\#(Fixture.bundle)","testNotification":1}"#), .valid
            ),
            (
                body(
                    #"{"packageName":"\#(Fixture.bundle)",\#(test),"#
                        + #""voidedPurchaseNotification":{}}"#), .wrongKind
            ),
            (
                body(
                    #"{"packageName":"other","packageName":"\#(Fixture.bundle)",\#(test)}"#),
                .malformed
            ),
            (body(#"{"packageName":"other",\#(test)}"#), .wrongBundle),
        ]
        for (text, verdict) in cases {
            let answer = Push.verify(StoreMinter.push(Array(text.utf8), token: Push.token()))
            #expect(answer.verdict == verdict, "\(text): \(answer.detail)")
            #expect((answer.evidence != nil) == (verdict == .valid))
        }
    }

    private typealias TokenCase = (name: String, token: [UInt8], verdict: Verdict)

    private func check(_ cases: [TokenCase]) {
        for (name, token, verdict) in cases {
            let answer = Push.verify(StoreMinter.push(Push.body(), token: token))
            #expect(answer.verdict == verdict, "\(name): \(answer.detail)")
            #expect((answer.dedupKey != nil) == (verdict == .valid), "\(name)")
        }
    }

    /// A token signed by the genuine key under a header.
    private func token(under header: String) -> [UInt8] {
        Fixture.made { try Push.minter.token(Push.claims.json, header: header) }
    }

    @Test("a token by another algorithm than RS256 is refused, whatever its signature")
    func algorithms() throws {
        let kid = Push.minter.keyName
        let info = Push.minter.key.subjectPublicKeyInfo
        // HMAC with the public key as the secret, which anybody can make.
        func hmac(_ secret: [UInt8]) -> [UInt8] {
            let head = #"{"alg":"HS256","kid":"\#(kid)","typ":"JWT"}"#
            let signed =
                Base64URL.encode(Array(head.utf8).span) + [UInt8(ascii: ".")]
                + Base64URL.encode(Push.claims.json.span)
            return signed + [UInt8(ascii: ".")]
                + Base64URL.encode(Push.hmac(secret, signed).span)
        }
        let none = token(under: #"{"alg":"none","kid":"\#(kid)"}"#)
        let end = try #require(none.lastIndex(of: UInt8(ascii: ".")))
        var cases: [TokenCase] = [
            ("genuine", Push.token(), .valid),
            ("without typ", token(under: #"{"alg":"RS256","kid":"\#(kid)"}"#), .valid),
            ("none, unsigned", Array(none[...end]), .unsupportedAlgorithm),
            ("HS256 with DER", hmac(info), .unsupportedAlgorithm),
            (
                "HS256 with PEM", hmac(PEM.encode(info, label: "PUBLIC KEY")),
                .unsupportedAlgorithm
            ),
            (
                "HS256 with the modulus", hmac(Push.minter.key.publicKey), .unsupportedAlgorithm
            ),
            ("no alg", token(under: #"{"kid":"\#(kid)"}"#), .unsupportedAlgorithm),
        ]
        for name in ["none", "None", "RS512", "PS256", "ES256", "rs256", "RS256 ", ""] {
            let header = #"{"alg":"\#(name)","kid":"\#(kid)"}"#
            cases.append((name, token(under: header), .unsupportedAlgorithm))
        }
        check(cases)
    }

    @Test("a token by another key, with a header that is not plain, or of another form is refused")
    func forgedTokens() throws {
        let kid = Push.minter.keyName
        let other = Fixture.made { try StoreMinter() }
        let claims = Push.claims.json
        let ownKey = try other.token(
            claims, header: #"{"alg":"RS256","kid":"\#(kid)","jwk":{"kty":"RSA"}}"#)
        let genuine = Push.text(Push.token())
        let twoSegments = genuine.split(separator: ".")[0...1].joined(separator: ".")
        check([
            ("another key by its name", ownKey, .invalidSignature),
            ("another key", try other.token(claims), .untrustedChain),
            ("no kid", token(under: #"{"alg":"RS256"}"#), .malformed),
            ("kid is a number", token(under: #"{"alg":"RS256","kid":7}"#), .malformed),
            ("unknown kid", token(under: #"{"alg":"RS256","kid":"x"}"#), .untrustedChain),
            ("kid twice", token(under: #"{"alg":"RS256","kid":"x","kid":"\#(kid)"}"#), .malformed),
            (
                "alg twice", token(under: #"{"alg":"none","alg":"RS256","kid":"\#(kid)"}"#),
                .malformed
            ),
            (
                "crit", token(under: #"{"alg":"RS256","kid":"\#(kid)","crit":["exp"]}"#),
                .malformed
            ),
            ("b64", token(under: #"{"alg":"RS256","kid":"\#(kid)","b64":true}"#), .malformed),
            ("zip", token(under: #"{"alg":"RS256","kid":"\#(kid)","zip":"DEF"}"#), .malformed),
            ("a list", token(under: "[]"), .malformed), ("no JSON", token(under: "{"), .malformed),
            ("claims twice", Push.token(Array(#"{"iss":"a","iss":"b"}"#.utf8)), .malformed),
            ("claims are no object", Push.token(Array("[]".utf8)), .malformed),
            ("two segments", Array(twoSegments.utf8), .malformed),
            ("four segments", Array((genuine + ".AA").utf8), .malformed),
            ("padding", Array((genuine + "=").utf8), .malformed),
            ("a line break", Array((genuine + "\n").utf8), .malformed),
            ("no signature", Array((twoSegments + ".").utf8), .invalidSignature),
        ])
    }

    @Test("a byte changed in header, claims or signature is refused")
    func changedBytes() {
        let token = Push.token()
        for index in token.indices where token[index] != UInt8(ascii: ".") {
            var changed = token
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : 0x41
            let answer = Push.verify(StoreMinter.push(Push.body(), token: changed))
            #expect(answer.verdict != .valid, "\(index)")
        }
    }

    @Test("each claim that is compared, and neighbours that are refused")
    func claims() {
        let now = Fixture.now.seconds
        let skew = Limits.clockSkewMilliseconds / 1000
        let cases: [(String, String?, Verdict, String)] = [
            ("iss", #""accounts.google.com""#, .valid, ""),
            ("iss", #""https://accounts.google.com/""#, .untrustedChain, "issuer"),
            ("iss", #""http://accounts.google.com""#, .untrustedChain, "issuer"),
            ("iss", #""https://example.com""#, .untrustedChain, "issuer"),
            ("iss", nil, .untrustedChain, "issuer"), ("iss", "[]", .untrustedChain, "issuer"),
            ("aud", #"["x","https://example.com/push"]"#, .valid, ""),
            ("aud", #""https://example.com/push/""#, .untrustedChain, "audience"),
            ("aud", #""https://example.com""#, .untrustedChain, "audience"),
            ("aud", #"["x"]"#, .untrustedChain, "audience"),
            ("aud", "[]", .untrustedChain, "audience"), ("aud", nil, .untrustedChain, "audience"),
            ("email", #""Push@example.iam.gserviceaccount.com""#, .untrustedChain, "token is of"),
            ("email", #""push@other.iam.gserviceaccount.com""#, .untrustedChain, "token is of"),
            ("email", nil, .untrustedChain, "token is of"),
            ("email_verified", "false", .untrustedChain, "not verified"),
            ("email_verified", nil, .untrustedChain, "not verified"),
            ("email_verified", #""true""#, .untrustedChain, "not verified"),
            ("exp", "\(now - skew + 1)", .invalidDate, "after its end"),
            ("exp", #""\#(now + 60)""#, .invalidDate, "no exp"),
            ("exp", nil, .invalidDate, "no exp"),
            ("exp", "1e300", .invalidDate, "no exp"),
            ("exp", "9223372036854775807", .invalidDate, "no"),
            ("iat", "\(now + skew)", .valid, ""),
            ("iat", "\(now + skew + 1)", .invalidDate, "future"),
            ("iat", nil, .invalidDate, "no iat"),
            ("iat", "\(now - 7200)", .valid, ""),
            ("nbf", "\(now + skew)", .valid, ""), ("nbf", "\(now + skew + 1)", .invalidDate, "nbf"),
            ("nbf", "{}", .invalidDate, "nbf"), ("sub", nil, .valid, ""),
            ("more", "{}", .valid, ""),
        ]
        for (name, value, verdict, part) in cases {
            let token = Push.token(Fixture.change(Push.claims.json, [name: value]))
            let answer = Push.verify(StoreMinter.push(Push.body(), token: token))
            #expect(answer.verdict == verdict, "\(name) \(value ?? "absent"): \(answer.detail)")
            #expect(answer.detail.contains(part), "\(name) \(value ?? "absent"): \(answer.detail)")
        }
    }

    @Test("a token is good until its end, with the clocks' tolerance")
    func expiry() {
        let end = Fixture.now.seconds + 3600 + Limits.clockSkewMilliseconds / 1000
        for (seconds, verdict) in [(end - 1, Verdict.valid), (end, .invalidDate)] {
            let answer = Push.verify(Push.evidence(), at: Timestamp(milliseconds: seconds * 1000))
            #expect(answer.verdict == verdict, "\(answer.detail)")
        }
        let early = Fixture.time(-301)
        #expect(Push.verify(Push.evidence(), at: early).verdict == .invalidDate)
    }

    @Test("keys, audience and service account are all needed; the text names the option")
    func policy() {
        let cases: [(String, (inout PushPolicy) -> Void)] = [
            ("--google-jwks", { $0.keys = nil }), ("--google-jwks", { $0.keys = PushKeys() }),
            ("--google-audience", { $0.audiences = [] }),
            ("--google-service-account", { $0.serviceAccounts = [] }),
        ]
        for (option, change) in cases {
            var policy = Push.policy
            change(&policy.googlePush)
            let answer = Push.verify(Push.evidence(), policy: policy)
            #expect(answer.verdict == .untrustedChain && answer.detail.contains(option))
        }
        var policy = Push.policy
        policy.googlePush.audiences = ["x", Push.claims.audience]
        policy.googlePush.serviceAccounts = ["x", Push.claims.serviceAccount]
        #expect(Push.verify(Push.evidence(), policy: policy).verdict == .valid)
    }

    @Test("the package and the caller's expectations count as for a purchase")
    func expectations() {
        let later = Fixture.time(1)
        let cases: [(Expectations, Verdict)] = [
            (Expectations(bundleId: Fixture.bundle), .valid),
            (Expectations(bundleId: "com.example"), .wrongBundle),
            (Expectations(productIds: ["gold"]), .valid),
            (Expectations(productIds: ["silver"]), .mismatch),
            (Expectations(environments: [.sandbox]), .valid),
            (Expectations(appAccountToken: "a"), .mismatch),
            (Expectations(transactionId: Samples.token), .valid),
            (Expectations(transactionId: "x"), .mismatch),
            (Expectations(notOlderThan: Fixture.now), .valid),
            (Expectations(notOlderThan: later), .mismatch),
        ]
        for (expectations, verdict) in cases {
            let answer = Push.verify(Push.evidence(), expecting: expectations)
            #expect(answer.verdict == verdict, "\(expectations): \(answer.detail)")
        }
        for (packages, verdict) in [([Fixture.bundle], Verdict.valid), (["x"], .wrongBundle)] {
            var policy = Push.policy
            policy.bundleId = "com.example.ios"
            policy.google.packageNames = packages
            #expect(Push.verify(Push.evidence(), policy: policy).verdict == verdict)
        }
    }

    @Test("the kind shows, and evidence of the others is named")
    func kinds() {
        #expect(Verifier.likelyKind(of: Push.evidence().span) == .googleNotification)
        let purchase = StoreFixture.sign(StoreFixture.google())
        let answer = Push.verify(purchase)
        #expect(answer.verdict == .malformed && answer.detail.contains("google-purchase"))
        let other = StoreFixture.verify(Push.evidence())
        #expect(other.verdict == .malformed && other.detail.contains("google-notification"))
        let large = Push.evidence() + [UInt8](repeating: 0x20, count: Limits.pushEnvelopeBytes)
        #expect(Push.verify(large).detail.contains("limit"))
    }

    @Test("an explanation has the checks in their order, and calls the message unsigned")
    func explained() {
        let refused = Push.token(
            Fixture.change(Push.claims.json, ["aud": #""https://example.com/other""#]))
        let cases: [([UInt8], Check?)] = [
            (Push.evidence(), nil), (StoreMinter.push(Push.body(), token: refused), .tokenAudience),
        ]
        for (evidence, check) in cases {
            let explanation = Explanation(
                evidence.span, as: .googleNotification, trust: .apple, policy: Push.policy,
                at: Fixture.now)
            #expect(explanation.failed?.step.check == check)
            #expect(explanation.contents.allSatisfy { !$0.isVerified })
        }
    }
}

extension Samples {
    fileprivate static let token: String =
        (try? JSONDocument.parse(PushFixture.data()).root["subscriptionNotification"]?[
            "purchaseToken"]?.string) ?? ""
}
