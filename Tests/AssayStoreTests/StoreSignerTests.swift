import Assay
import AssayBytes
import AssayKeys
import AssayModels
import TestSupport
import Testing

@testable import AssayStore

@Suite("Signatures for Apple")
struct StoreSignerTests {
    private static let fixture = StoreFixture.shared
    private static let now = Timestamp(milliseconds: StoreFixture.now)
    private static let nonce = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"

    private static func signer() throws -> StoreSigner {
        try StoreSigner(bundleId: StoreFixture.bundleId, key: fixture.key)
    }

    private static func publicKey() throws -> PublicKey {
        let point = try SigningKey(encoded: fixture.keyText).publicKey
        guard let key = PublicKey.ec(.p256, point: point.span) else {
            throw StoreError.unusableKey("no point")
        }
        return key
    }

    /// The members of a token's header and claims, after a check of its signature.
    private static func open(_ token: String) throws -> (header: JSONObject, claims: JSONObject) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        let signature = try Base64URL.decode(Array(parts[2].utf8).span)
        let signed = Array((parts[0] + "." + parts[1]).utf8)
        #expect(try publicKey().verifiesES256(signature.span, over: signed.span))
        func members(_ part: Substring) throws -> JSONObject {
            try JSONDocument.parse(Base64URL.decode(Array(part.utf8).span)).members()
        }
        return (try members(parts[0]), try members(parts[1]))
    }

    private static func check(
        _ token: String, audience: String, _ more: [(String, String)]
    ) throws {
        let (header, claims) = try open(token)
        #expect(
            header.pairs.map { "\($0.name)=\($0.value.string ?? "")" }
                == ["alg=ES256", "kid=\(StoreFixture.keyId)", "typ=JWT"])
        let texts = claims.pairs.map { name, value in
            (name, String(decoding: value.raw, as: UTF8.self))
        }
        let expected =
            [
                ("iss", "\"\(StoreFixture.issuerId)\""), ("iat", "1768435140"),
                ("aud", "\"\(audience)\""), ("bid", "\"com.example.game\""),
                ("nonce", "\"\(nonce)\""),
            ] + more
        #expect(texts.map(\.0) == expected.map(\.0) && texts.map(\.1) == expected.map(\.1))
    }

    @Test("a promotional offer of version 2 has Apple's claims, dated a minute back")
    func versionTwo() throws {
        let signer = try Self.signer()
        var offer = try PromotionalOffer(productId: "gold", offerId: "back", transactionId: "47")
        try Self.check(
            signer.token(of: offer, at: Self.now, nonce: Self.nonce), audience: "promotional-offer",
            [
                ("productId", "\"gold\""), ("offerIdentifier", "\"back\""),
                ("transactionId", "\"47\""),
            ])
        offer = try PromotionalOffer(productId: "gold", offerId: "back")
        try Self.check(
            signer.token(of: offer, at: Self.now, nonce: Self.nonce.uppercased()),
            audience: "promotional-offer",
            [("productId", "\"gold\""), ("offerIdentifier", "\"back\"")])
    }

    @Test("an introductory offer's eligibility has Apple's claims", arguments: [true, false])
    func introductory(isAllowed: Bool) throws {
        let offer = try IntroductoryOffer(
            productId: "gold", isAllowed: isAllowed, transactionId: "47")
        try Self.check(
            Self.signer().token(of: offer, at: Self.now, nonce: Self.nonce),
            audience: "introductory-offer-eligibility",
            [
                ("productId", "\"gold\""), ("allowIntroductoryOffer", "\(isAllowed)"),
                ("transactionId", "\"47\""),
            ])
    }

    @Test("a request of Advanced Commerce is the claim request, in Base64")
    func advancedCommerce() throws {
        let json = Array(
            #"{ "transactionId": "47", "requestInfo": {"requestReferenceId": "\#(Self.nonce)"} }"#
                .utf8)
        let request = try AdvancedCommerceRequest(json: json, kind: .subscriptionReactivateInApp)
        let text =
            #"{"operation":"REACTIVATE_SUBSCRIPTION","version":"1","transactionId":"47","#
            + #""requestInfo":{"requestReferenceId":"\#(Self.nonce)"}}"#
        let encoded = String(decoding: Base64.encode(Array(text.utf8).span), as: UTF8.self)
        try Self.check(
            Self.signer().token(of: request, at: Self.now, nonce: Self.nonce),
            audience: "advanced-commerce-api", [("request", "\"\(encoded)\"")])
    }

    @Test("version 1 signs its parts in Apple's order, joined by U+2063")
    func versionOne() throws {
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        for account in [nil, "7E3FB204-2A9C-4B1F-9C57-0C3C5F1E2A10"] {
            let offer = try PromotionalOffer(
                productId: "gold", offerId: "back", appAccountToken: account)
            let found = try Self.signer().signature(
                of: offer, at: Self.now, nonce: Self.nonce.uppercased())
            #expect(found.keyId == StoreFixture.keyId && found.nonce == Self.nonce)
            #expect(found.timestamp == Self.now)
            let text = [
                StoreFixture.bundleId, StoreFixture.keyId, "gold", "back",
                account == nil ? "" : Self.nonce, Self.nonce, "1768435200000",
            ].joined(separator: "\u{2063}")
            let key = try openssl.file("key.pem", Self.fixture.keyText)
            let message = try openssl.file("message", Array(text.utf8))
            let signature = try openssl.file(
                "signature", Base64.decode(Array(found.encodedSignature.utf8).span))
            let answer = try openssl.run(
                "dgst", "-sha256", "-prverify", key, "-signature", signature, message)
            #expect(answer.status == 0, "\(answer.output)")
        }
    }

    @Test("each signature has a nonce of its own: a UUID of version 4 in lower case")
    func nonces() throws {
        let offer = try PromotionalOffer(productId: "gold", offerId: "back")
        var nonces: Set<String> = []
        for _ in 0..<20 {
            let nonce = try Self.signer().signature(of: offer).nonce
            #expect(UUIDText.isValid(nonce) && nonce == nonce.lowercased())
            #expect(Array(nonce.utf8)[14] == UInt8(ascii: "4"))
            nonces.insert(nonce)
            let claims = try Self.open(Self.signer().token(of: offer)).claims
            nonces.insert(claims["nonce"]?.string ?? "")
        }
        #expect(nonces.count == 40)
        for nonce in ["", "7e3fb204", Self.nonce + "0"] {
            #expect(throws: StoreError.invalidArgument("the nonce is not a UUID")) {
                try Self.signer().token(of: offer, nonce: nonce)
            }
        }
    }

    @Test("values that would change another part of a signature are refused, by name")
    func values() throws {
        for (text, reason) in [
            ("", "is empty"), (" ", "is empty"), ("a\u{2063}b", "U+2063"), ("a\nb", "control"),
            (String(repeating: "a", count: 257), "more than 256 bytes"),
        ] {
            let makes: [(String, () throws -> Void)] = [
                ("productId", { _ = try PromotionalOffer(productId: text, offerId: "o") }),
                ("offerIdentifier", { _ = try PromotionalOffer(productId: "p", offerId: text) }),
                (
                    "appAccountToken",
                    {
                        _ = try PromotionalOffer(
                            productId: "p", offerId: "o", appAccountToken: text)
                    }
                ),
                (
                    "transactionId",
                    { _ = try PromotionalOffer(productId: "p", offerId: "o", transactionId: text) }
                ),
                (
                    "productId",
                    {
                        _ = try IntroductoryOffer(
                            productId: text, isAllowed: true, transactionId: "1")
                    }
                ),
                (
                    "transactionId",
                    {
                        _ = try IntroductoryOffer(
                            productId: "p", isAllowed: true, transactionId: text)
                    }
                ),
            ]
            for (name, make) in makes {
                let error = #expect(throws: StoreError.self) { try make() }
                let words = error?.description ?? ""
                #expect(words.contains(name) && words.contains(reason), "\(words)")
            }
        }
        #expect(throws: StoreError.self) { try StoreSigner(bundleId: "", key: Self.fixture.key) }
    }

    /// Rows: the kind, the request, and the members of the answer or, after "!", the reason.
    private static let requestRows: [(SigningRequest.Kind, String, String)] = [
        (.promotionalOffer, #"{"productId":"p","offerIdentifier":"o"}"#, "jws"),
        (
            .promotionalOffer,
            #"{"productId":"p","offerIdentifier":"o","version":2,"transactionId":"1"}"#, "jws"
        ),
        (
            .promotionalOffer,
            #"{"productId":"p","offerIdentifier":"o","version":1,"appAccountToken":"x"}"#,
            "keyId nonce timestamp signature"
        ),
        (
            .introductoryOffer,
            #"{"productId":"p","allowIntroductoryOffer":false,"transactionId":"1"}"#, "jws"
        ),
        (
            .advancedCommerce,
            #"{"request":{"operation":"REACTIVATE_SUBSCRIPTION","transactionId":"1","#
                + #""requestInfo":{"requestReferenceId":"\#(Self.nonce)"}}}"#,
            "jws advancedCommerceData"
        ),
        (.promotionalOffer, "[]", "! not a JSON object"),
        (.promotionalOffer, "{}", "! productId is missing"),
        (.promotionalOffer, #"{"productId":"p"}"#, "! offerIdentifier is missing"),
        (.promotionalOffer, #"{"productId":5}"#, "! productId is not a string"),
        (.promotionalOffer, #"{"product":"p"}"#, "! unknown member \"product\""),
        (
            .promotionalOffer, #"{"productId":"p","offerIdentifier":"o","version":3}"#,
            "! version is not a whole number from 1 to 2"
        ),
        (
            .promotionalOffer,
            #"{"productId":"p","offerIdentifier":"o","appAccountToken":"x"}"#,
            "! appAccountToken is part of version 1 alone"
        ),
        (
            .promotionalOffer,
            #"{"productId":"p","offerIdentifier":"o","version":1,"transactionId":"1"}"#,
            "! transactionId is part of version 2 alone"
        ),
        (
            .introductoryOffer,
            #"{"productId":"p","allowIntroductoryOffer":"no","transactionId":"1"}"#,
            "! allowIntroductoryOffer is not true or false"
        ),
        (
            .introductoryOffer, #"{"productId":"p","allowIntroductoryOffer":true}"#,
            "! transactionId is missing"
        ),
        (
            .promotionalOffer,
            #"{"productId":"p","offerIdentifier":"o","transactionId":"MVWXYZ1234"}"#,
            "! transactionId is not a number"
        ),
        (
            .introductoryOffer,
            #"{"productId":"p","allowIntroductoryOffer":true,"transactionId":"1 "}"#,
            "! transactionId is not a number"
        ),
        (
            .introductoryOffer,
            #"{"productId":"p","allowIntroductoryOffer":true,"transactionId":"-1"}"#,
            "! transactionId is not a number"
        ),
        (
            .introductoryOffer,
            #"{"productId":"p","allowIntroductoryOffer":true,"transactionId":1}"#,
            "! transactionId is not a string"
        ),
        (
            .advancedCommerce,
            #"{"request":{"operation":"REACTIVATE_SUBSCRIPTION","transactionId":"x","#
                + #""requestInfo":{"requestReferenceId":"\#(Self.nonce)"}}}"#,
            "! transactionId is not a number"
        ),
        (
            .advancedCommerce,
            #"{"request":{"operation":"MODIFY_SUBSCRIPTION","transactionId":"1.0","#
                + #""requestInfo":{"requestReferenceId":"\#(Self.nonce)"}}}"#,
            "! transactionId is not a number"
        ),
        (.advancedCommerce, "{}", "! request is missing"),
        (.advancedCommerce, #"{"request":{}}"#, "! operation is missing"),
    ]

    @Test("a request in JSON is what the command line and HTTP take; others are refused by member")
    func requests() throws {
        for (kind, json, expected) in Self.requestRows {
            do {
                let request = try SigningRequest(kind, json: Array(json.utf8))
                let answer = try JSONDocument.parse(
                    Self.signer().answer(to: request, at: Self.now)
                ).members()
                #expect(answer.pairs.map(\.name).joined(separator: " ") == expected)
            } catch let error as StoreError {
                #expect(
                    expected.hasPrefix("!")
                        && error.description.contains(expected.dropFirst(2)), "\(error)")
            }
        }
    }

    // MARK: Retention

    private static let request = DecodedRealtimeRequestBody(
        originalTransactionId: "99371282", appAppleId: 531412, productId: "gold",
        userLocale: "en-US", requestIdentifier: nonce, signedDate: now, environment: .sandbox)

    private static func body(_ choice: String) throws -> JSONObject {
        let answer = try RetentionAnswer(json: Array(choice.utf8))
        return try JSONDocument.parse(signer().body(of: answer, to: request, at: now)).members()
    }

    private static let id = #""messageIdentifier":"\#(nonce)""#

    @Test("an answer to a retention request has one of Apple's four members")
    func retention() throws {
        var body = try Self.body("{\"message\":{\(Self.id)}}")
        #expect(body.pairs.map(\.name) == ["message"])
        #expect(body["message"]?["messageIdentifier"]?.string == Self.nonce)
        body = try Self.body(
            "{\"alternateProduct\":{\(Self.id),\"productId\":\"silver\","
                + "\"billingPlanType\":\"MONTHLY\"}}")
        #expect(body["alternateProduct"]?["productId"]?.string == "silver")
        #expect(body["alternateProduct"]?["billingPlanType"]?.string == "MONTHLY")

        body = try Self.body("{\"promotionalOffer\":{\(Self.id),\"offerIdentifier\":\"stay\"}}")
        let token = try #require(
            body["promotionalOffer"]?["promotionalOfferSignatureV2"]?.string)
        let claims = try Self.open(token).claims
        #expect(claims["productId"]?.string == "gold", "the product of the request")
        #expect(claims["transactionId"]?.string == "99371282", "its customer alone")
        #expect(claims["offerIdentifier"]?.string == "stay")

        body = try Self.body(
            "{\"promotionalOffer\":{\(Self.id),\"offerIdentifier\":\"stay\",\"version\":1,"
                + "\"productId\":\"silver\",\"appAccountToken\":\"\(Self.nonce.uppercased())\"}}")
        let signature = try #require(
            body["promotionalOffer"]?["promotionalOfferSignatureV1"]?.members)
        #expect(
            signature.pairs.map(\.name) == [
                "encodedSignature", "productId", "nonce", "timestamp", "keyId", "offerIdentifier",
                "appAccountToken",
            ])
        #expect(signature["productId"]?.string == "silver")
        #expect(signature["appAccountToken"]?.string == Self.nonce)

        body = try Self.body(
            "{\"advancedCommerceInfo\":{\(Self.id),\"request\":{\"operation\":"
                + "\"REACTIVATE_SUBSCRIPTION\",\"transactionId\":\"1\",\"requestInfo\":"
                + "{\"requestReferenceId\":\"\(Self.nonce)\"}}}}")
        let data = try #require(body["advancedCommerceInfo"]?["advancedCommerceData"]?.string)
        let inner = try JSONDocument.parse(Base64.decode(Array(data.utf8).span))
        let jws = try #require(inner.root["signatureInfo"]?["token"]?.string)
        #expect(try Self.open(jws).claims["aud"]?.string == "advanced-commerce-api")
    }

    @Test("a choice that is no answer is refused, and the member named")
    func retentionRefused() throws {
        for (choice, reason) in [
            ("{}", "has none of its members"),
            ("{\"message\":{\(Self.id)},\"alternateProduct\":{\(Self.id)}}", "has several"),
            ("{\"text\":{\(Self.id)}}", "unknown member \"text\""),
            ("{\"message\":{}}", "message.messageIdentifier is missing"),
            (
                "{\"message\":{\"messageIdentifier\":\"x\"}}",
                "message.messageIdentifier is not a UUID"
            ),
            ("{\"message\":{\(Self.id),\"x\":1}}", "unknown member \"x\" of message"),
            ("{\"alternateProduct\":{\(Self.id)}}", "alternateProduct.productId is missing"),
            (
                "{\"alternateProduct\":{\(Self.id),\"productId\":\"p\",\"billingPlanType\":\"x\"}}",
                "billingPlanType is not one of BILLED_UPFRONT, MONTHLY"
            ),
            ("{\"promotionalOffer\":{\(Self.id)}}", "promotionalOffer.offerIdentifier is missing"),
            (
                "{\"promotionalOffer\":{\(Self.id),\"offerIdentifier\":\"o\",\"appAccountToken\":"
                    + "\"\(Self.nonce)\"}}", "appAccountToken is part of version 1 alone"
            ),
            (
                "{\"promotionalOffer\":{\(Self.id),\"offerIdentifier\":\"o\",\"version\":1,"
                    + "\"appAccountToken\":\"me\"}}", "appAccountToken is not a UUID"
            ),
            ("{\"advancedCommerceInfo\":{\(Self.id)}}", "advancedCommerceInfo.request is missing"),
            (
                "{\"advancedCommerceInfo\":{\(Self.id),\"request\":{\"operation\":"
                    + "\"REACTIVATE_SUBSCRIPTION\"}}}",
                "advancedCommerceInfo.request.requestInfo is missing"
            ),
        ] {
            let error = #expect(throws: StoreError.self) { try Self.body(choice) }
            #expect(error?.description.contains(reason) == true, "\(String(describing: error))")
        }
    }
}
