import AssayModels

/// Decides what a customer owns in one app at another store than Apple's. Its evidence says what
/// was bought, and not what happened since.
struct StoreRules {
    private let key: Ledger.AppKey
    private let purchases: [StoreSnapshot]
    private let now: Int64
    private let policy: EntitlementPolicy
    private(set) var refresh: [EntitlementRefresh] = []
    /// The moments after now at which the answer changes.
    private(set) var changes: [Int64] = []
    private(set) var warnings: [EntitlementWarning] = []

    init(
        _ key: Ledger.AppKey, _ purchases: StorePurchases, now: Int64, _ policy: EntitlementPolicy
    ) {
        self.key = key
        self.purchases = purchases.sorted
        self.now = now
        self.policy = policy
    }

    mutating func decide() -> AppEntitlements {
        // Google's evidence names no environment, and none is made up.
        let environment = key.environment.rawValue.isEmpty ? nil : key.environment
        var answer = AppEntitlements(
            environment: environment, bundleId: key.bundleId, store: key.store)
        purchases.forEach { note($0) }
        answer.nonConsumables = products()
        answer.nonRenewing = nonRenewing()
        answer.consumables = consumables()
        answer.subscriptionGroups = subscriptions()
        let accounts = Set(purchases.compactMap(\.account))
        answer.customers.appAccountTokens = accounts.sorted()
        answer.customers.isConflicting = accounts.count > 1
        return answer
    }

    /// What this version can't read, and when the purchase begins and was taken back.
    private mutating func note(_ purchase: StoreSnapshot) {
        changes += [purchase.purchaseTime, purchase.revokedAt].compactMap { $0?.milliseconds }
            .filter { $0 > now }
        if purchase.kind == .unknown {
            warn(.unknownProductType, "an unknown product type", purchase)
        }
        if purchase.state == .unknown || purchase.hasUnknownStatus {
            warn(.unknownState, "an unknown state", purchase)
        }
    }

    private mutating func warn(
        _ code: EntitlementWarning.Code, _ what: String, _ purchase: StoreSnapshot
    ) {
        warnings.append(
            EntitlementWarning(
                code: code, message: "purchase \(purchase.id) has \(what): it grants nothing",
                item: purchase.item))
    }

    /// Compared byte for byte: an account is the app's own text.
    private func isOfAnother(_ purchase: StoreSnapshot) -> Bool {
        guard let expected = policy.expectedAppAccountToken, let account = purchase.account else {
            return false
        }
        return !account.utf8.elementsEqual(expected.utf8)
    }

    // MARK: Products

