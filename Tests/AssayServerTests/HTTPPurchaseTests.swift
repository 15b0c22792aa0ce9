import Assay
import AssayIO
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry
import TestSupport
import Testing

/// OpenIAP's verification contract at `/v1/purchase/verify`, in the shapes of its SDKs.
@Suite("OpenIAP over HTTP", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct HTTPPurchaseTests {
    private static let (key, otherKey) = ("key-0123456789abcdef", "other-0123456789abcdef")
    private static let path = "/v1/purchase/verify"

    private static func token(_ members: String, bundleId: String = Minted.bundleId) throws
        -> String
    {
        let payload = """
            {"transactionId":"1","originalTransactionId":"1","bundleId":"\(bundleId)",\
            "environment":"Sandbox","productId":"premium",\
            "purchaseDate":\(Minted.now.milliseconds),\
            "signedDate":\(Minted.now.milliseconds)\(members)}
            """
        let token = try Minter(Minted.authority.get().chain).sign(Array(payload.utf8))
        return String(decoding: token, as: UTF8.self)
    }

    private static func with(
        keys: [String] = [key], _ body: (HTTPClient) throws -> Void
    ) throws {
        let verifier = try Minted.verifier()
        func entry(_ bundleId: String, _ keys: [String]) -> AppEntry {
            AppEntry(
                verifier: verifier, policy: Policy(bundleId: bundleId, environments: [.sandbox]),
                secrets: AppSecrets(apiKeys: keys))
        }
        try withHTTPServer {
            $0.apps = [
                "game": entry(Minted.bundleId, keys),
                "other": entry("com.example.other", keys.isEmpty ? [] : [otherKey]),
            ]
            $0.defaultApp = nil
        } _: { test, endpoint in
            try body(try HTTPClient(endpoint))
        }
    }

    private static func post(
        _ json: String, key: String? = key, _ fields: String = "", path: String = path
    ) -> [UInt8] {
        HTTPClient.post(
            path, json: json, (key.map { "Authorization: Bearer \($0)\r\n" } ?? "") + fields)
    }

    @Test("the states of purchases")
    func states() throws {
        let (now, renewable) = (Minted.now.milliseconds, "\"type\":\"Auto-Renewable Subscription\"")
        let cases: [(members: String, state: String, isValid: Bool)] = [
            (",\"type\":\"Non-Consumable\"", "ENTITLED", true),
            (",\"type\":\"Consumable\"", "READY_TO_CONSUME", true),
            (",\"type\":\"Non-Renewing Subscription\"", "ENTITLED", true),
            (",\(renewable),\"expiresDate\":\(now + 1)", "ENTITLED", true),
            (",\(renewable),\"expiresDate\":\(now)", "EXPIRED", false),
            (",\(renewable),\"expiresDate\":\(now + 1),\"isUpgraded\":true", "EXPIRED", false),
            (",\(renewable)", "UNKNOWN", false), ("", "UNKNOWN", false),
            (",\"type\":\"Non-Consumable\",\"revocationDate\":\(now)", "CANCELED", false),
            (",\"type\":\"Consumable\",\"revocationDate\":\(now)", "CANCELED", false),
        ]
        try Self.with { client in
            for (members, state, isValid) in cases {
                let token = try Self.token(members)
                for path in [Self.path, "/v1/verify-purchase"] {
                    let response = try client.ask(
                        Self.post("{\"store\":\"apple\",\"jws\":\"\(token)\"}", path: path))
                    #expect(
                        response.text
                            == "{\"store\":\"apple\",\"isValid\":\(isValid),\"state\":\"\(state)\","
                            + "\"productId\":\"premium\",\"environment\":\"Sandbox\"}\n")
                    #expect(response.status == 200)
                }
            }
            // No genuine signature, another product, another app, another kind.
            let token = try Self.token(",\"type\":\"Consumable\"")
            let changed = String(decoding: Minted.tampered(Array(token.utf8)), as: UTF8.self)
            let foreign = try Self.token(",\"type\":\"Consumable\"", bundleId: "com.example.b")
            let renewal = String(decoding: try Minted.token(.renewalInfo), as: UTF8.self)
            for (jws, product, state) in [
                (changed, "premium", "INAUTHENTIC"), ("a.b.c", "premium", "INAUTHENTIC"),
                (token, "gold", "UNKNOWN"), (foreign, "premium", "UNKNOWN"),
                (renewal, "premium", "UNKNOWN"), (token, "premium", "READY_TO_CONSUME"),
            ] {
                let response = try client.ask(
                    Self.post(
                        "{\"store\":\"apple\",\"jws\":\"\(jws)\","
                            + "\"expectedProductId\":\"\(product)\"}"
                    ))
                #expect(response.status == 200 && response.member("state") == state, "\(jws)")
                let isValid = state == "READY_TO_CONSUME"
                #expect(response.member("isValid") == "\(isValid)")
                #expect((response.member("productId") != nil) == isValid)
            }
            let payload = try client.ask(
                Self.post(
                    "{\"store\":\"apple\",\"jws\":\"\(token)\",\"includeClientPayload\":true}"))
            #expect(payload.member("clientPayload")?.contains("\"transactionId\":\"1\"") == true)
        }
    }

    @Test("line 110: keys are required, choose the entry, and are compared as a whole")
    func keys() throws {
        let token = try Self.token(",\"type\":\"Consumable\"")
        let json = "{\"store\":\"apple\",\"jws\":\"\(token)\"}"
        try Self.with { client in
            let cases: [(key: String?, status: Int, code: String?)] = [
                (Self.key, 200, nil), (nil, 401, "MISSING_API_KEY"),
                ("", 401, "MISSING_API_KEY"), ("x", 403, "INVALID_API_KEY"),
                (String(Self.key.dropLast()), 403, "INVALID_API_KEY"),
                (Self.key + Self.key, 403, "INVALID_API_KEY"),
                (Self.key.uppercased(), 403, "INVALID_API_KEY"),
            ]
            for (key, status, code) in cases {
                let response = try client.ask(Self.post(json, key: key))
                #expect(response.status == status)
                let errors = response.member("errors")
                #expect(
                    errors?.contains("\"code\":\"\(code ?? "")\"") == (code == nil ? nil : true))
                #expect((response.field("www-authenticate") != nil) == (status == 401))
                #expect(response.field("x-correlation-id")?.utf8.count == 32)
            }
            let basic = try client.ask(
                Self.post(json, key: nil, "Authorization: Basic \(Self.key)\r\n"))
            #expect(basic.status == 401)
            // The other entry's key: a genuine purchase of another app.
            let other = try client.ask(Self.post(json, key: Self.otherKey))
            #expect(other.member("state") == "UNKNOWN")
        }
        try Self.with(keys: []) { client in
            let response = try client.ask(Self.post(json))
            #expect(response.status == 404)
        }
    }

    @Test("errors of the input, and ids of requests")
    func inputs() throws {
        let token = try Self.token(",\"type\":\"Consumable\"")
        try Self.with { client in
            for (json, member) in [
                ("{\"store\":\"google\",\"jws\":\"a\"}", "store"), ("{\"jws\":\"a\"}", "store"),
                ("{\"store\":\"apple\"}", "jws"), ("{\"store\":\"apple\",\"jws\":1}", "jws"),
                (
                    "{\"store\":\"apple\",\"jws\":\"a\",\"expectedProductId\":1}",
                    "expectedProductId"
                ),
                ("{", nil), ("[]", nil), ("{\"store\":\"apple\",\"jws\":\"\"}", nil),
            ] as [(String, String?)] {
                let response = try client.ask(Self.post(json))
                #expect(response.status == 400, "\(json)")
                let errors = response.member("errors") ?? ""
                #expect(errors.contains("\"code\":\"INVALID_INPUT\""))
                #expect(errors.contains("\"path\"") == (member != nil))
                if let member { #expect(errors.contains("\"path\":\"\(member)\"")) }
            }
            let json = "{\"store\":\"apple\",\"jws\":\"\(token)\"}"
            for (id, isKept) in [
                ("a-B_9.z", true), (String(repeating: "a", count: 64), true),
                (String(repeating: "a", count: 65), false), ("a b", false), ("a\"", false),
            ] {
                let response = try client.ask(Self.post(json, "X-Correlation-Id: \(id)\r\n"))
                let found = response.field("x-correlation-id")
                #expect(found?.isEmpty == false)
                #expect((found == id.lowercased()) == isKept)
            }
        }
    }
}
