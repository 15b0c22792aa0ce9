import Assay
import AssayBytes
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Questions that are wrong whatever the evidence is, at every entry point: INVALID_ARGUMENT with
/// one text, beside the neighbours that are accepted.
@Suite("Questions", .timeLimit(.minutes(2))) struct QuestionTests {
    struct Case: Sendable {
        var expectations = Expectations.none
        var policy = EntitlementPolicy()
        var at: Int64?
        /// A part of the text; nil for an accepted question.
        var text: String?
    }

    private static let account = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
    private static let first: Int64 = 1_199_145_600_000
    private static let last: Int64 = 253_402_300_799_999

    private static func known(_ at: Int64) -> EntitlementPolicy {
        var policy = EntitlementPolicy()
        policy.knownAt = Timestamp(milliseconds: at)
        return policy
    }

    private static func of(_ account: String) -> EntitlementPolicy {
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = account
        return policy
    }

    private static func environments(_ names: String...) -> Expectations {
        Expectations(environments: names.map { StoreEnvironment(rawValue: $0) })
    }

    /// What Verify and Resolve expect of evidence.
    static let expected: [Case] = [
        Case(expectations: environments("Sandbox")),
        Case(
            expectations: environments("sandbox"),
            text: #""sandbox" is not an environment: did you mean "Sandbox"?"#),
        Case(
            expectations: environments("Sandbox", "staging"),
            text: #""staging" is not an environment: write one of Production, Sandbox, Xcode"#),
        Case(expectations: environments(""), text: #""" is not an environment"#),
        Case(expectations: Expectations(appAccountToken: account)),
        Case(expectations: Expectations(appAccountToken: account.uppercased())),
        Case(
            expectations: Expectations(appAccountToken: "user-123"),
            text: #"the expected app account token is not a UUID, as every appAccountToken of "#
                + #"the App Store is: "user-123""#),
        Case(expectations: Expectations(appAccountToken: ""), text: "appAccountToken is empty"),
        Case(
            expectations: Expectations(appAccountToken: account + "0"), text: "is not a UUID"),
        Case(expectations: Expectations(notOlderThan: Timestamp(milliseconds: first))),
        Case(
            expectations: Expectations(notOlderThan: Timestamp(milliseconds: 1_767_225_600)),
            text: "notOlderThan is 1767225600: write milliseconds since 1970"),
    ]

    /// What Resolve and Fetch decide by.
    static let decided: [Case] = [
        Case(at: first), Case(at: last),
        Case(at: first - 1, text: "of the years 2008 to 9999"),
        Case(at: last + 1, text: "of the years 2008 to 9999"),
        Case(
            at: 1_767_225_600,
            text: "at is 1767225600: write milliseconds since 1970, of the years 2008 to 9999; "
                + "as seconds, which it seems to be, it is 2026-01-01T00:00:00Z"),
        Case(at: .min, text: "at is -9223372036854775808"),
        Case(policy: known(first)), Case(policy: known(last)),
        Case(policy: known(first - 1), text: "knownAt is 1199145599999"),
        Case(policy: known(.max), text: "knownAt is 9223372036854775807"),
        Case(policy: of(account)), Case(policy: of("user-123"), text: "is not a UUID"),
    ]

    // MARK: Frames and calls

    /// The answer to a call: by frames, and as a unary call of Connect.
    private func answers(
        _ call: RequestHead.Call, _ body: [UInt8], _ path: String, _ server: SimulatedServer
    ) throws -> [ResponseHead?] {
        let peer = server.connect()
        peer.send(RawClient.frame(RequestHead(id: 7, call: call), body))
        server.runUntilIdle()
        let codec = MessageCodec()
        let frame = peer.receive()
        guard frame.count > 8 else { return [nil] }
        let length = frame[4..<8].reduce(0) { $0 << 8 | Int($1) }
        let framed = try codec.decodeResponse(Array(frame[8..<8 + length]).span)
        var message: [UInt8] = []
        codec.encode(RequestHead(id: 7, call: call), into: &message)
        var evidence = MessageBuilder()
        var rest = body[...]
        // A call of the services has each item in a field of its own.
        var sizes = [UInt32(body.count)]
        if case .resolve(let resolve) = call { sizes = resolve.items.map(\.length) }
        for size in sizes where size > 0 {
            evidence.set(RPCBytes.evidenceField, bytes: Array(rest.prefix(Int(size))))
            rest = rest.dropFirst(Int(size))
        }
        let response = SimulatedCaller(server).ask(
            RPCBytes.post(
                .proto, message + evidence.bytes, path: "/assay.v1.Verifier/" + path))
        let code = response?.member("code")
        let unary = ResponseHead(
            id: 7,
            status: response?.status == 200
                ? .ok : code == "invalid_argument" ? .invalidArgument : .unknown,
            message: response?.member("message") ?? "")
        return [framed, unary]
    }

    private func expectSame(
        _ expected: Case, _ call: RequestHead.Call, _ body: [UInt8], _ path: String,
        _ server: SimulatedServer
    ) throws {
        for answer in try answers(call, body, path, server) {
            guard let text = expected.text else {
                #expect(answer?.status == .ok, "\(expected)")
                continue
            }
            #expect(answer?.status == .invalidArgument, "\(expected)")
            #expect(answer?.message.contains(text) == true, "\(answer?.message ?? "none")")
        }
    }

    @Test("expectations of Verify and Resolve, of a named kind and of a detected one")
    func expectations() throws {
        let server = try SimulatedServer()
        let token = try Minted.transaction.get()
        for expected in Self.expected {
            let verify = VerifyCall(kind: .transaction, expectations: expected.expectations)
            try expectSame(expected, .verify(verify), token, "Verify", server)
            for kind in [ResolveCall.Kind.named(.transaction), .detected] {
                let item = ResolveCall.Item(kind, length: UInt32(token.count))
                let call = ResolveCall(items: [item], expectations: expected.expectations)
                try expectSame(expected, .resolve(call), token, "Resolve", server)
            }
        }
    }

    @Test("the moment and the policy of Resolve and Fetch")
    func decisions() throws {
        let server = try SimulatedServer { $0.ask(ScriptedFetcher(ScriptedFetcher.answer)) }
        let token = try Minted.transaction.get()
        for expected in Self.decided {
            let at = expected.at.map(Timestamp.init)
            for kind in [ResolveCall.Kind.named(.transaction), .detected] {
                let item = ResolveCall.Item(kind, length: UInt32(token.count))
                let call = ResolveCall(items: [item], at: at, policy: expected.policy)
                try expectSame(expected, .resolve(call), token, "Resolve", server)
            }
            let fetch = FetchCall(of: "470001", at: at, policy: expected.policy)
            try expectSame(expected, .fetch(fetch), [], "Fetch", server)
        }
    }

    @Test("an account of Google Play is any text")
    func otherStores() throws {
        let minter = try StoreMinter()
        let server = try SimulatedServer(googleKeyOf: minter)
        let purchase = try minter.sign(
            Samples.googlePurchase(
                index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
                signedDate: Minted.now, state: 0), .google)
        let token = try Minted.transaction.get()
        let account = Expectations(appAccountToken: "user-123")
        let verify = VerifyCall(kind: .googlePurchase, expectations: account)
        try expectSame(Case(), .verify(verify), purchase, "Verify", server)
        // Of both stores: the text is wrong for one.
        for (items, isWrong) in [([purchase], false), ([purchase, token], true)] {
            let call = ResolveCall(
                items: items.map { ResolveCall.Item(length: UInt32($0.count)) },
                policy: Self.of("user-123"))
            try expectSame(
                Case(text: isWrong ? "is not a UUID" : nil), .resolve(call), items.flatMap(\.self),
                "Resolve", server)
        }
        let caller = SimulatedCaller(server)
        for (evidence, status) in [(purchase, 200), (token, 400)] {
            let target = "/v1/verify?kind=auto&app-account-token=user-123"
            let response = caller.ask(HTTPClient.post(target, evidence))
            #expect(response?.status == status)
            #expect((response?.member("detail") ?? "").contains("is not a UUID") == (status == 400))
        }
    }

    // MARK: HTTP

    @Test("the query and the JSON of HTTP: 400, and the same texts")
    func http() throws {
        let server = try SimulatedServer { $0.ask(ScriptedFetcher(ScriptedFetcher.answer)) }
        let caller = SimulatedCaller(server)
        let token = try Minted.transaction.get()
        let text = String(decoding: token, as: UTF8.self)
        let queries: [(String, String, String?)] = [
            ("environment=Sandbox", #""environments":["Sandbox"]"#, nil),
            (
                "environment=sandbox", #""environments":["sandbox"]"#,
                #""sandbox" is not an environment: did you mean "Sandbox"?"#
            ),
            (
                "environment=x", #""environments":["x"]"#,
                "write one of Production, Sandbox, Xcode, LocalTesting, Unspecified"
            ),
            (
                "app-account-token=\(Self.account)", #""appAccountToken":"\#(Self.account)""#,
                nil
            ),
            ("app-account-token=user-123", #""appAccountToken":"user-123""#, "is not a UUID"),
            ("not-older-than=1767225600", #""notOlderThan":1767225600"#, "notOlderThan is"),
        ]
        for (query, json, problem) in queries {
            let body = #"{"kind":"transaction","evidence":"\#(text)","expectations":{\#(json)}}"#
            let items = #"{"items":[{"evidence":"\#(text)"}],"expectations":{\#(json)}}"#
            for request in [
                HTTPClient.post("/v1/verify?kind=transaction&" + query, token),
                HTTPClient.post("/v1/verify?kind=auto&" + query, token),
                HTTPClient.post("/v1/verify", json: body),
                HTTPClient.post("/v1/entitlements", json: items),
            ] {
                try expect(caller.ask(request), problem, query)
            }
        }
        let members: [(String, String?)] = [
            (#""at":\#(Self.first)"#, nil), (#""at":1767225600"#, "at is 1767225600"),
            (#""policy":{"knownAt":\#(Self.last)}"#, nil),
            (#""policy":{"knownAt":1767225600}"#, "knownAt is 1767225600"),
            (#""policy":{"expectedAppAccountToken":"user-123"}"#, "is not a UUID"),
        ]
        for (json, problem) in members {
            let items = #"{"items":[{"evidence":"\#(text)"}],\#(json)}"#
            try expect(
                caller.ask(HTTPClient.post("/v1/entitlements", json: items)), problem, json)
            let fetch = #"{"transactionId":"470001","app":"game",\#(json)}"#
            try expect(caller.ask(HTTPClient.post("/v1/fetch", json: fetch)), problem, json)
        }
    }

    private func expect(
        _ response: HTTPClient.Response?, _ problem: String?, _ question: String
    ) throws {
        let response = try #require(response)
        #expect(response.status == (problem == nil ? 200 : 400), "\(question): \(response.text)")
        guard let problem else { return }
        #expect(response.member("code") == "INVALID_ARGUMENT", "\(response.text)")
        #expect(response.member("detail")?.contains(problem) == true, "\(response.text)")
    }
}
