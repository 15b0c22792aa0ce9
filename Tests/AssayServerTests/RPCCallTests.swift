import Assay
import AssayBytes
import AssayEntitlements
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Resolve, Fetch, Info and Health as calls over HTTP/1.1, of a simulated server.
@Suite("Calls of the services") struct RPCCallTests {
    @Test("Resolve: each item of evidence, with a description of each or without any")
    func resolve() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        func request(_ labels: [String]) -> [UInt8] {
            var call = MessageBuilder()
            for label in labels {
                var item = MessageBuilder()
                item.set(3, text: label)
                call.set(1, bytes: item.bytes)
            }
            var message = MessageBuilder()
            message.set(10, bytes: call.bytes)
            message.set(RPCBytes.evidenceField, bytes: token)
            message.set(RPCBytes.evidenceField, bytes: Minted.tampered(token))
            return message.bytes
        }
        let path = "/assay.v1.Verifier/Resolve"
        for labels in [["a", "b"], []] {
            let body = caller.ask(RPCBytes.post(.proto, request(labels), path: path))?.body ?? []
            guard
                case .resolution(let resolution) = try MessageCodec().decodeResponse(body.span)
                    .result
            else {
                Issue.record("no resolution")
                return
            }
            #expect(resolution.items.map(\.verification.verdict) == [.valid, .invalidSignature])
            #expect(resolution.items.compactMap(\.label) == labels)
        }
        let one = caller.ask(RPCBytes.post(.proto, request(["a"]), path: path))
        #expect(one?.member("code") == "invalid_argument")
        let none = caller.ask(RPCBytes.post(.proto, [], path: path))
        #expect(none?.member("code") == "invalid_argument")
    }

    @Test("Resolve: one customer with purchases of Apple and Google, paid and pending")
    func resolveStores() throws {
        let minter = try StoreMinter()
        let server = try SimulatedServer(googleKeyOf: minter)
        func purchase(_ index: Int, _ product: String, _ state: Int64) throws -> [UInt8] {
            let text = Samples.googlePurchase(
                index: index, bundleId: Minted.bundleId, productId: product,
                environment: .sandbox, signedDate: Minted.now, state: state)
            return try minter.sign(text, .google)
        }
        let items: [(EvidenceKind, [UInt8])] = [
            (.googlePurchase, try purchase(1, "gold", 0)), (.transaction, try Minted.period(1)),
            (.googlePurchase, try purchase(2, "silver", 4)),
        ]
        var call = MessageBuilder()
        for (kind, _) in items {
            var item = MessageBuilder()
            item.set(1, varint: UInt64(kind.rawValue))
            call.set(1, bytes: item.bytes)
        }
        var message = MessageBuilder()
        message.set(10, bytes: call.bytes)
        for (_, evidence) in items { message.set(RPCBytes.evidenceField, bytes: evidence) }
        let request = RPCBytes.post(.proto, message.bytes, path: "/assay.v1.Verifier/Resolve")
        let body = SimulatedCaller(server).ask(request)?.body ?? []
        guard
            case .resolution(let resolution) =
                try MessageCodec().decodeResponse(body.span).result
        else {
            Issue.record("no resolution")
            return
        }
        #expect(resolution.items.map(\.verification.verdict) == [.valid, .valid, .valid])
        #expect(
            resolution.items.map(\.verification.state) == [.purchased, nil, .pending])
        let apps = resolution.entitlements.apps
        // Google Play's evidence has no environment: such an entry comes last.
        #expect(apps.map(\.store) == [.apple, .google])
        #expect(apps.first?.subscriptionGroups.count == 1)
        let products = apps.last?.nonConsumables ?? []
        #expect(products.map(\.productId) == ["gold", "silver"])
        #expect(products.map(\.isEntitled) == [true, false])
    }

    @Test("Fetch: the answer of the App Store, with a key where entries have keys")
    func fetch() throws {
        let (key, otherKey) = ("key-0123456789abcdef", "other-0123456789abcdef")
        let (path, fetcher) = ("/assay.v1.Verifier/Fetch", ScriptedFetcher(ScriptedFetcher.answer))
        let verifier = try Minted.verifier()
        let server = try SimulatedServer { configuration in
            for (name, key) in [("game", key), ("other", otherKey)] {
                configuration.apps[name] = AppEntry(
                    verifier: verifier, policy: Minted.policy,
                    secrets: AppSecrets(fetchKeys: [key]), fetcher: fetcher)
            }
        }
        let caller = SimulatedCaller(server)
        func ask(_ key: String?, app: String?) -> HTTPClient.Response? {
            var call = MessageBuilder()
            call.set(1, text: "470001500000001")
            var message = MessageBuilder()
            if let app { message.set(4, text: app) }
            message.set(11, bytes: call.bytes)
            let field = key.map { "Authorization: Bearer \($0)\r\n" } ?? ""
            return caller.ask(RPCBytes.post(.proto, message.bytes, field, path: path))
        }
        for app in [nil, "game"] {
            let body = ask(key, app: app)?.body ?? []
            guard case .fetched(let fetched) = try MessageCodec().decodeResponse(body.span).result
            else {
                Issue.record("no answer")
                return
            }
            #expect(
                fetched.revision == "r1" && fetched.items.map(\.verification.verdict) == [.valid])
        }
        #expect(fetcher.asked.count == 2)
        #expect(ask(key, app: "other")?.member("code") == "permission_denied")
        #expect(ask(nil, app: nil)?.member("code") == "unauthenticated")
        #expect(ask("wrong", app: nil)?.member("code") == "unauthenticated")
        #expect(fetcher.asked.count == 2)
        // Evidence instead of an identifier.
        let field = "Authorization: Bearer \(key)\r\n"
        for (evidence, code) in [
            (try Minted.period(1), nil), (Array("a.b.c".utf8), "invalid_argument"),
        ] as [([UInt8], String?)] {
            var message = MessageBuilder()
            message.set(RPCBytes.evidenceField, bytes: evidence)
            let answer = caller.ask(RPCBytes.post(.proto, message.bytes, field, path: path))
            #expect(answer?.member("code") == code, "\(answer?.text ?? "")")
        }
        #expect(fetcher.asked.map(\.query.transactionId).dropFirst(2) == ["47001"])
    }

    @Test("Info and Health, by POST and by Connect's GET")
    func reading() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let info = "/assay.v1.Verifier/Info"
        let health = "/grpc.health.v1.Health/Check"
        func text(_ request: [UInt8]) -> String? { caller.ask(request)?.text }
        func get(_ target: String) -> String? {
            text(Array(HTTPClient.get(target, "Connect-Protocol-Version: 1\r\n").utf8))
        }
        #expect(
            get("\(info)?connect=v1&encoding=json&message=%7B%7D")?
                .hasPrefix(#"{"info":{"version":"test","kinds":["EVIDENCE_KIND_TRANSACTION""#)
                == true)
        let proto = caller.ask(RPCBytes.post(.proto, [], path: info))?.body ?? []
        guard case .info(let facts) = try MessageCodec().decodeResponse(proto.span).result else {
            Issue.record("no facts")
            return
        }
        #expect(facts.version == "test")

        let serving = #"{"status":"SERVING"}"#
        #expect(text(RPCBytes.post(.json, Array("{}".utf8), path: health)) == serving)
        #expect(
            get("\(health)?encoding=json&message=%7B%22service%22:%22assay.v1.Verifier%22%7D")
                == serving)
        // HealthCheckRequest { service: "assay.v1.Verifier" }
        var request = MessageBuilder()
        request.set(1, text: "assay.v1.Verifier")
        let base64 = String(decoding: Base64URL.encode(request.bytes.span), as: UTF8.self)
        for message in [base64, base64 + "%3D"] {
            #expect(get("\(health)?encoding=proto&base64=1&message=\(message)") == "\u{8}\u{1}")
        }
        request = MessageBuilder()
        request.set(1, text: "assay.v2.Verifier")
        #expect(
            RPCTestForm.web.answer(
                caller.ask(RPCBytes.post(.web, RPCBytes.frame(request.bytes), path: health))
            ).code == 5)
        for query in [
            "", "?encoding=json", "?encoding=xml&message=", "?encoding=json&message=",
            "?encoding=json&message=%7B%7D&connect=v2", "?encoding=proto&message=*&base64=1",
            "?encoding=json&message=%7B%7D&compression=gzip", "?encoding=json&message=%zz",
        ] {
            let status = caller.ask(HTTPClient.get(health + query))?.status ?? 0
            #expect((400...501).contains(status), "\(query) \(status)")
            #expect((status == 415) == query.contains("xml"), "\(query) \(status)")
        }
        server.drain()
        let late = SimulatedCaller(server)
        #expect(late.ask(RPCBytes.post(.json, Array("{}".utf8), path: health)) == nil)
        let draining = text(RPCBytes.post(.json, Array("{}".utf8), path: health))
        #expect(draining == #"{"status":"NOT_SERVING"}"#)
        let token = try Minted.transaction.get()
        let refusal = caller.ask(RPCBytes.post(.json, RPCTestForm.json.body(token)))
        #expect(refusal?.status == 503 && refusal?.member("code") == "unavailable")
        #expect(refusal?.text.contains("google.rpc.RetryInfo") == true)
    }

    @Test("Health lists the state of every service")
    func healthList() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let path = "/grpc.health.v1.Health/List"
        func post(_ json: String) -> String? {
            caller.ask(RPCBytes.post(.json, Array(json.utf8), path: path))?.text
        }
        func all(_ state: String) -> String {
            let services = RPCMethod.services.map { name in
                "\"\(name)\":{\"status\":\"\(state)\"}"
            }
            return "{\"statuses\":{" + services.joined(separator: ",") + "}}"
        }
        #expect(post("{}") == all("SERVING"))
        let query = "?encoding=json&message=%7B%7D"
        #expect(caller.ask(HTTPClient.get(path + query))?.text == all("SERVING"))
        // HealthListResponse: an entry has the name, and a HealthCheckResponse.
        let states = caller.ask(RPCBytes.post(.proto, [], path: path))?.body ?? []
        #expect(RPCBytes.bytes(1, of: states) == [0x0A, 0, 0x12, 2, 8, 1])
        #expect(post(#"{"service":""}"#)?.contains("unknown member") == true)
        server.drain()
        #expect(post("{}") == all("NOT_SERVING"))
    }
}
