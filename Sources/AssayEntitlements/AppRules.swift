import AssayModels

/// Decides what a customer owns in one app and environment.
struct AppRules {
    let key: Ledger.AppKey
    let app: Ledger.App
    let renewals: [Ledger.RenewalKey: RenewalState]
    let rules: SubscriptionRules
    private(set) var warnings: [EntitlementWarning] = []
    /// The renewal information of this app's subscriptions.
    private(set) var usedRenewals: Set<Ledger.RenewalKey> = []
    private var nextChange: Int64?

    init(
        _ key: Ledger.AppKey, _ app: Ledger.App, _ renewals: [Ledger.RenewalKey: RenewalState],
        _ rules: SubscriptionRules
    ) {
        self.key = key
        self.app = app
        self.renewals = renewals
        self.rules = rules
    }

    /// The earliest moment after now at which the answer changes.
    var changesAt: Int64? { nextChange }

    mutating func decide() -> AppEntitlements {
        var answer = AppEntitlements(environment: key.environment, bundleId: key.bundleId)
        var subscriptions: [String: [Snapshot]] = [:]
        var products: [Snapshot.Kind: [String: [Snapshot]]] = [:]
        for snapshot in app.snapshots {
            switch snapshot.type {
            case .autoRenewable:
                subscriptions[snapshot.originalTransactionId, default: []].append(snapshot)
            case .nonConsumable, .nonRenewing:
                products[snapshot.type, default: [:]][snapshot.productId ?? "", default: []]
                    .append(snapshot)
            case .consumable: answer.consumables.append(consumable(snapshot))
            case .unknown:
                warn(
                    .unknownProductType,
                    "transaction \(snapshot.transactionId) has an unknown product "
                        + "type: it grants nothing", snapshot.item)
            }
        }
        answer.subscriptionGroups = groups(subscriptions)
        answer.nonConsumables = owned(products[.nonConsumable] ?? [:])
        answer.nonRenewing = owned(products[.nonRenewing] ?? [:])
        answer.consumables = TransactionNumber.sorted(answer.consumables, by: \.transactionId)
        answer.customers = customers()
        return answer
    }

    // MARK: Subscriptions

    private mutating func groups(_ subscriptions: [String: [Snapshot]]) -> [SubscriptionGroup] {
        let links = SubscriptionLinks(app.snapshots, renewals, in: key.environment)
        var decided: [Subscription] = []
        for (original, snapshots) in subscriptions {
            let key = Ledger.RenewalKey(
                environment: key.environment, originalTransactionId: original)
            let renewal = renewals[key]
            if renewal != nil { usedRenewals.insert(key) }
            let subscription = rules.decide(snapshots, renewal)
            decided.append(subscription)
            noteChanges(of: subscription, snapshots, renewal)
            if snapshots.allSatisfy(\.isUpgraded), !links.isLinked(original) {
                warnOfMissingSuccessor(original, snapshots)
            }
        }
        return grouped(links.coveredByBundles(decided), links)
    }

    private func grouped(
        _ subscriptions: [Subscription], _ links: SubscriptionLinks
    ) -> [SubscriptionGroup] {
        let lineages = app.groups(of: links)
        var groups: [GroupKey: [Subscription]] = [:]
        for subscription in subscriptions {
            let original = subscription.originalTransactionId
            let name = app.groups[original]?.name ?? lineages[links.lineageRoot(of: original)]
            let key = name.map { GroupKey.named($0) } ?? .own(original)
            groups[key, default: []].append(subscription)
        }
        return TransactionNumber.sorted(groups.map(Self.group), by: \.sortKey)
    }

    private enum GroupKey: Hashable {
        case named(String)
        /// The group of one subscription that names none, apart from every group identifier.
        case own(String)

        var name: String? {
            if case .named(let name) = self { name } else { nil }
        }
    }

    private static func group(_ key: GroupKey, _ found: [Subscription]) -> SubscriptionGroup {
        let members = TransactionNumber.sorted(found, by: \.originalTransactionId)
        // By index: a subscription has a dozen texts to copy.
        var deciding = 0
        for index in members.indices where decides(members[index], over: members[deciding]) {
            deciding = index
        }
        return SubscriptionGroup(
            subscriptionGroupIdentifier: key.name, deciding: members[deciding],
            subscriptions: members)
    }

    /// An entitled one first, then the one that ends last; of equal ones the later number.
    private static func decides(_ one: Subscription, over other: Subscription) -> Bool {
        if one.isEntitled != other.isEntitled { return one.isEntitled }
        let one = (one.entitledUntil ?? one.expiresDate)?.milliseconds ?? .min
        let other = (other.entitledUntil ?? other.expiresDate)?.milliseconds ?? .min
        return one >= other
    }

    // MARK: Products

    private mutating func owned(_ products: [String: [Snapshot]]) -> [ProductEntitlement] {
        var owned: [ProductEntitlement] = []
        for snapshots in products.values {
            let product = product(snapshots)
            for snapshot in snapshots where !snapshot.isRevoked { note(snapshot.purchaseDate) }
            note(product.entitledUntil?.milliseconds)
            owned.append(product)
        }
        return owned.sorted { $0.productId.utf8.lexicographicallyPrecedes($1.productId.utf8) }
    }

