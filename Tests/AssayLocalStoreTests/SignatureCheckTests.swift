import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

@Suite("local store: signatures of a backend")
struct SignatureCheckTests {
    private static let nonce = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"
    private static let seconds = TestStore.clock / 1000
    private static let key = Result { try SigningKey(generating: .p256) }

    private static func store() throws -> TestStore {
        let pem = PEM.encode(try key.get().subjectPublicKeyInfo, label: "PUBLIC KEY")
        let registered = try #require(APIKey(id: "KEY", pem: pem))
        return try TestStore(
            "grace-period", tokens: TokenCheck(keys: [registered], issuer: "ISS"))
    }

    private static func jws(
        _ claims: String, header: String = #"{"alg":"ES256","kid":"KEY","typ":"JWT"}"#,
        by other: SigningKey? = nil
    ) throws -> String {
        let signed =
            Base64URL.encode(Array(header.utf8).span) + [0x2E]
            + Base64URL.encode(Array(claims.utf8).span)
        let signature = try (other ?? key.get()).signRaw(signed, digest: .sha256)
        return String(decoding: signed + [0x2E] + Base64URL.encode(signature.span), as: UTF8.self)
    }

    private static func claims(
        aud: String = "promotional-offer", iss: String = "ISS", iat: String = "\(seconds - 60)",
        bid: String = "com.example.game", nonce: String = nonce,
        more: String = #""productId":"premium.yearly","offerIdentifier":"o""#
    ) -> String {
        #"{"iss":"\#(iss)","iat":\#(iat),"aud":"\#(aud)","bid":"\#(bid)","nonce":"\#(nonce)","#
            + "\(more)}"
    }

    /// The reason of a refusal; nil for an accepted signature.
    private static func refusal(
        _ body: String, _ store: inout TestStore
    ) throws -> SignatureRefusal? {
        let answer = store.send(.post, "/signatures", body)
        #expect(answer.status == 200)
        let reason = try answer.json["reason"]?.string
        #expect((try answer.json["accepted"]?.bool) == (reason == nil))
        return reason.flatMap { reason in
            SignatureRefusal.allCases.first { $0.reason == reason }
        }
    }

