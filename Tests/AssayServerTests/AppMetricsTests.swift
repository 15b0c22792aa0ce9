import Assay
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

@Suite(.ownThread, .serialized, .timeLimit(.minutes(1))) struct AppMetricsTests {
    /// Verdicts have the app of their request, and only configured apps are labels: a reload that
    /// removes one ends its series, and no total steps back.
    @Test func verdictsAreCountedByApp() throws {
        var first: ServerConfiguration?
        let admin = try SimulatedAdminTest {
            $0.apps["other"] = $0.apps["game"]?.with(Policy(bundleId: "com.example.other"))
            $0.defaultApp = "game"
            first = $0
        }
        defer { admin.end() }
        let token = try Minted.transaction.get()
        let client = try RawClient(admin.test.unix)
        let names = ["", "game", "game", "other", "nobody"]
        for (id, name) in names.enumerated() {
            try client.send(RawClient.verify(UInt64(id + 1), .transaction, token, app: name))
            _ = try client.receive()
        }
        func series(_ app: String, _ verdict: String) -> String {
            #"assay_verifications_total{kind="transaction",verdict=""# + verdict
                + #"",environment="Sandbox",app=""# + app + #""}"#
        }
        try admin.eventually {
            let metrics = try admin.metrics().filter { $0.key.hasPrefix("assay_verifications_") }
            return metrics == [series("game", "VALID"): 3, series("other", "WRONG_BUNDLE"): 1]
        }
        var second = try #require(first)
        second.apps["other"] = nil
        admin.test.server.reload(second)
        try client.send(RawClient.verify(9, .transaction, token, app: "game"))
        _ = try client.receive()
        try admin.eventually {
            let metrics = try admin.metrics().filter { $0.key.hasPrefix("assay_verifications_") }
            return metrics == [series("game", "VALID"): 4]
        }
        #expect(admin.test.server.metrics?.allVerdicts.total == 5)
        client.socket.close()
    }

    /// Verdicts of other stores have the labels of Apple's.
    @Test func verdictsOfOtherStoresAreCounted() throws {
        let (minter, ca) = (try StoreMinter(), try Minted.authority.get())
        let harmony = try Minter(ca.issueHarmonyChain(at: Minted.now))
        let trust = try TrustStore.apple.pinningHarmony(ca.rootCertificate)
        var policy = Minted.policy
        policy.google.keys = [try PurchaseKey(minter.publicKey)]
        policy.huawei.keys = policy.google.keys
        policy.harmonyApplicationIds = [Minted.bundleId]
        let admin = try SimulatedAdminTest {
            $0.apps["game"] = AppEntry(
                verifier: Verifier(trust: trust, keyTables: .never), policy: policy)
        }
        defer { admin.end() }
        let google = Samples.googlePurchase(
            index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
            signedDate: Minted.now)
        let huawei = Samples.huaweiPurchase(
            index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
            signedDate: Minted.now)
        let order = Samples.harmonyPurchase(
            index: 1, applicationId: Minted.bundleId, productId: "gold", environment: .sandbox,
            signedDate: Minted.now)
        let cases: [(EvidenceKind, [UInt8], labels: String)] = [
            (.googlePurchase, try minter.sign(google, .google), #""VALID",environment="none""#),
            (.huaweiPurchase, try minter.sign(huawei, .huawei), #""VALID",environment="Sandbox""#),
            (
                .huaweiPurchase, try minter.sign(google, .google),
                #""INVALID_SIGNATURE",environment="none""#
            ),
            (.harmonyPurchase, try harmony.sign(order), #""VALID",environment="Sandbox""#),
            (.harmonySubscription, try harmony.sign(order), #""WRONG_KIND",environment="none""#),
            (.googleNotification, google, #""MALFORMED",environment="none""#),
        ]
        let client = try RawClient(admin.test.unix)
        var expected: [String: Double] = [:]
        for (id, (kind, evidence, labels)) in cases.enumerated() {
            try client.send(RawClient.verify(UInt64(id + 1), kind, evidence))
            _ = try client.receive()
            let name = #"assay_verifications_total{kind="\#(kind.name)",verdict=\#(labels)"#
            expected[name + #",app="game"}"#] = 1
        }
        try admin.eventually {
            try admin.metrics().filter { $0.key.hasPrefix("assay_verifications_") } == expected
        }
        client.socket.close()
    }

    /// A server without configuration has one entry without a name.
    @Test func theUnnamedEntryIsAny() throws {
        let admin = try SimulatedAdminTest {
            $0.apps[""] = $0.apps.removeValue(forKey: "game")
            $0.defaultApp = ""
        }
        defer { admin.end() }
        let client = try RawClient(admin.test.unix)
        try client.send(RawClient.verify(1, .transaction, try Minted.transaction.get(), app: ""))
        _ = try client.receive()
        try admin.eventually {
            try admin.metrics().contains { $0.key.hasSuffix(#",app="any"}"#) && $0.value == 1 }
        }
        client.socket.close()
    }

    @Test func reloadsAreCounted() throws {
        var first: ServerConfiguration?
        let admin = try SimulatedAdminTest { first = $0 }
        defer { admin.end() }
        let configuration = try #require(first)
        func expect(_ applied: Double, _ failed: Double, _ isApplied: Double) throws {
            try admin.eventually {
                let metrics = try admin.metrics()
                return metrics[#"assay_reloads_total{result="applied"}"#] == applied
                    && metrics[#"assay_reloads_total{result="failed"}"#] == failed
                    && metrics["assay_last_reload_successful"] == isApplied
            }
        }
        try expect(0, 0, 1)
        admin.test.server.noteFailedReload(["line 1", "line 2"])
        try expect(0, 1, 0)
        admin.test.server.reload(configuration)
        try expect(1, 1, 1)
    }
}
