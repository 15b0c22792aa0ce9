import Assay
import AssayBytes
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Signatures as calls over HTTP/1.1, of a simulated server.
@Suite("Signatures as calls") struct SigningRPCTests {
    private static let key = "0123456789abcdef0123"
    private static let otherKey = "fedcba98765432100123"
    private static let methods = RPCMethod.allCases.filter(\.signs)

    private static func caller(
        _ signer: ScriptedSigner? = ScriptedSigner(), keys: [String] = [key]
    ) throws -> SimulatedCaller {
        let verifier = try Minted.verifier()
        return SimulatedCaller(
            try SimulatedServer { configuration in
                configuration.apps["game"] = AppEntry(
                    verifier: verifier, policy: Minted.policy,
                    secrets: AppSecrets(
                        apiKeys: ["for-purchases-0123456789"],
                        fetchKeys: ["for-fetch-0123456789"], signKeys: keys), signer: signer)
                configuration.apps["other"] = AppEntry(
                    verifier: verifier, policy: Minted.policy,
                    secrets: AppSecrets(signKeys: keys.isEmpty ? [] : [otherKey]))
            })
    }

    private static func ask(
        _ caller: SimulatedCaller, _ method: RPCMethod, _ body: [UInt8],
        _ form: RPCTestForm = .json, key: String? = key
    ) -> HTTPClient.Response? {
        let field = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return caller.ask(RPCBytes.post(form, body, field, path: method.path))
    }

    private static func ask(
        _ caller: SimulatedCaller, _ method: RPCMethod, json: String, key: String? = key
    ) -> HTTPClient.Response? { ask(caller, method, Array(json.utf8), key: key) }

    /// A retention request with the answer to make, in JSON.
    private static func retention(
        _ token: [UInt8], _ answer: String = #"{"message":{"messageIdentifier":"m"}}"#,
        _ more: String = ""
    ) -> String {
        let evidence = String(decoding: Base64.encode(token.span), as: UTF8.self)
        return #"{"evidence":"\#(evidence)","answer":\#(answer)\#(more)}"#
    }

    @Test("the fields of each call are the members that HTTP has")
    func kinds() throws {
        let caller = try Self.caller()
        let table: [(RPCMethod, String, String)] = [
            (
                .signPromotionalOffer,
                #"{"productId":"p","offerIdentifier":"o","version":1,"appAccountToken":"a","#
                    + #""app":"game","key":"second"}"#,
                "promotional-offer {'productId':'p','offerIdentifier':'o','version':1,"
                    + "'appAccountToken':'a'} second"
            ),
            (.signPromotionalOffer, "{}", "promotional-offer {} -"),
            (
                .signIntroductoryOffer,
                #"{"productId":"p","allowIntroductoryOffer":false,"transactionId":"1"}"#,
                "introductory-offer {'productId':'p','allowIntroductoryOffer':false,"
                    + "'transactionId':'1'} -"
            ),
            (
                .signAdvancedCommerce, #"{"requestJson":"{\"x\": [1]}"}"#,
                "advanced-commerce {'request':{'x': [1]}} -"
            ),
        ]
        for (method, json, jws) in table {
            let answer = Self.ask(caller, method, json: json)
            #expect(answer?.status == 200 && answer?.member("jws") == jws, "\(answer?.text ?? "")")
        }
    }

    @Test("a server that drains signs nothing, as it verifies nothing new")
    func drain() throws {
        let caller = try Self.caller()
        let ask = {
            (
                Self.ask(caller, .signPromotionalOffer, json: "{}")?.status,
                caller.ask(
                    HTTPClient.post(
                        "/v1/sign/promotional-offer", json: "{}",
                        "Authorization: Bearer \(Self.key)\r\n"))?.status
            )
        }
        #expect(ask() == (200, 200))
        caller.server.drain()
        caller.server.runUntilIdle()
        #expect(ask() == (503, 503))
    }

