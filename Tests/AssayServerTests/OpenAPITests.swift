import Assay
import AssayBytes
import AssayEntitlements
import AssayHTTP
import AssayIO
import AssayMint
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
import AssayWire
import Foundation
import TestSupport
import Testing

/// `proto/openapi.json` against the code and against real answers.
@Suite("OpenAPI document", .ownThread, .serialized, .timeLimit(.minutes(2)))
struct OpenAPITests {
    private let document: JSONDocument
    private let schema: JSONSchema
    private var paths: JSONObject { document.root["paths"]!.members! }

    init() throws {
        document = try JSONDocument.parse(Array(openAPIText.utf8), limit: .max)
        schema = JSONSchema(document: document)
    }

    private func component(_ name: String) -> JSONValue {
        document.root["components"]!["schemas"]![name]!
    }

    private static func strings(_ value: JSONValue?) -> [String] {
        value?.elements?.compactMap(\.string) ?? []
    }

    private static func names(_ value: JSONValue?) -> [String] {
        value?.members?.pairs.map(\.0) ?? []
    }

    @Test("paths and methods are those of the listener")
    func routes() {
        #expect(
            Self.names(document.root["paths"]).sorted() == HTTPRoute.allCases.map(\.path).sorted())
        for route in HTTPRoute.allCases {
            let methods = Self.names(paths[route.path]).map { $0.uppercased() }
            let allowed = route.methods.split(separator: ", ").map(String.init)
            #expect(methods.sorted() == allowed.sorted(), "\(route)")
        }
        #expect(document.root["info"]?["version"]?.string == AssayVersion.current)
    }

    @Test("lists of values are those of the types")
    func values() {
        let kinds = EvidenceKind.allCases.map(\.name)
        let lists: [(String, [String])] = [
            ("Kind", kinds), ("KindOrAuto", kinds + ["auto"]),
            ("Verdict", (1...15).compactMap { Verdict(rawValue: $0)?.name }),
            (
                "KindOfAnyAccount",
                EvidenceKind.allCases.filter { $0.store != .apple }.map(\.name) + ["auto"]
            ),
            ("Environment", StoreEnvironment.known.map(\.rawValue)),
        ]
        for (name, values) in lists {
            #expect(Self.strings(component(name)["enum"]) == values, "\(name)")
        }
        #expect(Verdict(rawValue: 16) == nil)
        func enumeration(_ schema: String, _ member: String) -> [String] {
            Self.strings(component(schema)["properties"]?[member]?["enum"])
        }
        #expect(enumeration("Subscription", "status") == SubscriptionState.allCases.map(\.rawValue))
        #expect(
            enumeration("Problem", "code") == (0...16).compactMap { Status(rawValue: $0)?.name })
        let states: [HTTPPurchaseState] = [
            .entitled, .readyToConsume, .expired, .canceled, .inauthentic, .unknown,
        ]
        #expect(enumeration("PurchaseAnswer", "state") == states.map(\.rawValue))
    }

    @Test("statuses are those of the page about HTTP") func statuses() throws {
        var listed = Set<Int>()
        for (_, path) in paths.pairs {
            for (_, operation) in path.members!.pairs {
                listed.formUnion(Self.names(operation["responses"]).compactMap { Int($0) })
            }
        }
        let page = try String(
            contentsOfFile: Vectors.packageRoot + "/docs/http.md", encoding: .utf8)
        let table = page.split(separator: "\n## ").first { $0.hasPrefix("Statuses\n") }
        let rows = try #require(table).split(separator: "\n").filter { $0.hasPrefix("| ") }
        let described = rows.flatMap { row in
            row.split(separator: "|")[0].split { !$0.isNumber }.compactMap { Int($0) }
        }
        #expect(described.count == Set(described).count && described.count > 10)
        // Verdicts, and OPTIONS.
        #expect(Set(described) == listed.subtracting([200, 204]))
    }

    @Test("examples fit their schemas")
    func examples() {
        var count = 0
        for (location, media) in Self.mediaTypes(in: document.root, "") {
            guard let wanted = media["schema"] else { continue }
            var examples: [JSONValue] = []
            if let example = media["example"] { examples.append(example) }
            if let named = media["examples"]?.members {
                for (_, example) in named.pairs {
                    if let value = example["value"] { examples.append(value) }
                }
            }
            for example in examples {
                let faults = schema.faults(example, wanted)
                #expect(faults == [], "\(location)")
                count += 1
            }
        }
        #expect(count > 40)
    }

    /// The objects that have a schema, with their locations.
    private static func mediaTypes(
        in value: JSONValue, _ location: String
    ) -> [(location: String, media: JSONValue)] {
        guard let members = value.members else { return [] }
        var found: [(String, JSONValue)] = members["schema"] == nil ? [] : [(location, value)]
        for (name, value) in members.pairs { found += mediaTypes(in: value, location + "/" + name) }
        return found
    }

    /// The names that the listener lists for an unknown one.
    private static func names(in detail: String?) -> [String] {
        guard let detail, let colon = detail.firstRange(of: "s: ") else { return [] }
        return detail[colon.upperBound...].split(separator: ", ").map(String.init).sorted()
    }

    @Test("parameters and members are those that the listener accepts")
    func members() throws {
        try withHTTPServer {
            $0.ask(ScriptedFetcher(ScriptedFetcher.answer))
        } _: { _, endpoint in
            let client = try HTTPClient(endpoint)
            let query = try client.ask(HTTPClient.post("/v1/verify?zz=1", [0x41]))
            let parameters = paths["/v1/verify"]!["post"]!["parameters"]!.elements!
            #expect(
                parameters.compactMap { $0["name"]?.string }.sorted()
                    == Self.names(in: query.member("detail")))
            let bodies: [(String, String, JSONValue)] = [
                ("/v1/verify", "{\"zz\":1}", component("VerifyRequest")),
                ("/v1/verify", "{\"expectations\":{\"zz\":1}}", component("Expectations")),
                ("/v1/entitlements", "{\"items\":[],\"zz\":1}", component("EntitlementsRequest")),
                ("/v1/entitlements", "{\"items\":[],\"policy\":{\"zz\":1}}", component("Policy")),
                ("/v1/fetch", "{\"transactionId\":\"1\",\"zz\":1}", component("FetchRequest")),
                (
                    "/v1/entitlements", "{\"items\":[{\"zz\":1}]}",
                    component("EntitlementsRequest")["properties"]!["items"]!["items"]!
                ),
            ]
            for (path, body, schema) in bodies {
                let answer = try client.ask(HTTPClient.post(path, json: body))
                let names = Self.names(in: answer.member("detail"))
                #expect(Self.names(schema["properties"]).sorted() == names, "\(body)")
                #expect(names.count > 2)
                #expect(schema["additionalProperties"]?.bool == false)
            }
        }
    }

    /// Requests that expect an account, with what they name it.
    private static let accountQuestions: [(path: String, schema: String, kind: String)] = [
        ("/v1/verify", "VerifyRequest", "transaction"),
        ("/v1/verify", "VerifyRequest", "google-purchase"),
        ("/v1/entitlements", "EntitlementsRequest", "transaction"),
        ("/v1/entitlements", "EntitlementsRequest", "google-purchase"),
        ("/v1/entitlements", "EntitlementsRequest", "auto"),
        ("/v1/fetch", "FetchRequest", ""),
    ]

    private static func bodies(_ path: String, kind: String, account: String) -> [String] {
        let evidence = #""kind":"\#(kind)","evidence":"AAAA""#
        let expectations = #""expectations":{"appAccountToken":"\#(account)"}"#
        let policy = #""policy":{"expectedAppAccountToken":"\#(account)"}"#
        return switch path {
        case "/v1/verify": ["{\(evidence),\(expectations)}"]
        case "/v1/fetch": [#"{"transactionId":"1","app":"game",\#(policy)}"#]
        default: [expectations, policy].map { "{\"items\":[{\(evidence)}],\($0)}" }
        }
    }

    @Test("an account of the App Store is a UUID, in the document and for the listener")
    func accounts() throws {
        let accounts = [
            "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10", "7E3FB204-2A9C-4B1F-9C57-0C3C5F1E2A10",
            "00000000-0000-0000-0000-000000000000",
            // Rejected neighbours.
            "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a1", "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a100",
            "7e3fb2042a9c4b1f9c570c3c5f1e2a10", "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a1g",
            "{7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10}", "user-123", "",
        ]
        try withHTTPServer {
            $0.ask(ScriptedFetcher(ScriptedFetcher.answer))
        } _: { _, endpoint in
            let client = try HTTPClient(endpoint)
            for (path, name, kind) in Self.accountQuestions {
                for (index, account) in accounts.enumerated() {
                    for body in Self.bodies(path, kind: kind, account: account) {
                        let answer = try client.ask(HTTPClient.post(path, json: body))
                        let text = try JSONDocument.parse(Array(body.utf8))
                        let faults = schema.faults(text.root, component(name))
                        #expect(
                            (answer.status == 400) == !faults.isEmpty,
                            "\(body): \(answer.status) \(faults)")
                        let isOfAny = kind == "google-purchase" || kind == "auto"
                        #expect(faults.isEmpty == (index < 3 || isOfAny && account != ""))
                    }
                }
            }
        }
    }

    private static let key = "key-0123456789abcdef"

    /// A request, and the status that it gets. With a long body only the head is sent.
    private typealias Case = (path: String, method: String, request: [UInt8], status: Int)

    private static func successes() throws -> [Case] {
        let transaction = try Minted.transaction.get()
        let token = String(decoding: transaction, as: UTF8.self)
        let der = try Minted.receipt(bytes: 3_000)
        let receipt = Base64.encode(der.span)
        let quoted = String(decoding: receipt, as: UTF8.self)
        var cases: [Case] = []
        func post(_ path: String, _ query: String = "", _ body: [UInt8]) {
            cases.append((path, "post", HTTPClient.post(path + query, body), 200))
        }
        func post(_ path: String, json: String, _ fields: String = "") {
            cases.append((path, "post", HTTPClient.post(path, json: json, fields), 200))
        }
        for kind in Minted.jwsKinds {
            let token = try Minted.token(kind)
            post("/v1/verify", "?kind=\(kind.name)", token)
        }
        post("/v1/verify", "?kind=app-receipt&returns=verify-receipt", receipt)
        post("/v1/verify", "?kind=auto", [0x41])
        for path in ["/verifyReceipt", "/sandbox/verifyReceipt"] {
            for receipt in [quoted, "AAAA"] {
                post(path, json: "{\"receipt-data\":\"\(receipt)\"}")
            }
            post(path, json: "{")
        }
        let purchase = "{\"store\":\"apple\",\"jws\":\"\(token)\",\"includeClientPayload\":true}"
        for path in ["/v1/purchase/verify", "/v1/verify-purchase"] {
            post(path, json: purchase, "Authorization: Bearer \(key)\r\n")
        }
        let items = "{\"items\":[{\"evidence\":\"\(token)\"},{\"evidence\":\"\(quoted)\"}]}"
        post("/v1/entitlements", json: items)
        post("/v1/fetch", json: "{\"transactionId\":\"1\"}")
        for kind in SignatureKind.allCases {
            post(
                "/v1/sign/" + kind.rawValue, json: "{\"x\":1}",
                "Authorization: Bearer \(key)\r\n")
        }
        let request = String(decoding: try Minted.token(.realtimeRequest), as: UTF8.self)
        post(
            "/v1/sign/retention-answer", json: "{\"signedPayload\":\"\(request)\",\"answer\":{}}",
            "Authorization: Bearer \(key)\r\n")
        for path in ["/v1/health", "/v1/info", "/v1/openapi.json"] {
            cases.append((path, "get", Array(HTTPClient.get(path).utf8), 200))
        }
        return cases
    }

    private static func failures() -> [Case] {
        HTTPRoute.allCases.flatMap { route -> [Case] in
            let (path, method) = (route.path, route.isRead ? "get" : "post")
            func request(_ target: String, _ fields: String) -> [UInt8] {
                Array("\(method.uppercased()) \(target) HTTP/1.1\r\n\(fields)\r\n".utf8)
            }
            let host = "Host: localhost\r\n"
            let long = String(repeating: "a", count: 17 << 10)
            let target = path + "?" + long.prefix(9 << 10)
            var cases: [Case] = [
                (path, method, request(path, ""), 400),
                // Probes have any name for the server.
                (
                    path, method, request(path, "Host: example.com\r\n"),
                    path == "/v1/health" ? 200 : 403
                ),
                (path, method, request(path, host + "Origin: https://example.com\r\n"), 403),
                (path, method, request(path, host + "Expect: tea\r\n"), 417),
                (path, method, request(path, host + "A: \(long)\r\n"), 431),
                (path, method, request(target, host), 414),
                (
                    path, method,
                    Array("\(method.uppercased()) \(path) HTTP/3.0\r\n\(host)\r\n".utf8), 505
                ),
            ]
            let isApple = path.hasSuffix("Receipt")
            for other in ["PUT", "DELETE", "PATCH", route.isRead ? "POST" : "GET"] {
                let request = "\(other) \(path) HTTP/1.1\r\n\(host)\r\n"
                cases.append((path, method, Array(request.utf8), isApple ? 200 : 405))
            }
            guard !route.isRead else { return cases }
            let isPurchase = route.path.contains("purchase") || route.path.contains("/sign/")
            let key = host + (isPurchase ? "Authorization: Bearer \(Self.key)\r\n" : "")
            let json = key + "Content-Type: application/json\r\n"
            let gzip = "Content-Encoding: gzip\r\nContent-Length: 2\r\n"
            cases.append((path, method, request(path, json + gzip), isApple ? 200 : 415))
            if isPurchase { cases.append((path, method, request(path, host), 401)) }
            if route != .batch {
                // Apple's paths have the limit of receipts, and Apple's answer above it.
                let length = "Content-Length: \(isApple ? 100_000_000 : 5_000_000)\r\n"
                cases.append((path, method, request(path, json + length), isApple ? 200 : 413))
            }
            if isApple || route == .entitlements {
                // Evidence, so that entitlements are asked of something.
                let evidence = Array("{\"signedPayload\":\"a\"}".utf8)
                let body = "Content-Length: \(evidence.count)\r\n"
                let named = request(path + "?app=other", json + body) + evidence
                cases.append((path, method, named, isApple ? 200 : 404))
            }
            return cases
        }
    }

    @Test("real answers have the statuses, types and shapes of the document")
    func answers() throws {
        let cases = try Self.successes() + Self.failures()
        let verifier = try Minted.verifier()
        try withHTTPServer {
            $0.apps["game"] = AppEntry(
                verifier: verifier, policy: Minted.policy,
                secrets: AppSecrets(apiKeys: [Self.key], signKeys: [Self.key]),
                fetcher: ScriptedFetcher(ScriptedFetcher.answer), signer: ScriptedSigner())
            $0.defaultApp = "game"
        } _: { _, endpoint in
            for (path, method, request, status) in cases {
                let client = try HTTPClient(endpoint)
                let answer = try client.ask(request)
                #expect(answer.status == status, "\(path): \(answer.text.prefix(200))")
                expect(answer, fits: path, method)
            }
            let client = try HTTPClient(endpoint)
            let answer = try client.ask(HTTPClient.get("/v1/openapi.json"))
            #expect(answer.body == Array(openAPIText.utf8).compactJSON + [0x0A])
        }
    }

    /// Checks type, shape and fields of an answer.
    private func expect(_ answer: HTTPClient.Response, fits path: String, _ method: String) {
        let location = "\(method) \(path) \(answer.status)"
        guard let operation = paths[path]?[method],
            let listed = operation["responses"]?[String(answer.status)]
        else {
            Issue.record("\(location) is not in the document")
            return
        }
        let response = schema.resolved(listed)
        let type = answer.field("content-type") ?? ""
        guard let wanted = response["content"]?[type]?["schema"],
            let body = try? JSONDocument.parse(answer.body, limit: .max)
        else {
            Issue.record("\(location): \(type)")
            return
        }
        let faults = schema.faults(body.root, wanted)
        #expect(faults == [], "\(location)")
        guard let fields = response["headers"]?.members else { return }
        for (name, _) in fields.pairs {
            let value = answer.field(name.lowercased())
            #expect(value != nil, "\(location) \(name)")
        }
    }
}
