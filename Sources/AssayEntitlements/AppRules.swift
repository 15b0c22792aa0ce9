import AssayModels

/// Decides what a customer owns in one app and environment.
struct AppRules {
    let key: Ledger.AppKey
    let app: Ledger.App
    let renewals: [Ledger.RenewalKey: RenewalState]
    let rules: SubscriptionRules
    private(set) var warnings: [EntitlementWarning] = []
    /// Subscriptions whose renewal information was used.
    private(set) var knownOriginals: Set<String> = []
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
                    "transaction \(snapshot.transactionId) has no product "
                        + "type that is known here: it grants nothing", snapshot.item)
            }
        }
        answer.subscriptionGroups = groups(subscriptions)
        answer.nonConsumables = (products[.nonConsumable] ?? [:]).values.map(product).sorted {
            $0.productId.utf8.lexicographicallyPrecedes($1.productId.utf8)
        }
        answer.nonRenewing = (products[.nonRenewing] ?? [:]).values.map(product).sorted {
            $0.productId.utf8.lexicographicallyPrecedes($1.productId.utf8)
        }
        answer.consumables.sort { TransactionNumber.isLess($0.transactionId, $1.transactionId) }
        answer.customers = customers()
        noteChanges(products)
        return answer
    }

    // MARK: Subscriptions

    private mutating func groups(_ subscriptions: [String: [Snapshot]]) -> [SubscriptionGroup] {
        var groups: [String: (name: String?, members: [Subscription])] = [:]
        for (original, snapshots) in subscriptions {
            let key = Ledger.RenewalKey(
                environment: key.environment, originalTransactionId: original)
            let renewal = renewals[key]
            knownOriginals.insert(original)
            let subscription = rules.decide(snapshots, renewal)
            noteChanges(snapshots, renewal)
            if snapshots.allSatisfy(\.isUpgraded) { warnOfMissingSuccessor(original, snapshots) }
            let name = app.group(of: original)
            // A group of its own has the original's name, apart from every group identifier.
            let place = name.map { "group " + $0 } ?? "original " + original
            groups[place, default: (name, [])].members.append(subscription)
        }
        return groups.values.map(Self.group).sorted { left, right in
            let (leftId, rightId) = (left.sortKey, right.sortKey)
            return TransactionNumber.isLess(leftId, rightId)
        }
    }

    private static func group(
        _ found: (name: String?, members: [Subscription])
    ) -> SubscriptionGroup {
        let members = found.members.sorted {
            TransactionNumber.isLess($0.originalTransactionId, $1.originalTransactionId)
        }
        let deciding = members.reduce(members[0]) { decides($1, over: $0) ? $1 : $0 }
        return SubscriptionGroup(
            subscriptionGroupIdentifier: found.name, deciding: deciding, subscriptions: members)
    }

    /// An entitled one first, then the one that ends last; of equal ones the later number.
    private static func decides(_ one: Subscription, over other: Subscription) -> Bool {
        if one.isEntitled != other.isEntitled { return one.isEntitled }
        let one = (one.entitledUntil ?? one.expiresDate)?.milliseconds ?? .min
        let other = (other.entitledUntil ?? other.expiresDate)?.milliseconds ?? .min
        return one >= other
    }

    // MARK: Products

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
            dedupKey: "\(key.environment)/\(key.bundleId)/\(snapshot.transactionId)",
            decidedBy: snapshot.decidedBy)
    }

    // MARK: Customers

    private mutating func customers() -> Customers {
        var customers = Customers()
        customers.appAccountTokens = app.appAccountTokens.sorted()
        customers.appTransactionIds = app.appTransactionIds.sorted(by: TransactionNumber.isLess)
        let expected = rules.policy.expectedAppAccountToken?.lowercased()
        customers.isConflicting =
            app.appAccountTokens.count > 1
            || expected.map { token in app.appAccountTokens.contains { $0 != token } } ?? false
        if customers.isConflicting {
            warn(
                .customersMixed,
                "evidence of several customers, or of another one than expected, "
                    + "was mixed in \(key.bundleId)", nil)
        }
        return customers
    }

    // MARK: Moments of change

    private mutating func noteChanges(_ snapshots: [Snapshot], _ renewal: RenewalState?) {
        for snapshot in snapshots where !snapshot.isRevoked && !snapshot.isUpgraded {
            note(snapshot.purchaseDate)
            if let end = snapshot.expiresDate { note(end) }
        }
        guard let renewal,
            let latest = SubscriptionRules.latest(snapshots.filter { !$0.isUpgraded }),
            !latest.isRevoked, !renewal.isStale(for: latest)
        else { return }
        if let end = renewal.graceEnds { note(end) }
        if renewal.isInBillingRetry { note(rules.retryEnd(of: latest)) }
    }

    private mutating func noteChanges(_ products: [Snapshot.Kind: [String: [Snapshot]]]) {
        for snapshots in products.values.flatMap(\.values) {
            for snapshot in snapshots where !snapshot.isRevoked {
                note(snapshot.purchaseDate)
                if let end = end(of: snapshot) { note(end) }
            }
        }
    }

    private mutating func note(_ moment: Int64) {
        guard moment > rules.now else { return }
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
