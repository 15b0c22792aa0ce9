import AssayClient
import AssayModels
import AssayWire
import TestSupport
import Testing

/// An expectation that is given and empty would accept the purchases of all others. The client
/// refuses it before it connects.
@Suite("Empty expectations", .timeLimit(.minutes(1))) struct EmptyExpectationTests {
    private static let table: [(Expectations, String?)] = [
        (Expectations(bundleId: ""), "bundleId"),
        (Expectations(bundleId: "a", appAccountToken: ""), "appAccountToken"),
        (Expectations(transactionId: ""), "transactionId"),
        (Expectations(deviceIdentifier: []), "deviceIdentifier"),
        (Expectations(deviceVerificationId: ""), "deviceVerificationId"),
        (Expectations(productIds: [""]), "productIds[0]"),
        (Expectations(otherDeviceIdentifiers: [[1], []]), "otherDeviceIdentifiers[1]"),
        (.none, nil), (Expectations(bundleId: "a"), nil),
        (
            Expectations(
                bundleId: "a", appAppleId: 0, environments: [.sandbox], productIds: ["gold"],
                appAccountToken: "b", transactionId: "1", deviceIdentifier: [0],
                otherDeviceIdentifiers: [[0]], deviceVerificationId: "c",
                notOlderThan: Timestamp(milliseconds: 0)), nil
        ),
    ]

    private typealias Ask = (Expectations, EntitlementPolicy) async throws(ClientError) -> Void

    /// The calls that have expectations, and those that have a policy.
    private func calls(of client: AssayClient) -> (expecting: [Ask], deciding: [Ask]) {
        let verify: Ask = { (expectations, _) async throws(ClientError) in
            let call = VerifyCall(kind: .transaction, expectations: expectations)
            _ = try await client.verify([1], call)
        }
        let resolve: Ask = { (expectations, policy) async throws(ClientError) in
            _ = try await client.resolve(
                [ResolveItem([1])], policy: policy, expecting: expectations)
        }
        let fetch: Ask = { (_, policy) async throws(ClientError) in
            _ = try await client.fetch(transactionId: "1", policy: policy)
        }
        let fetchByEvidence: Ask = { (_, policy) async throws(ClientError) in
            _ = try await client.fetch([1], policy: policy)
        }
        return ([verify, resolve], [resolve, fetch, fetchByEvidence])
    }

    private func error(
        of ask: Ask, _ expectations: Expectations, _ policy: EntitlementPolicy
    ) async -> ClientError? {
        do throws(ClientError) { try await ask(expectations, policy) } catch { return error }
        return nil
    }

    @Test("each member, in each call")
    func members() async throws {
        let nowhere = try AssayClient(address: .unix(path: "/nowhere"))
        defer { nowhere.close() }
        let calls = calls(of: nowhere)
        var (absent, empty, given) = (EntitlementPolicy(), EntitlementPolicy(), EntitlementPolicy())
        absent.expectedAppAccountToken = nil
        empty.expectedAppAccountToken = ""
        given.expectedAppAccountToken = "b"
        for (expectations, name) in Self.table {
            for ask in calls.expecting {
                check(await error(of: ask, expectations, absent), name)
            }
        }
        for (policy, name) in [(absent, nil), (empty, "appAccountToken"), (given, nil)] {
            for ask in calls.deciding { check(await error(of: ask, .none, policy), name) }
        }
    }

    private func check(_ error: ClientError?, _ name: String?) {
        guard let name else {
            #expect(error == .connectFailed(.notFound))
            return
        }
        let text = "the expected \(name) is empty: give a value, or leave it out to accept any"
        #expect(error?.reason == .invalidArgument && error?.message == text)
        #expect(error?.isRetryable == false)
    }
}
