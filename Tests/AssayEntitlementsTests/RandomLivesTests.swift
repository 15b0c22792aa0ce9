import AssayEntitlements
import AssayMint
import AssayModels
import Foundation
import Testing

/// Lives that no scenario has, from a seed that a failure names.
@Suite("Random lives")
struct RandomLivesTests {
    /// A thousand by default, a few seconds. ASSAY_LIVES asks for more.
    private static let lives =
        ProcessInfo.processInfo.environment["ASSAY_LIVES"].flatMap(UInt64.init) ?? 1_000

    private static let policy = {
        var policy = EntitlementPolicy()
        policy.durations = ["product.0": 10 * Evidence.day, "product.1": 20 * Evidence.day]
        policy.stackedProducts = ["product.1"]
        policy.renewalLeniencyMilliseconds = 3_600_000
        return policy
    }()

    /// What a customer may use: nothing else is promised until `nextChange`.
    private static func access(_ answer: Entitlements) -> [String] {
        answer.apps.flatMap { app in
            app.subscriptionGroups.flatMap(\.subscriptions).filter(\.isEntitled).map {
                "\($0.originalTransactionId) \($0.productId ?? "") \($0.decidedBy.transactionId)"
            } + (app.nonConsumables + app.nonRenewing).filter(\.isEntitled).map(\.productId)
        }
    }

    @Test("Order, duplicates and deleting what is superseded change no answer")
    func pruning() {
        for seed in 1...Self.lives {
            var life = Life(seed: seed)
            for moment in [Timestamp(day: 20), Timestamp(day: 60), Timestamp(day: 200)] {
                let answer = Entitlements(of: life.items, at: moment, policy: Self.policy)
                let superseded = Set(answer.superseded)
                let kept = life.items.indices.filter { !superseded.contains($0) }
                    .map { life.items[$0] }
                let shuffled = life.items.shuffled(using: &life.random)
                for items in [kept, shuffled, shuffled + life.items] {
                    let other = Entitlements(of: items, at: moment, policy: Self.policy)
                    #expect(other.withoutPositions == answer.withoutPositions, "seed \(seed)")
                }
            }
        }
    }

    @Test("What was signed later is left out by knownAt, as if it were not there")
    func knownAt() {
        for seed in 1...Self.lives {
            let life = Life(seed: seed)
            for day in [5, 30, 50] as [Int64] {
                let date = Timestamp(day: day)
                var policy = Self.policy
                policy.knownAt = date
                let found = Entitlements(of: life.items, at: date, policy: policy)
                let known = life.items(knownAt: date)
                let expected = Entitlements(of: known, at: date, policy: Self.policy)
                #expect(found.withoutPositions == expected.withoutPositions, "seed \(seed)")
            }
        }
    }

    @Test("Access is the same until nextChange, and holds until entitledUntil")
    func constancy() {
        for seed in 1...Self.lives {
            let life = Life(seed: seed)
            for moment in life.moments {
                let answer = Entitlements(of: life.items, at: moment, policy: Self.policy)
                let change = answer.nextChange?.milliseconds ?? .max
                let ends = Self.ends(of: answer)
                #expect(ends.allSatisfy { change <= $0 }, "seed \(seed)")
                for later in life.moments where later > moment {
                    let found = Entitlements(of: life.items, at: later, policy: Self.policy)
                    if later.milliseconds < change {
                        #expect(Self.access(found) == Self.access(answer), "seed \(seed)")
                    }
                }
                for (original, until) in Self.subscriptions(of: answer) {
                    let last = Timestamp(milliseconds: until - 1)
                    let found = Entitlements(of: life.items, at: last, policy: Self.policy)
                    #expect(
                        Self.subscriptions(of: found).contains { $0.0 == original },
                        "seed \(seed): \(original) at \(moment)")
                }
            }
        }
    }

    private static func subscriptions(of answer: Entitlements) -> [(String, Int64)] {
        answer.apps.flatMap(\.subscriptionGroups).flatMap(\.subscriptions).compactMap { found in
            found.entitledUntil.map { (found.originalTransactionId, $0.milliseconds) }
        }
    }

    private static func ends(of answer: Entitlements) -> [Int64] {
        subscriptions(of: answer).map(\.1)
            + answer.apps.flatMap(\.nonRenewing).compactMap { $0.entitledUntil?.milliseconds }
    }
}
