import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

@testable import AssayLocalStore

/// Notifications of version 1, beside those of version 2 or instead of them.
@Suite("local store: notifications of version 1")
struct StoreNotificationV1Tests {
    /// The types of each scenario, from Apple's documentation of notification_type.
    private static let lives = """
        v1-initial-buy: INITIAL_BUY
        v1-interactive-renewal: INITIAL_BUY, DID_CHANGE_RENEWAL_STATUS, INTERACTIVE_RENEWAL, \
        DID_CHANGE_RENEWAL_STATUS
        v1-did-renew: INITIAL_BUY, DID_RENEW
        v1-did-fail-to-renew: INITIAL_BUY, DID_FAIL_TO_RENEW
        v1-did-recover: INITIAL_BUY, DID_FAIL_TO_RENEW, DID_RECOVER
        v1-billing-retry-over: INITIAL_BUY, DID_FAIL_TO_RENEW, DID_CHANGE_RENEWAL_STATUS
        v1-upgrade: INITIAL_BUY, INTERACTIVE_RENEWAL
        v1-downgrade: INITIAL_BUY, DID_CHANGE_RENEWAL_PREF, DID_RENEW
        v1-crossgrade: INITIAL_BUY, INTERACTIVE_RENEWAL
        v1-crossgrade-later: INITIAL_BUY, DID_CHANGE_RENEWAL_PREF, DID_RENEW
        v1-renewal-status: INITIAL_BUY, DID_CHANGE_RENEWAL_STATUS, DID_CHANGE_RENEWAL_STATUS, \
        DID_CHANGE_RENEWAL_STATUS
        v1-cancel: INITIAL_BUY, CANCEL, DID_CHANGE_RENEWAL_STATUS
        v1-refund: REFUND
        v1-price-increase: INITIAL_BUY, PRICE_INCREASE_CONSENT, DID_CHANGE_RENEWAL_STATUS
        v1-consumption-request: CONSUMPTION_REQUEST, REFUND
        v1-family-shared: INITIAL_BUY, DID_RENEW
        v1-revoke: INITIAL_BUY, REVOKE
        """

    private static func store(
        _ name: String, _ environment: APIEnvironment = .production, version2: Bool = false
    ) throws -> TestStore {
        var store = try TestStore(
            notifies: version2, hasReceipts: true, sharedSecret: "secret", notifiesV1: true)
        try store.add(name, environment)
        return store
    }

    private static func runToEnd(_ store: inout TestStore) {
        while let next = store.store.customers.compactMap(\.life.nextEvent?.at).min() {
            store.store.move(to: next)
            store.deliver()
        }
    }

    private static func verifier() throws -> Verifier {
        Verifier(
            trust: try TrustStore.empty.pinning(
                TestStore.receiptAuthority.get().rootCertificate, development: false))
    }

    @Test("each situation has Apple's types, in order, and each receipt in them verifies")
    func situations() throws {
        let verifier = try Self.verifier()
        for line in Self.lives.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1).map(String.init)
            for environment in APIEnvironment.allCases {
                var store = try Self.store(parts[0], environment)
                Self.runToEnd(&store)
                let bodies = try store.posted.map {
                    try JSONDocument.parse($0, limit: 1 << 20).root
                }
                let types = bodies.compactMap { $0["notification_type"]?.string }
                #expect(" " + types.joined(separator: ", ") == parts[1], "\(parts[0])")
                #expect(store.store.problem == nil)
                for (body, json) in zip(store.posted, bodies) {
                    let isSandbox = environment == .sandbox
                    #expect(json["password"]?.string == "secret")
                    #expect(json["environment"]?.string == (isSandbox ? "Sandbox" : "PROD"))
                    let answer = verifier.verify(
                        body.span, as: .notificationV1,
                        policy: Policy(
                            bundleId: "com.example.game",
                            environments: [isSandbox ? .sandbox : .production]),
                        at: store.store.now)
                    #expect(answer.verdict == .valid, "\(answer.detail)")
                    guard case .notificationV1(let found) = answer.evidence else { continue }
                    #expect(found.warnings.isEmpty)
                    let list = json["unified_receipt"]?["latest_receipt_info"]?.elements
                    #expect(found.receipt.inApp.count == list.map { Array($0).count })
                }
            }
        }
    }

    @Test("the scenarios of version 1 are all there, and their files have these types")
    func files() throws {
        let names = Self.lives.split(separator: "\n").map {
            String($0.split(separator: ":")[0])
        }
        let all = try Scenario.builtIn.map(\.name).filter { $0.hasPrefix("v1-") }
        #expect(all.sorted() == names.sorted())
        let used = Set(Self.lives.split { !($0.isUppercase || $0 == "_") }.map(String.init))
        // RENEWAL is the old name of DID_RECOVER.
        let missing = NotificationV1Type.allCases.map(\.rawValue).filter { !used.contains($0) }
        #expect(missing == ["RENEWAL"])
    }

    @Test("both versions go out, or one, per environment")
    func versions() throws {
        for (version2, count) in [(true, 2), (false, 1)] {
            var store = try Self.store("subscribe", version2: version2)
            #expect(store.posted.count == count)
            let isOld = try store.posted.map {
                try JSONDocument.parse($0, limit: 1 << 20).root["signedPayload"] == nil
            }
            #expect(isOld == (version2 ? [false, true] : [true]))
            let list =
                try store.get("/notifications").json["notifications"]?.elements
                .map(Array.init) ?? []
            #expect(list.map { $0["version"]?.int64 } == [nil, 1])
            // Apple's history has those of version 2 alone.
            let start = TestStore.start.milliseconds
            let history = store.send(
                .post, "/inApps/v1/notifications/history",
                "{\"startDate\":\(start),\"endDate\":\(start + 1000)}")
            #expect(
                try history.json["notificationHistory"]?.elements.map { Array($0).count } == 1)
        }
    }

    @Test("version 1 is sent again after 6, 24 and 48 hours, and once in the sandbox")
    func retries() throws {
        for (environment, hours) in [
            (.production, [0, 6, 30, 78]), (.sandbox, [0]),
        ] as [(APIEnvironment, [Int64])] {
            var store = try TestStore(notifies: false, hasReceipts: true, notifiesV1: true)
            store.backend = .timedOut
            try store.add("subscribe", environment)
            try store.advance("20d")
            let entry = try #require(store.store.notifications.entries.last)
            let times = entry.attempts.map {
                ($0.at.milliseconds - TestStore.start.milliseconds) / 3_600_000
            }
            #expect(times == hours)
        }
    }

    @Test("every life of a scenario has receipts, and notifications that verify")
    func everyLife() throws {
        let verifier = try Self.verifier()
        var count = 0
        for scenario in try Scenario.builtIn {
            var store = try Self.store(scenario.name)
            Self.runToEnd(&store)
            #expect(store.store.problem == nil, "\(scenario.name): \(store.store.problem ?? "")")
            for body in store.posted {
                let answer = verifier.verify(
                    body.span, as: .notificationV1,
                    policy: Policy(
                        bundleId: "com.example.game", environments: [.production, .sandbox]),
                    at: store.store.now)
                #expect(answer.verdict == .valid, "\(scenario.name): \(answer.detail)")
                count += 1
            }
        }
        #expect(count > 100)
    }
}