    @Test("binary messages: unknown fields, a value twice, text that is not UTF-8")
    func binary() throws {
        let caller = try Self.caller()
        var message = MessageBuilder()
        message.set(1, text: "first")
        message.set(99, text: "unknown")
        message.set(98, varint: 7)
        message.set(1, text: "p")
        for form in [RPCTestForm.proto, .web, .text] {
            let body =
                switch form {
                case .proto: message.bytes
                case .web: RPCBytes.frame(message.bytes)
                default: Base64.encode(RPCBytes.frame(message.bytes).span)
                }
            let answer = form.answer(Self.ask(caller, .signPromotionalOffer, body, form))
            #expect(answer.code == 0)
            let jws = RPCBytes.bytes(1, of: answer.message ?? [])
            #expect(
                String(decoding: jws ?? [], as: UTF8.self)
                    == "promotional-offer {'productId':'p'} -")
        }
        var (invalid, mistyped, cut) = (MessageBuilder(), MessageBuilder(), MessageBuilder())
        invalid.set(1, bytes: [0xFF])
        mistyped.set(1, varint: 1)
        cut.set(1, text: "p")
        for bytes in [invalid.bytes, mistyped.bytes, Array(cut.bytes.dropLast())] {
            let answer = Self.ask(caller, .signPromotionalOffer, bytes, .proto)
            #expect(answer?.member("code") == "invalid_argument", "\(answer?.text ?? "")")
        }
        let large = Self.ask(
            caller, .signPromotionalOffer, [UInt8](repeating: 0x0A, count: 70_000), .proto)
        #expect(large?.member("code") == "resource_exhausted")
    }

    @Test("without its own API key a client is refused by each call", arguments: methods)
    func keys(_ method: RPCMethod) throws {
        let caller = try Self.caller()
        let json =
            method == .signRetentionAnswer ? Self.retention(Array("a.b.c".utf8)) : "{}"
        for (key, code) in [
            (nil, "unauthenticated"), ("", "unauthenticated"),
            ("wrong-0123456789abcdef", "unauthenticated"),
            ("for-purchases-0123456789", "unauthenticated"),
            ("for-fetch-0123456789", "unauthenticated"),
            // Of an entry without keys of Apple's.
            (Self.otherKey, "unimplemented"),
        ] as [(String?, String)] {
            let answer = Self.ask(caller, method, json: json, key: key)
            #expect(answer?.member("code") == code, "\(key ?? "none"): \(answer?.text ?? "")")
        }
        let named = json.dropLast() + (json == "{}" ? "" : ",") + #""app":"other"}"#
        let other = Self.ask(caller, method, json: String(named))
        #expect(other?.member("code") == "permission_denied", "\(other?.text ?? "")")
        let off = Self.ask(try Self.caller(keys: []), method, json: json)
        #expect(off?.member("code") == "unimplemented")
        #expect(off?.member("message")?.contains("sign-api-keys") == true)
    }

    @Test("a failure of the signer has its code and its words")
    func failures() throws {
        let token = try Minted.token(.realtimeRequest)
        for (failure, code) in [
            (SigningFailure.invalidRequest("productId is missing"), "invalid_argument"),
            (.unusableKey("OpenSSL could not sign"), "failed_precondition"),
        ] {
            let caller = try Self.caller(ScriptedSigner(failure: failure))
            for method in Self.methods {
                let json = method == .signRetentionAnswer ? Self.retention(token) : "{}"
                let answer = Self.ask(caller, method, json: json)
                #expect(answer?.member("code") == code, "\(answer?.text ?? "")")
            }
        }
    }

    @Test("JSON of Apple's is embedded as JSON alone")
    func embedded() throws {
        let caller = try Self.caller()
        for (text, words) in [
            (#"{\"x\":1"#, "is not JSON"), ("[]", "is not a JSON object"),
            (#"{},\"productId\":\"p\""#, "is not JSON"), ("", "is not JSON"),
        ] {
            let answer = Self.ask(
                caller, .signAdvancedCommerce, json: #"{"requestJson":"\#(text)"}"#)
            #expect(answer?.member("code") == "invalid_argument")
            #expect(answer?.member("message")?.contains(words) == true, "\(answer?.text ?? "")")
        }
    }

    // MARK: Retention

    @Test("a retention request is verified, and answered, in one call")
    func retention() throws {
        let caller = try Self.caller()
        let token = try Minted.token(.realtimeRequest)
        let answer = Self.ask(
            caller, .signRetentionAnswer,
            json: Self.retention(
                token, #"{"advancedCommerceInfo":{"messageIdentifier":"m","requestJson":"{}"}}"#,
                #","key":"second","call":{"omitTypedPayload":false,"returnPayloadJson":true}"#))
        #expect(answer?.status == 200, "\(answer?.text ?? "")")
        let body = answer?.member("responseJson").flatMap {
            try? Base64.decode(Array($0.utf8).span)
        }
        let text = String(decoding: body ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "premium.monthly {'advancedCommerceInfo':"
                    + "{'messageIdentifier':'m','request':{}}} second"), "\(text)")
        #expect(answer?.text.contains(#""verdict":"VERDICT_VALID""#) == true)
        // Without the payload.
        #expect(answer?.text.contains("realtimeRequest\":") == false)
    }

    @Test("a request that is refused has a verdict, and no answer")
    func refusedRetention() throws {
        let caller = try Self.caller()
        let token = try Minted.token(.realtimeRequest)
        let foreign = try Minter(Minted.authority.get().chain).mint(
            .realtimeRequest, index: 1, bundleId: Minted.bundleId, appAppleId: 99,
            environment: .sandbox, signedDate: Minted.now)
        let transaction = try Minted.transaction.get()
        let expecting = #","call":{"expectations":{"productIds":["other"]}}"#
        for (json, verdict) in [
            (Self.retention(Minted.tampered(token)), "INVALID_SIGNATURE"),
            (Self.retention(transaction), "WRONG_KIND"),
            (Self.retention(token, "{}", expecting), "MISMATCH"),
            // A request of another app is refused in the sandbox as well.
            (Self.retention(foreign), "WRONG_APP"), (Self.retention([0x41]), "MALFORMED"),
        ] {
            let answer = Self.ask(caller, .signRetentionAnswer, json: json)
            #expect(answer?.status == 200 && answer?.member("responseJson") == nil)
            #expect(
                answer?.text.contains("\"VERDICT_\(verdict)\"") == true, "\(answer?.text ?? "")")
        }
        for json in ["{}", #"{"answer":{}}"#, #"{"evidence":"YS5iLmM="}"#] {
            let answer = Self.ask(caller, .signRetentionAnswer, json: json)
            #expect(answer?.member("code") == "invalid_argument", "\(answer?.text ?? "")")
        }
        let withoutApp = Self.ask(
            try Self.caller(ScriptedSigner(appAppleId: nil)), .signRetentionAnswer, json: "{}")
        #expect(withoutApp?.member("code") == "unimplemented")
    }
}
