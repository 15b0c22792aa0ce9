import AssayEntitlements
import AssayMint
import AssayModels
import Testing

/// Lives that no scenario has, from a seed that a failure names.
@Suite("Random lives")
struct RandomLivesTests {
    /// A thousand lives take a second.
    private static let lives = 1_000

    private struct Life {
        var random: SplitMix64
        var items: [EvidenceItem] = []
        private var day: Int64 = 0
        private var originals = 0

        init(seed: UInt64) {
            random = SplitMix64(state: seed)
            let count = Int.random(in: 1...8, using: &random)
            for id in 0..<count { live(id) }
            items.shuffle(using: &random)
        }

        private mutating func chance(_ percent: Int) -> Bool {
            Int.random(in: 0..<100, using: &random) < percent
        }

        /// A purchase, and what is signed about it later.
        private mutating func live(_ id: Int) {
            day += Int64.random(in: 0...20, using: &random)
            if chance(70) { buyPeriod(id) } else { buyProduct(id) }
        }

        private mutating func buyPeriod(_ id: Int) {
            let (begin, length) = (day, Int64.random(in: 3...40, using: &random))
            let ahead = chance(20) ? 1 as Int64 : 0
            let original = chance(80) ? "100" : "200"
            let account = chance(30) ? "ab" : nil
            let (isUpgraded, isRevoked) = (chance(15), chance(15))
            func statement(
                _ signed: Int64, _ changed: Bool, restated: String? = nil, copy: Bool = false
            ) -> EvidenceItem {
                Evidence.period(0, signed: Evidence.start + signed * Evidence.day) {
                    $0.transactionId = "\((copy ? 2000 : 1000) + id)"
                    $0.originalTransactionId = restated ?? original
                    $0.webOrderLineItemId = "\(id + (restated == nil ? 1 : 101))"
                    $0.purchaseDate = Timestamp(day: begin)
                    $0.expiresDate = Timestamp(day: begin + length)
                    $0.appAccountToken = account
                    guard changed else { return }
                    $0.isUpgraded = isUpgraded
                    $0.revocationDate = isRevoked ? Timestamp(day: signed) : nil
                }
            }
            let bought = statement(begin - ahead, false)
            items.append(bought)
            if chance(50) { items.append(statement(begin + 1, true)) }
            // Seen on another device, and stated again under another original.
            let hasCopy = chance(20)
            if hasCopy { items.append(statement(begin, false, copy: true)) }
            if chance(20) {
                let other = chance(50) ? "100" : "300"
                items.append(
                    statement(
                        begin + Int64.random(in: -1...3, using: &random), chance(50),
                        restated: other, copy: hasCopy && chance(50)))
            }
            if chance(50) { renew(original, begin + length) }
            if chance(30) {
                let status = SubscriptionStatus(rawValue: Int32.random(in: 1...5, using: &random))
                let signed = Evidence.start + (begin + length) * Evidence.day
                items.append(Evidence.notification(status, signed: signed, bought))
            }
        }

        private mutating func renew(_ original: String, _ end: Int64) {
            let signed = end + Int64.random(in: -2...2, using: &random)
            let (isOff, isRetrying, hasGrace) = (chance(30), chance(30), chance(20))
            let next = chance(20) ? end + 30 : end
            items.append(
                Evidence.renewal(
                    signed: Evidence.start + signed * Evidence.day, original: original
                ) {
                    $0.autoRenewStatus = isOff ? .off : .on
                    $0.isInBillingRetryPeriod = isRetrying
                    $0.gracePeriodExpiresDate = hasGrace ? Timestamp(day: end + 6) : nil
                    $0.renewalDate = Timestamp(day: next)
                })
        }

        private mutating func buyProduct(_ id: Int) {
            let types: [ProductType] = [.consumable, .nonConsumable, .nonRenewingSubscription]
            let type = types.randomElement(using: &random) ?? .consumable
            let (bought, isRevoked) = (day, chance(20))
            func statement(_ signed: Int64, _ changed: Bool) -> EvidenceItem {
                Evidence.product(
                    "\(id)", "product.\(id % 3)", type,
                    signed: Evidence.start + signed * Evidence.day
                ) {
                    $0.purchaseDate = Timestamp(day: bought)
                    $0.revocationDate = isRevoked && changed ? Timestamp(day: signed) : nil
                }
            }
            items.append(statement(bought, false))
            if chance(50) { items.append(statement(bought + 1, true)) }
        }

        /// The moments around which something can change.
        var moments: [Timestamp] {
            [0, 7, 20, 45, 50, 65, 70, 120].map { Timestamp(day: $0) }
        }
    }

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
        for seed in 1...UInt64(Self.lives) {
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

    @Test("Access is the same until nextChange, and holds until entitledUntil")
    func constancy() {
        for seed in 1...UInt64(Self.lives) {
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
