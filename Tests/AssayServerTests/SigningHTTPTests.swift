import Assay
import AssayBytes
import AssayMint
import AssayModels
import AssayServer
import TestSupport
import Testing

@Suite("Signatures over HTTP", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct SigningHTTPTests {
    private static let key = "0123456789abcdef0123"
    private static let otherKey = "fedcba98765432100123"

    private static func serve(
        _ signer: ScriptedSigner? = ScriptedSigner(), keys: [String] = [key],
        _ body: (HTTPClient) throws -> Void
    ) throws {
        let verifier = try Minted.verifier()
        try withHTTPServer {
            $0.apps["game"] = AppEntry(
                verifier: verifier, policy: Minted.policy,
                secrets: AppSecrets(
                    apiKeys: ["for-purchases-0123456789"], fetchKeys: ["for-fetch-0123456789"],
                    signKeys: keys), signer: signer)
            $0.apps["other"] = AppEntry(
                verifier: verifier,
                policy: Policy(bundleId: "com.example.other", environments: [.production]),
                secrets: AppSecrets(signKeys: keys.isEmpty ? [] : [otherKey]))
            $0.defaultApp = "game"
        } _: { _, endpoint in
            try body(try HTTPClient(endpoint))
        }
    }

    private static func ask(
        _ client: HTTPClient, _ path: String, _ json: String, key: String? = key
    ) throws -> HTTPClient.Response {
        let field = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
        return try client.ask(HTTPClient.post("/v1/sign/" + path, json: json, field))
    }

    private static let paths = SignatureKind.allCases.map(\.rawValue) + ["retention-answer"]

    @Test("each path has its kind signed, without the members of the server")
    func kinds() throws {
        try Self.serve { client in
            for kind in SignatureKind.allCases {
                let answer = try Self.ask(
                    client, kind.rawValue, #"{"app":"game","x":1,"key":"second","y":[2]}"#)
                #expect(answer.status == 200)
                #expect(answer.member("jws") == "\(kind.rawValue) {'x':1,'y':[2]} second")
            }
            let answer = try Self.ask(client, "promotional-offer", "{}")
            #expect(answer.member("jws") == "promotional-offer {} -")
        }
    }

    @Test("without its own API key a client is refused on each path", arguments: paths)
    func keys(path: String) throws {
        let body = #"{"signedPayload":"x","answer":{}}"#
        try Self.serve { client in
            for (key, status) in [
                (nil, 401), ("wrong-0123456789abcdef", 403), ("for-purchases-0123456789", 403),
                ("for-fetch-0123456789", 403), ("", 401),
            ] as [(String?, Int)] {
                let answer = try Self.ask(client, path, body, key: key)
                #expect(answer.status == status, "\(key ?? "none"): \(answer.text)")
            }
            // A key of an entry without keys of Apple's, and one that names another entry.
            #expect(try Self.ask(client, path, body, key: Self.otherKey).status == 404)
            let named = #"{"app":"other","signedPayload":"x","answer":{}}"#
            #expect(try Self.ask(client, path, named).status == 403)
        }
    }

    @Test("signing is off unless an entry has API keys for it", arguments: paths)
    func off(path: String) throws {
        try Self.serve(keys: []) { client in
            let answer = try Self.ask(client, path, "{}")
            #expect(answer.status == 404)
            #expect(answer.member("detail")?.contains("sign-api-keys") == true)
        }
    }

    @Test("a failure of the signer has its status and its words")
    func failures() throws {
        for (failure, status) in [
            (SigningFailure.invalidRequest("productId is missing"), 400),
            (.unusableKey("OpenSSL could not sign"), 500),
        ] {
            try Self.serve(ScriptedSigner(failure: failure)) { client in
                let request = String(
                    decoding: try Minted.token(.realtimeRequest), as: UTF8.self)
                for path in Self.paths {
                    let body =
                        path == "retention-answer"
                        ? #"{"signedPayload":"\#(request)","answer":{}}"# : "{}"
                    let answer = try Self.ask(client, path, body)
                    #expect(answer.status == status, "\(answer.text)")
                    #expect(
                        answer.text.contains(
                            "\(failure)".contains("product") ? "productId" : "OpenSSL"))
                }
            }
        }
    }

    // MARK: Retention

    @Test("a retention request is verified, and answered, in one call")
    func retention() throws {
        try Self.serve { client in
            let request = String(decoding: try Minted.token(.realtimeRequest), as: UTF8.self)
            let answer = try Self.ask(
                client, "retention-answer",
                #"{"signedPayload":"\#(request)","answer":{"x":1},"key":"second"}"#)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.text.contains("premium.monthly {'x':1} second"))
        }
    }

    @Test("a request that is refused is not answered: the verdict says why")
    func refusedRetention() throws {
        let request = String(decoding: try Minted.token(.realtimeRequest), as: UTF8.self)
        let transaction = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        var forged = request
        let last = forged.removeLast()
        forged.append(last == "A" ? "Q" : "A")
        try Self.serve { client in
            for (body, status, words) in [
                (#"{"signedPayload":"\#(forged)","answer":{}}"#, 403, "INVALID_SIGNATURE"),
                (#"{"signedPayload":"\#(transaction)","answer":{}}"#, 403, "WRONG_KIND"),
                (
                    #"{"signedPayload":"\#(request)","answer":{},"expectations":"#
                        + #"{"productIds":["other"]}}"#, 403, "MISMATCH"
                ),
                (#"{"signedPayload":"a.b.c","answer":{}}"#, 403, "MALFORMED"),
                (#"{"answer":{}}"#, 400, "signedPayload"),
                (#"{"signedPayload":5,"answer":{}}"#, 400, "signedPayload"),
                (#"{"signedPayload":"\#(request)"}"#, 400, "answer is missing"),
                (#"{"signedPayload":"\#(request)","answer":"x"}"#, 400, "not an object"),
                (#"{"signedPayload":"\#(request)","answer":{},"zz":1}"#, 400, "unknown member"),
            ] {
                let answer = try Self.ask(client, "retention-answer", body)
                #expect(answer.status == status && answer.text.contains(words), "\(answer.text)")
                #expect(answer.field("content-type") == "application/problem+json")
            }
        }
    }

    @Test("a retention request of another app is refused in the sandbox as well")
    func foreignRetention() throws {
        let token = try Minter(Minted.authority.get().chain).mint(
            .realtimeRequest, index: 1, bundleId: Minted.bundleId, appAppleId: 99,
            environment: .sandbox, signedDate: Minted.now)
        let request = String(decoding: token, as: UTF8.self)
        try Self.serve { client in
            let body = #"{"signedPayload":"\#(request)","answer":{}}"#
            let answer = try Self.ask(client, "retention-answer", body)
            #expect(answer.status == 403 && answer.text.contains("WRONG_APP"), "\(answer.text)")
        }
    }

    @Test("an entry without an App Store id can't know its own retention requests")
    func retentionWithoutApp() throws {
        try Self.serve(ScriptedSigner(appAppleId: nil)) { client in
            let answer = try Self.ask(client, "retention-answer", "{}")
            #expect(answer.status == 404)
            #expect(answer.member("detail")?.contains("app-apple-id") == true)
            #expect(try Self.ask(client, "promotional-offer", "{}").status == 200)
        }
    }
}