    @Test("a JWS with Apple's claims is accepted")
    func accepted() throws {
        let id = try Self.transaction()
        let product = #""productId":"premium.monthly""#
        let now = Self.seconds
        let request = String(
            decoding: Base64.encode(
                Array(
                    (#"{"operation":"O","version":"1","requestInfo":"#
                        + #"{"requestReferenceId":"\#(Self.nonce)"}}"#).utf8
                ).span), as: UTF8.self)
        let cases: [(String, SignatureRefusal?)] = [
            (try Self.jws(Self.claims()), nil),
            (try Self.jws(Self.claims(iat: "\(now)")), nil),
            (try Self.jws(Self.claims(iat: "\(now - 3599)")), nil),
            (
                try Self.jws(
                    Self.claims(
                        more: #"\#(product),"offerIdentifier":"o","transactionId":"\#(id)""#)), nil
            ),
            (
                try Self.jws(
                    Self.claims(
                        aud: "introductory-offer-eligibility",
                        more:
                            #"\#(product),"allowIntroductoryOffer":false,"transactionId":"\#(id)""#)
                ), nil
            ),
            (
                try Self.jws(
                    Self.claims(aud: "advanced-commerce-api", more: #""request":"\#(request)""#)),
                nil
            ),
        ]
        try Self.check(cases)
    }

    private static func transaction() throws -> String {
        let first = try store().store.customers.first?.life.subscriptions.first
        return try #require(first).transactionId
    }

    private static func check(_ cases: [(String, SignatureRefusal?)]) throws {
        for (index, (jws, expected)) in cases.enumerated() {
            var store = try Self.store()
            let found = try Self.refusal(#"{"jws":"\#(jws)"}"#, &store)
            #expect(found == expected, "case \(index): \(found?.reason ?? "accepted")")
        }
    }

    @Test("the neighbours of such a JWS are refused with the reason")
    func refused() throws {
        let id = try Self.transaction()
        let product = #""productId":"premium.monthly""#
        let now = Self.seconds
        let other = try SigningKey(generating: .p256)
        let cases: [(String, SignatureRefusal?)] = [
            ("a.b", .malformed), ("a.b.c", .malformed), (try Self.jws("[]"), .malformed),
            (
                try Self.jws(Self.claims(), header: #"{"alg":"none","kid":"KEY","typ":"JWT"}"#),
                .algorithm
            ),
            (try Self.jws(Self.claims(), header: #"{"alg":"ES256","kid":"KEY"}"#), .algorithm),
            (try Self.jws(Self.claims(), header: #"{"alg":"ES256","typ":"JWT"}"#), .noKeyId),
            (
                try Self.jws(Self.claims(), header: #"{"alg":"ES256","kid":"NEW","typ":"JWT"}"#),
                .unknownKey
            ),
            (try Self.jws(Self.claims(), by: other), .signature),
            (try Self.jws(Self.claims(aud: "appstoreconnect-v1")), .audience),
            (try Self.jws(Self.claims(iss: "OTHER")), .issuer),
            (try Self.jws(Self.claims(iat: "\(now + 1)")), .notYet),
            (try Self.jws(Self.claims(iat: "null")), .notYet),
            (try Self.jws(Self.claims(iat: "\(now - 3600)")), .expired),
            (try Self.jws(Self.claims(bid: "com.example.other")), .bundle),
            (try Self.jws(Self.claims(nonce: "n")), .nonce),
            (try Self.jws(Self.claims(nonce: Self.nonce.uppercased())), .nonce),
            (try Self.jws(Self.claims(more: #""productId":"p","offerIdentifier":"o""#)), .product),
            (try Self.jws(Self.claims(more: product)), .offer),
            (
                try Self.jws(
                    Self.claims(more: #"\#(product),"offerIdentifier":"o","transactionId":"1""#)),
                .transaction
            ),
            (
                try Self.jws(
                    Self.claims(
                        aud: "introductory-offer-eligibility",
                        more: #"\#(product),"transactionId":"\#(id)""#)), .eligibility
            ),
            (
                try Self.jws(
                    Self.claims(
                        aud: "introductory-offer-eligibility",
                        more: #"\#(product),"allowIntroductoryOffer":true"#)), .transaction
            ),
            (
                try Self.jws(Self.claims(aud: "advanced-commerce-api", more: #""request":"e30=""#)),
                .request
            ),
        ]
        try Self.check(cases)
    }

    @Test("a nonce serves once, and a refused signature does not use it up")
    func nonces() throws {
        var store = try Self.store()
        let refused = try Self.jws(Self.claims(bid: "com.example.other"))
        #expect(try Self.refusal(#"{"jws":"\#(refused)"}"#, &store) == .bundle)
        let good = try Self.jws(Self.claims())
        #expect(try Self.refusal(#"{"jws":"\#(good)"}"#, &store) == nil)
        #expect(try Self.refusal(#"{"jws":"\#(good)"}"#, &store) == .nonceUsed)
    }

    // MARK: Version 1

    private struct Offer {
        var product = "premium.monthly"
        var offer = "o"
        var account = "ABC"
        var nonce = SignatureCheckTests.nonce
        var time = TestStore.clock
        var keyId = "KEY"
        /// What is sent instead of a signed value.
        var sent: [String: String] = [:]

        func body() throws -> String {
            let text = [
                "com.example.game", keyId, product, offer, account.lowercased(), nonce,
                String(time),
            ].joined(separator: "\u{2063}")
            let signature = try key.get().sign(Array(text.utf8), digest: .sha256)
            var members = [
                "productId": product, "offerIdentifier": offer, "appAccountToken": account,
                "nonce": nonce, "keyId": keyId,
                "signature": String(decoding: Base64.encode(signature.span), as: UTF8.self),
            ]
            members.merge(sent) { $1 }
            var writer = JSONWriter()
            writer.object { object in
                object.member("timestamp", time)
                for (name, value) in members { object.member(name, value) }
            }
            return String(decoding: writer.text, as: UTF8.self)
        }
    }

    @Test("version 1 is accepted with the parts that were signed, and refused with any other")
    func versionOne() throws {
        let day: Int64 = 86_400_000
        for (index, (offer, expected)) in [
            (Offer(), nil), (Offer(account: ""), nil),
            (Offer(time: TestStore.clock - day + 1), nil),
            (Offer(sent: ["appAccountToken": "abc"]), nil),
            (Offer(sent: ["productId": "premium.yearly"]), .signature),
            (Offer(sent: ["offerIdentifier": "p"]), .signature),
            (Offer(sent: ["appAccountToken": "abd"]), .signature),
            (Offer(sent: ["nonce": "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a11"]), .signature),
            (Offer(sent: ["signature": "!"]), .malformed),
            (Offer(sent: ["signature": "MAYCAQECAQE="]), .signature),
            (Offer(sent: ["keyId": "OTHER"]), .unknownKey), (Offer(sent: ["keyId": ""]), .noKeyId),
            (Offer(keyId: "OTHER"), .unknownKey), (Offer(product: "p"), .product),
            (Offer(offer: ""), .offer), (Offer(nonce: Self.nonce.uppercased()), .nonce),
            (Offer(time: TestStore.clock + 1), .notYet),
            (Offer(time: TestStore.clock - day), .expired),
        ].enumerated() as EnumeratedSequence<[(Offer, SignatureRefusal?)]> {
            var store = try Self.store()
            let found = try Self.refusal(offer.body(), &store)
            #expect(found == expected, "case \(index): \(found?.reason ?? "accepted")")
        }
        var store = try Self.store()
        #expect(try Self.refusal("{}", &store) == .malformed)
    }

    // MARK: Retention

    @Test("a retention answer is checked with its message, its product and its signature")
    func retention() throws {
        let id = "00000000-0000-4000-8000-000000000001"
        func store(hasMessage: Bool) throws -> TestStore {
            var store = try Self.store()
            guard hasMessage else { return store }
            let path = "/sandbox/inApps/v1/messaging/message/\(id)"
            let body = #"{"header":"Stay","body":"Half price"}"#
            store.store.messaging[.sandbox] = RetentionMessaging()
            let call = try #require(EndpointCall(.put, path: path))
            _ = try store.store.messaging[.sandbox]?.answer(
                call,
                StoreRequest(
                    method: .put, path: path, body: Array(body.utf8), time: TestStore.clock),
                at: TestStore.start, hasPassed: false, isKnownTransaction: false)
            return store
        }
        let message = #""messageIdentifier":"\#(id)""#
        let offer = try Self.jws(Self.claims())
        let commerce = try Self.jws(
            Self.claims(
                aud: "advanced-commerce-api", more: #""request":"e30=""#))
        for (answer, hasMessage, expected) in [
            (#"{"message":{\#(message)}}"#, true, nil),
            (#"{"message":{\#(message)}}"#, false, .message),
            (#"{"message":{"messageIdentifier":"x"}}"#, true, .message),
            (#"{"alternateProduct":{\#(message),"productId":"premium.yearly"}}"#, true, nil),
            (#"{"alternateProduct":{\#(message),"productId":"p"}}"#, true, .product),
            (
                #"{"promotionalOffer":{\#(message),"promotionalOfferSignatureV2":"\#(offer)"}}"#,
                true,
                nil
            ),
            (
                #"{"promotionalOffer":{\#(message),"promotionalOfferSignatureV2":"\#(commerce)"}}"#,
                true, .request
            ),
            (#"{"promotionalOffer":{\#(message)}}"#, true, .answer),
            (#"{"advancedCommerceInfo":{\#(message)}}"#, true, .answer),
            (#"{"text":{\#(message)}}"#, true, .answer), ("{}", true, .answer),
        ] as [(String, Bool, SignatureRefusal?)] {
            var store = try store(hasMessage: hasMessage)
            let found = try Self.refusal(
                #"{"environment":"Sandbox","retentionAnswer":\#(answer)}"#, &store)
            #expect(found == expected, "\(answer): \(found?.reason ?? "accepted")")
        }
    }

    @Test("the store makes the request that the App Store posts when a customer cancels")
    func retentionRequest() throws {
        var store = try Self.store()
        let answer = store.send(.post, "/retention-requests", #"{"customer":1,"locale":"de-DE"}"#)
        #expect(answer.status == 201)
        let request = try payload(try #require(try answer.json["signedPayload"]?.string))
        #expect(request["productId"]?.string == "premium.monthly")
        #expect(request["userLocale"]?.string == "de-DE")
        #expect(request["environment"]?.string == "Production")
        #expect(request["appAppleId"]?.int64 == 1_234_567_890)
        for body in ["{}", #"{"customer":2}"#, #"{"customer":1,"x":1}"#] {
            #expect(store.send(.post, "/retention-requests", body).status == 400)
        }
        #expect(store.get("/signatures").status == 405)
    }
}
