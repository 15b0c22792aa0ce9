@testable import AssayAdmin
import AssayModels
import Testing

/// What an explanation leaves out of the answer about entitlements.
@Suite("Limit of explained entitlements")
struct EntitlementsLimitTests {
    private static let decided = DecidedBy(item: 0, transactionId: "1")

    /// An app with this number of subscriptions in one group, non-consumables, non-renewing
    /// subscriptions and consumables.
    private static func app(_ name: String, _ counts: [Int]) -> AppEntitlements {
        func product(_ index: Int) -> ProductEntitlement {
            ProductEntitlement(
                productId: "\(index)", transactionId: "\(index)", decidedBy: decided)
        }
        var app = AppEntitlements(environment: .production, bundleId: name)
        let subscriptions = (0..<counts[0]).map {
            Subscription(originalTransactionId: "\($0)", decidedBy: decided)
        }
        if let first = subscriptions.first {
            app.subscriptionGroups = [
                SubscriptionGroup(deciding: first, subscriptions: subscriptions)
            ]
        }
        app.nonConsumables = (0..<counts[1]).map(product)
        app.nonRenewing = (0..<counts[2]).map(product)
        app.consumables = (0..<counts[3]).map {
            ConsumablePurchase(transactionId: "\($0)", dedupKey: "\($0)", decidedBy: decided)
        }
        return app
    }

    private static func counts(_ app: AppEntitlements) -> [Int] {
        [
            app.subscriptionGroups.reduce(0) { $0 + $1.subscriptions.count },
            app.nonConsumables.count, app.nonRenewing.count, app.consumables.count,
        ]
    }

    @Test(
        "purchases are kept in their order, over all apps",
        arguments: [
            (apps: [[1, 1, 1, 1]], kept: [[1, 1, 1, 1]], omitted: 0),
            ([[3, 3, 3, 3]], [[3, 3, 3, 1]], 2),
            ([[12, 1, 1, 1]], [[10, 0, 0, 0]], 5),
            ([[2, 12, 1, 1]], [[2, 8, 0, 0]], 6),
            ([[0, 4, 9, 2]], [[0, 4, 6, 0]], 5),
            ([[0, 0, 0, 11], [1, 0, 0, 0]], [[0, 0, 0, 10]], 2),
            ([[2, 2, 2, 2], [1, 1, 1, 1]], [[2, 2, 2, 2], [1, 1, 0, 0]], 2),
            ([[5, 5, 0, 0], [0, 0, 0, 0]], [[5, 5, 0, 0]], 1),
            ([[0, 0, 0, 0], [9, 1, 0, 0]], [[0, 0, 0, 0], [9, 0, 0, 0]], 1),
        ])
    func purchases(apps: [[Int]], kept: [[Int]], omitted: Int) {
        var answer = Entitlements(at: Timestamp(milliseconds: 0))
        answer.apps = apps.enumerated().map { Self.app("\($0)", $1) }
        #expect(answer.removeEntries(beyond: 10) == omitted)
        #expect(answer.apps.map(Self.counts) == kept)
        #expect(answer.apps.map(\.bundleId) == kept.indices.map { "\($0)" })
    }

    @Test("moments to ask and periods have the limit, too: the newest periods stay")
    func refreshAndPeriods() {
        var answer = Entitlements(at: Timestamp(milliseconds: 0))
        answer.refresh = (0..<12).map {
            EntitlementRefresh(
                transactionId: "\($0)", at: Timestamp(milliseconds: 0), reason: .periodEnds)
        }
        var app = Self.app("a", [0, 0, 3, 0])
        for (index, count) in [4, 9, 2].enumerated() {
            app.nonRenewing[index].purchases = (0..<count).map {
                ProductPurchase(transactionId: "\($0)")
            }
        }
        answer.apps = [app]
        #expect(answer.removeEntries(beyond: 10) == 2 + 3 + 2)
        #expect(answer.refresh.map(\.transactionId) == (0..<10).map { "\($0)" })
        let kept = answer.apps[0].nonRenewing.map { $0.purchases.map(\.transactionId) }
        #expect(kept == [["0", "1", "2", "3"], ["3", "4", "5", "6", "7", "8"], []])
    }

    @Test("an entry has its owner, its seats and its purchases")
    func owners() {
        let date = Timestamp(milliseconds: 1_767_225_600_000)
        var app = Self.app("a", [1, 1, 1, 1])
        var subscription = app.subscriptionGroups[0].deciding
        subscription.seats = 5
        subscription.appAccountToken = "u1"
        subscription.renewsForAppAccountToken = "u2"
        subscription.appTransactionId = "7"
        subscription.purchaseDate = date
        subscription.belongsToAnotherAccount = true
        app.subscriptionGroups[0].deciding = subscription
        app.nonConsumables[0].appAccountToken = "u3"
        app.nonRenewing[0].purchases = (1...2).map { ProductPurchase(transactionId: "\($0)") }
        app.consumables[0].belongsToAnotherAccount = true
        let rows = app.rows
        #expect(
            rows[0].owner
                == "bought 2026-01-01T00:00:00Z, account u1, renews for account u2, "
                + "app transaction 7"
        )
        #expect(rows[0].state.contains(", 5 seats, OF ANOTHER ACCOUNT; decided by"))
        #expect(rows[1].owner == "account u3" && !rows[1].state.contains("ANOTHER"))
        #expect(rows[2].owner.isEmpty && rows[2].state.contains(", 2 purchases; decided by"))
        #expect(rows[3].state.contains(", OF ANOTHER ACCOUNT; decided by"))
        app.subscriptionGroups[0].deciding.seats = 1
        #expect(app.rows[0].state.contains(", 1 seat, OF"))
        app.subscriptionGroups[0].deciding.seats = nil
        #expect(!app.rows[0].state.contains("seat"))
    }

    @Test("warnings and customers have the limit, too", arguments: [9, 10, 11, 25])
    func others(count: Int) {
        var answer = Entitlements(at: Timestamp(milliseconds: 0))
        answer.warnings = (0..<count).map { EntitlementWarning(message: "\($0)") }
        var app = Self.app("a", [1, 0, 0, 0])
        app.customers.appAccountTokens = (0..<count).map { "\($0)" }
        app.customers.appTransactionIds = (0..<count).map { "\($0)" }
        answer.apps = [app]
        let omitted = answer.removeEntries(beyond: 10)
        #expect(answer.warnings.map(\.message) == (0..<min(count, 10)).map { "\($0)" })
        let customers = answer.apps[0].customers
        #expect(customers.appAccountTokens.count == min(count, 10))
        #expect(customers.appTransactionIds.count == max(0, 10 - count))
        let left = answer.warnings.count + customers.appAccountTokens.count
        #expect(omitted == 3 * count - left - customers.appTransactionIds.count)
    }
}
