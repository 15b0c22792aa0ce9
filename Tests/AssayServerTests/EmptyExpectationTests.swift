import Assay
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// An expectation that is present and empty, at every entry point: INVALID_ARGUMENT with one text.
/// Assay's clients refuse it themselves; one that a generator made sends it.
@Suite("Empty expectations", .timeLimit(.minutes(2))) struct EmptyExpectationTests {
    private static let account = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

    private static func policy(_ account: String?) -> EntitlementPolicy {
        var policy = EntitlementPolicy()
        policy.expectedAppAccountToken = account
        return policy
    }

    private static func resolve(
        _ token: [UInt8], _ expectations: Expectations = .none,
        _ policy: EntitlementPolicy = EntitlementPolicy()
    ) -> RequestHead.Call {
        .resolve(
            ResolveCall(
                items: [ResolveCall.Item(length: UInt32(token.count))], policy: policy,
                expectations: expectations))
    }

    /// Calls with the member that is empty; nil for one that is accepted.
    private static func calls(_ token: [UInt8]) -> [(RequestHead.Call, String?)] {
        let expected: [(Expectations, String?)] = [
            (Expectations(bundleId: ""), "bundleId"),
            (Expectations(bundleId: Minted.bundleId, appAccountToken: ""), "appAccountToken"),
            (Expectations(transactionId: ""), "transactionId"),
            (Expectations(deviceIdentifier: []), "deviceIdentifier"),
            (Expectations(deviceVerificationId: ""), "deviceVerificationId"),
            (Expectations(productIds: ["gold", ""]), "productIds[1]"),
            (Expectations(otherDeviceIdentifiers: [[]]), "otherDeviceIdentifiers[0]"),
            (.none, nil), (Expectations(bundleId: Minted.bundleId), nil),
            (Expectations(bundleId: "other", appAccountToken: account), nil),
        ]
        var calls: [(RequestHead.Call, String?)] = expected.flatMap { expectations, name in
            let verify = VerifyCall(kind: .transaction, expectations: expectations)
            return [(.verify(verify), name), (resolve(token, expectations), name)]
        }
        for (account, name) in [("", "appAccountToken"), (account, nil), (nil, nil)] {
            let policy = policy(account)
            calls.append((resolve(token, .none, policy), name))
            calls.append((.fetch(FetchCall(of: "470001", policy: policy)), name))
        }
        return calls
    }

    private static func text(_ name: String) -> String {
        "the expected \(name) is empty: give a value, or leave it out to accept any"
    }

    private func server() throws -> SimulatedServer {
        try SimulatedServer { $0.ask(ScriptedFetcher(ScriptedFetcher.answer)) }
    }

    @Test("frames")
    func frames() throws {
        let server = try server()
        let token = try Minted.transaction.get()
        for (call, name) in Self.calls(token) {
            let peer = server.connect()
            let isFetch = if case .fetch = call { true } else { false }
            peer.send(RawClient.frame(RequestHead(id: 7, call: call), isFetch ? [] : token))
            server.runUntilIdle()
            let frame = peer.receive()
            try #require(frame.count > 8)
            let length = frame[4..<8].reduce(0) { $0 << 8 | Int($1) }
            let answer = try MessageCodec().decodeResponse(Array(frame[8..<8 + length]).span)
            #expect(answer.status == (name == nil ? .ok : .invalidArgument), "\(call)")
            if let name { #expect(answer.message == Self.text(name)) }
        }
    }

    @Test("Connect, whose request gRPC has as well")
    func connect() throws {
        let caller = SimulatedCaller(try server())
        let token = try Minted.transaction.get()
        for (call, name) in Self.calls(token) {
            var message: [UInt8] = []
            MessageCodec().encode(RequestHead(id: 7, call: call), into: &message)
            var evidence = MessageBuilder()
            var path = "Fetch"
            if case .verify = call { path = "Verify" }
            if case .resolve = call { path = "Resolve" }
            if path != "Fetch" { evidence.set(RPCBytes.evidenceField, bytes: token) }
            let request = RPCBytes.post(
                .proto, message + evidence.bytes, path: "/assay.v1.Verifier/" + path)
            let answer = try #require(caller.ask(request))
            #expect(answer.status == (name == nil ? 200 : 400), "\(call)")
            guard let name else { continue }
            #expect(answer.member("code") == "invalid_argument")
            #expect(answer.member("message") == Self.text(name))
        }
    }

    @Test("the query and the JSON of HTTP")
    func http() throws {
        let caller = SimulatedCaller(try server())
        let token = try Minted.transaction.get()
        let text = String(decoding: token, as: UTF8.self)
        for (query, json, name) in [
            ("bundle-id=", #""bundleId":"""#, "bundleId"),
            ("app-account-token=", #""appAccountToken":"""#, "appAccountToken"),
            ("transaction-id=", #""transactionId":"""#, "transactionId"),
            ("product-id=gold&product-id=", #""productIds":["gold",""]"#, "productIds[1]"),
            (nil, #""productIds":[]"#, "productIds"), (nil, #""environments":[]"#, "environments"),
            (nil, #""deviceId":[]"#, "deviceId"),
            (
                "app-account-token=\(Self.account)", #""appAccountToken":"\#(Self.account)""#,
                nil
            ),
        ] as [(String?, String, String?)] {
            let body = #"{"kind":"transaction","evidence":"\#(text)","expectations":{\#(json)}}"#
            let items = #"{"items":[{"evidence":"\#(text)"}],"expectations":{\#(json)}}"#
            var requests = [
                HTTPClient.post("/v1/verify", json: body),
                HTTPClient.post("/v1/entitlements", json: items),
            ]
            for kind in query == nil ? [] : ["transaction", "auto"] {
                requests.append(
                    HTTPClient.post("/v1/verify?kind=\(kind)&\(query ?? "")", token))
            }
            for request in requests { try expect(caller.ask(request), name) }
        }
        let policy = #"{"items":[{"evidence":"\#(text)"}],"policy":{"expectedAppAccountToken":""}}"#
        try expect(
            caller.ask(HTTPClient.post("/v1/entitlements", json: policy)), "appAccountToken")
    }

    private func expect(_ response: HTTPClient.Response?, _ name: String?) throws {
        let response = try #require(response)
        guard let name else {
            #expect(response.status == 200, "\(response.text)")
            return
        }
        #expect(response.status == 400, "\(response.text)")
        #expect(response.member("code") == "INVALID_ARGUMENT")
        #expect(response.member("detail") == Self.text(name))
    }
}