    /// One entry for each product: a paid purchase first, then the one bought last. A product of
    /// an unknown type is listed, and grants nothing.
    private func products() -> [ProductEntitlement] {
        var best: [String: (purchase: StoreSnapshot, entitles: Bool)] = [:]
        for purchase in purchases where purchase.kind == .product || purchase.kind == .unknown {
            let entitles =
                purchase.kind == .product && purchase.isPaid(at: now) && !isOfAnother(purchase)
            for product in purchase.productIds {
                if let known = best[product], known.entitles, !entitles { continue }
                best[product] = (purchase, entitles)
            }
        }
        return best.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
            productId, known in
            let until = known.entitles ? known.purchase.limited(nil) : nil
            return product(productId, known.purchase, known.entitles, until: until)
        }
    }

    private func product(
        _ productId: String, _ purchase: StoreSnapshot, _ entitles: Bool, until: Timestamp?
    ) -> ProductEntitlement {
        var product = ProductEntitlement(
            productId: productId, isEntitled: entitles, entitledUntil: until,
            transactionId: purchase.id, decidedBy: purchase.decidedBy)
        product.revocationDate = purchase.revokedAt
        product.purchaseDate = purchase.purchaseTime
        product.appAccountToken = purchase.account
        product.belongsToAnotherAccount = isOfAnother(purchase)
        return product
    }

    /// One entry for each product, by its last purchase. Its end comes from the policy; without one
    /// no end is known.
    private mutating func nonRenewing() -> [ProductEntitlement] {
        var latest: [String: StoreSnapshot] = [:]
        for purchase in purchases where purchase.kind == .nonRenewing {
            guard let product = purchase.productIds.first else { continue }
            if let known = latest[product], known.isPaid(at: now), !purchase.isPaid(at: now) {
                continue
            }
            latest[product] = purchase
        }
        return latest.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map {
            productId, purchase in
            let duration = policy.durations[productId]
            let end = purchase.limited(
                duration.flatMap { purchase.purchaseTime?.advanced(by: $0) })
            let entitles =
                purchase.isPaid(at: now) && !isOfAnother(purchase)
                && (end.map { now < $0.milliseconds } ?? true)
            if entitles, let end { changes.append(end.milliseconds) }
            return product(productId, purchase, entitles, until: entitles ? end : nil)
        }
    }

    /// Consumables that were paid. One that is pending must not be delivered, so it is not listed.
    private func consumables() -> [ConsumablePurchase] {
        purchases.filter { $0.kind == .consumable && $0.isListed }.map { purchase in
            let isTakenBack = purchase.isRevoked(at: now)
            var consumable = ConsumablePurchase(
                transactionId: purchase.id, productId: purchase.productIds.first,
                quantity: purchase.quantity, revokedPercentage: isTakenBack ? 100_000 : 0,
                dedupKey: key.store.rawValue.lowercased() + "/" + key.bundleId + "/" + purchase.id,
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
        let periods = Dictionary(
            grouping: purchases.filter { $0.kind == .subscription }, by: \.subscription)
        return periods.sorted { $0.key < $1.key }.map { name, orders in
            let order = deciding(orders)
            let subscription = subscription(name, order, orders)
            return SubscriptionGroup(
                subscriptionGroupIdentifier: order.group, deciding: subscription,
                subscriptions: [subscription])
        }
    }

    /// The order that decides about a subscription. The state of an order is that of this order
    /// alone: one that was refunded or is not paid yet takes nothing from a period that is.
    ///
    /// - Parameter orders: by purchase time, not empty.
    private func deciding(_ orders: [StoreSnapshot]) -> StoreSnapshot {
        let now = now
        func weight(_ order: StoreSnapshot) -> [Int64] {
            // Of those that have not begun the first, which says when.
            guard order.hasBegun(at: now) else {
                return [0, -(order.purchaseTime?.milliseconds ?? 0)]
            }
            let counts: Int64 = order.isPaid(at: now) ? 3 : order.isRevoked(at: now) ? 2 : 1
            let end = order.end ?? order.purchaseTime
            return [counts, end?.milliseconds ?? .min, order.purchaseTime?.milliseconds ?? .min]
        }
        return orders.dropFirst().reduce(orders[0]) {
            weight($1).lexicographicallyPrecedes(weight($0)) ? $0 : $1
        }
    }

    private mutating func subscription(
        _ name: String, _ purchase: StoreSnapshot, _ orders: [StoreSnapshot]
    ) -> Subscription {
        let isAnother = isOfAnother(purchase)
        let status = status(purchase)
        let entitles = (status == .active || status == .gracePeriod) && !isAnother
        let until =
            status == .gracePeriod ? purchase.limited(purchase.graceEnd) : joined(purchase, orders)
        var subscription = Subscription(
            originalTransactionId: name, status: status, isEntitled: entitles,
            productId: purchase.productIds.first, entitledUntil: entitles ? until : nil,
            isTrial: purchase.isTrial, willRenew: purchase.willRenew,
            decidedBy: purchase.decidedBy, expiresDate: purchase.end)
        if status == .revoked { subscription.revocationDate = purchase.revokedAt }
        subscription.purchaseDate = purchase.purchaseTime
        subscription.appAccountToken = purchase.account
        subscription.belongsToAnotherAccount = isAnother
        guard !isAnother else { return subscription }
        if entitles, let until { changes.append(until.milliseconds) }
        if status == .active, let end = purchase.end { changes.append(end.milliseconds) }
        ask(about: purchase, status, until)
        return subscription
    }

    /// The end of a period, and of those bought later that join it without a gap.
    private func joined(_ purchase: StoreSnapshot, _ orders: [StoreSnapshot]) -> Timestamp? {
        guard var end = purchase.limited(purchase.end) else { return nil }
        for next in orders where !next.hasBegun(at: now) && !next.hasExpired {
            guard let begin = next.purchaseTime, begin <= end, next.isPaid(at: begin.milliseconds),
                let other = next.limited(next.end)
            else { continue }
            end = max(end, other)
        }
        return end
    }

    private mutating func ask(
        about purchase: StoreSnapshot, _ status: SubscriptionState, _ until: Timestamp?
    ) {
        guard purchase.hasBegun(at: now) else { return }
        switch status {
        case .unknown: ask(purchase, Timestamp(milliseconds: now), .statusUnknown)
        case .billingRetry: ask(purchase, Timestamp(milliseconds: now), .billingRetry)
        case .active where purchase.willRenew != false, .gracePeriod:
            if let until { ask(purchase, until, .periodEnds) }
        default: break
        }
    }

    private mutating func ask(
        _ purchase: StoreSnapshot, _ at: Timestamp, _ reason: EntitlementRefresh.Reason
    ) {
        refresh.append(
            EntitlementRefresh(
                transactionId: purchase.token, at: at, reason: reason, store: key.store))
    }

    /// Only the store knows the end of a subscription whose evidence has none.
    private func status(_ purchase: StoreSnapshot) -> SubscriptionState {
        guard purchase.hasBegun(at: now) else { return .unknown }
        if purchase.isRevoked(at: now) { return .revoked }
        if purchase.hasExpired { return .expired }
        guard purchase.isPaid(at: now), let end = purchase.end else { return .unknown }
        if now < end.milliseconds { return .active }
        if let grace = purchase.graceEnd, now < grace.milliseconds { return .gracePeriod }
        if purchase.isRetried { return .billingRetry }
        return purchase.willRenew == false ? .expired : .unknown
    }
}
