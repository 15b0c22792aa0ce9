import AssayModels

/// Decides what a customer owns in one app at another store than Apple's. Its evidence says what
/// was bought, and not what happened since.
struct StoreRules {
    private let key: Ledger.AppKey
    private let purchases: [StorePurchase]
    private let now: Int64
    private let policy: EntitlementPolicy
    private(set) var refresh: [EntitlementRefresh] = []
    /// The moments after now at which the answer changes.
    private(set) var changes: [Int64] = []

    init(
        _ key: Ledger.AppKey, _ purchases: StorePurchases, now: Int64, _ policy: EntitlementPolicy
    ) {
        self.key = key
        self.purchases = purchases.sorted
        self.now = now
        self.policy = policy
    }

    mutating func decide() -> AppEntitlements {
        var answer = AppEntitlements(
            environment: key.environment, bundleId: key.bundleId, store: key.store)
        answer.nonConsumables = products()
        answer.nonRenewing = nonRenewing()
        answer.consumables = consumables()
        answer.subscriptionGroups = subscriptions()
        let accounts = Set(purchases.compactMap(\.account))
        answer.customers.appAccountTokens = accounts.sorted()
        answer.customers.isConflicting = accounts.count > 1
        return answer
    }

    /// Compared byte for byte: an account is the app's own text.
    private func isOfAnother(_ purchase: StorePurchase) -> Bool {
        guard let expected = policy.expectedAppAccountToken, let account = purchase.account else {
            return false
        }
        return !account.utf8.elementsEqual(expected.utf8)
    }

    // MARK: Products

    /// One entry for each product: a paid purchase first, then the one bought last.
    private func products() -> [ProductEntitlement] {
        var best: [String: (purchase: StorePurchase, entitles: Bool)] = [:]
        for purchase in purchases where purchase.kind == .product {
            let entitles = purchase.isPaid && !isOfAnother(purchase)
            for product in purchase.productIds {
                if let known = best[product], known.entitles, !entitles { continue }
                best[product] = (purchase, entitles)
            }
        }
        return best.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
            productId, known in
            var product = ProductEntitlement(
                productId: productId, isEntitled: known.entitles,
                transactionId: known.purchase.token, decidedBy: known.purchase.decidedBy)
            product.revocationDate = known.purchase.revokedAt
            product.purchaseDate = known.purchase.purchaseTime
            product.appAccountToken = known.purchase.account
            product.belongsToAnotherAccount = isOfAnother(known.purchase)
            return product
        }
    }

    /// One entry for each product, by its last purchase. Its end comes from the policy; without one
    /// no end is known.
    private mutating func nonRenewing() -> [ProductEntitlement] {
        var latest: [String: StorePurchase] = [:]
        for purchase in purchases where purchase.kind == .nonRenewing {
            guard let product = purchase.productIds.first else { continue }
            if let known = latest[product], known.isPaid, !purchase.isPaid { continue }
            latest[product] = purchase
        }
        return latest.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
            productId, purchase in
            let duration = policy.durations[productId]
            let end = duration.flatMap { purchase.purchaseTime?.advanced(by: $0) }
            let entitles =
                purchase.isPaid && !isOfAnother(purchase)
                && (end.map { now < $0.milliseconds } ?? true)
            if entitles, let end { changes.append(end.milliseconds) }
            var product = ProductEntitlement(
                productId: productId, isEntitled: entitles, entitledUntil: entitles ? end : nil,
                transactionId: purchase.token, decidedBy: purchase.decidedBy)
            product.revocationDate = purchase.revokedAt
            product.purchaseDate = purchase.purchaseTime
            return product
        }
    }

    /// Consumables that were paid. One that is pending must not be delivered, so it is not listed.
    private func consumables() -> [ConsumablePurchase] {
        purchases.filter { $0.kind == .consumable && $0.isListed }.map { purchase in
            var consumable = ConsumablePurchase(
                transactionId: purchase.token, productId: purchase.productIds.first,
                quantity: purchase.quantity, revokedPercentage: purchase.isPaid ? 0 : 100_000,
                dedupKey: key.store.rawValue.lowercased() + "/" + key.bundleId + "/"
                    + purchase.token,
                decidedBy: purchase.decidedBy)
            consumable.revocationDate = purchase.revokedAt
            consumable.purchaseDate = purchase.purchaseTime
            consumable.appAccountToken = purchase.account
            consumable.belongsToAnotherAccount = isOfAnother(purchase)
            return consumable
        }
    }

    // MARK: Subscriptions

    /// Each subscription is a group of its own. HarmonyOS names the group.
    private mutating func subscriptions() -> [SubscriptionGroup] {
        var latest: [String: StorePurchase] = [:]
        for purchase in purchases where purchase.kind == .subscription {
            let known = latest[purchase.subscription]
            if let known,
                (known.end ?? known.purchaseTime) > (purchase.end ?? purchase.purchaseTime)
            {
                continue
            }
            latest[purchase.subscription] = purchase
        }
        return latest.sorted { $0.key < $1.key }.map { name, purchase in
            let subscription = subscription(name, purchase)
            return SubscriptionGroup(
                subscriptionGroupIdentifier: purchase.group, deciding: subscription,
                subscriptions: [subscription])
        }
    }

    private mutating func subscription(
        _ name: String, _ purchase: StorePurchase
    ) -> Subscription {
        let isAnother = isOfAnother(purchase)
        let status = status(purchase)
        let entitles = status == .active && !isAnother
        var subscription = Subscription(
            originalTransactionId: name, status: status, isEntitled: entitles,
            productId: purchase.productIds.first, entitledUntil: entitles ? purchase.end : nil,
            willRenew: purchase.willRenew, decidedBy: purchase.decidedBy,
            expiresDate: purchase.end)
        if status == .revoked { subscription.revocationDate = purchase.revokedAt }
        subscription.purchaseDate = purchase.purchaseTime
        subscription.appAccountToken = purchase.account
        subscription.belongsToAnotherAccount = isAnother
        guard !isAnother else { return subscription }
        if status == .active, let end = purchase.end?.milliseconds { changes.append(end) }
        switch status {
        case .unknown: ask(purchase, Timestamp(milliseconds: now), .statusUnknown)
        case .active where purchase.willRenew != false:
            if let end = purchase.end { ask(purchase, end, .periodEnds) }
        default: break
        }
        return subscription
    }

    private mutating func ask(
        _ purchase: StorePurchase, _ at: Timestamp, _ reason: EntitlementRefresh.Reason
    ) {
        refresh.append(
            EntitlementRefresh(
                transactionId: purchase.token, at: at, reason: reason, store: key.store))
    }

    /// Only the store knows the end of a subscription whose evidence has none.
    private func status(_ purchase: StorePurchase) -> SubscriptionState {
        if purchase.isRevoked || [.canceled, .refunded].contains(purchase.state) {
            return .revoked
        }
        if purchase.hasExpired { return .expired }
        guard purchase.state == .purchased, let end = purchase.end else { return .unknown }
        if now < end.milliseconds { return .active }
        return purchase.willRenew == false ? .expired : .unknown
    }
}

extension StorePurchase {
    /// Paid, or paid once and taken back.
    fileprivate var isListed: Bool {
        isPaid || isRevoked || [.canceled, .refunded].contains(state)
    }
}

extension Optional where Wrapped == Timestamp {
    fileprivate static func > (left: Self, right: Self) -> Bool {
        (left?.milliseconds ?? .min) > (right?.milliseconds ?? .min)
    }
}