    /// One product, of which the customer can have several transactions: an own one beside a
    /// family member's, or one bought again. It is entitled if any of them is.
    private func product(_ snapshots: [Snapshot]) -> ProductEntitlement {
        let best = snapshots.reduce(snapshots[0]) { isBetter($1, than: $0) ? $1 : $0 }
        let isEntitled = isEntitled(best)
        return ProductEntitlement(
            productId: best.productId ?? "", isEntitled: isEntitled,
            entitledUntil: isEntitled ? end(of: best).map(Timestamp.init) : nil,
            transactionId: best.transactionId, ownership: best.ownership,
            revocationDate: best.revocationDate.map(Timestamp.init),
            revocationPercentage: best.revocationPercentage, decidedBy: best.decidedBy)
    }

    private func isEntitled(_ snapshot: Snapshot) -> Bool {
        guard !snapshot.isRevoked, snapshot.purchaseDate <= rules.now else { return false }
        guard rules.policy.acceptsFamilySharing || !snapshot.isFamilyShared else { return false }
        return end(of: snapshot).map { rules.now < $0 } ?? true
    }

    /// Of a non-renewing subscription: its own end, or the policy's; nil: no end known.
    private func end(of snapshot: Snapshot) -> Int64? {
        guard snapshot.type == .nonRenewing else { return nil }
        if let end = snapshot.expiresDate { return end }
        guard let duration = snapshot.productId.flatMap({ rules.policy.durations[$0] }) else {
            return nil
        }
        return Timestamp(milliseconds: snapshot.purchaseDate).advanced(by: duration).milliseconds
    }

    /// An entitled one first, then an own one, then the one that ends or was bought last.
    private func isBetter(_ one: Snapshot, than other: Snapshot) -> Bool {
        let (oneEntitled, otherEntitled) = (isEntitled(one), isEntitled(other))
        if oneEntitled != otherEntitled { return oneEntitled }
        let (oneEnd, otherEnd) = (end(of: one) ?? .max, end(of: other) ?? .max)
        if oneEnd != otherEnd { return oneEnd > otherEnd }
        if one.isFamilyShared != other.isFamilyShared { return other.isFamilyShared }
        if one.purchaseDate != other.purchaseDate { return one.purchaseDate > other.purchaseDate }
        return TransactionNumber.isLess(other.transactionId, one.transactionId)
    }

    private func consumable(_ snapshot: Snapshot) -> ConsumablePurchase {
        let revoked: Int32 = snapshot.isRevoked ? snapshot.revocationPercentage ?? 100_000 : 0
        return ConsumablePurchase(
            transactionId: snapshot.transactionId, productId: snapshot.productId,
            quantity: snapshot.quantity, revokedPercentage: revoked,
            dedupKey: snapshot.purchase.key(
                PurchaseIdentity.keyPrefix(key.environment, key.bundleId)),
            decidedBy: snapshot.decidedBy)
    }

    // MARK: Customers

    private mutating func customers() -> Customers {
        var customers = Customers()
        customers.appAccountTokens = app.appAccountTokens.sorted()
        customers.appTransactionIds = TransactionNumber.sorted(
            Array(app.appTransactionIds), by: \.self)
        let expected = rules.policy.expectedAppAccountToken?.lowercased()
        let areMixed = app.appAccountTokens.count > 1 || app.appTransactionIds.count > 1
        customers.isConflicting =
            areMixed
            || expected.map { token in app.appAccountTokens.contains { $0 != token } } ?? false
        if customers.isConflicting {
            warn(
                .customersMixed,
                "the evidence of \(key.bundleId) is of several customers, or not of "
                    + "the expected one", nil)
        }
        return customers
    }

    // MARK: Moments of change

    /// The start of a period always decides anew. The end of an older period changes nothing while
    /// another one is in force.
    private mutating func noteChanges(
        of subscription: Subscription, _ snapshots: [Snapshot], _ renewal: RenewalState?
    ) {
        for snapshot in snapshots where !snapshot.isUpgraded { note(snapshot.purchaseDate) }
        switch subscription.status {
        case .active: note(subscription.expiresDate?.milliseconds)
        case .gracePeriod: note(renewal?.graceEnds)
        case .billingRetry: note(subscription.entitledUntil?.milliseconds)
        case .revoked, .expired, .unknown: break
        }
    }

    private mutating func note(_ moment: Int64?) {
        guard let moment, moment > rules.now else { return }
        nextChange = min(nextChange ?? .max, moment)
    }

    // MARK: Warnings

    private mutating func warnOfMissingSuccessor(_ original: String, _ snapshots: [Snapshot]) {
        warn(
            .upgradedWithoutSuccessor,
            "subscription \(original) was upgraded, and the transaction "
                + "that replaced it is not among the evidence", snapshots.map(\.item).min())
    }

    private mutating func warn(
        _ code: EntitlementWarning.Code, _ message: String, _ item: Int?
    ) {
        warnings.append(EntitlementWarning(code: code, message: message, item: item))
    }
}

extension SubscriptionGroup {
    /// Its identifier, or that of its only subscription.
    fileprivate var sortKey: String {
        subscriptionGroupIdentifier ?? deciding.originalTransactionId
    }
}
