import AssayModels

/// The subscriptions of one app: each is a lineage of purchases, of one original and of those from
/// which it moved. One whose purchases name two subscription groups is one subscription a group.
struct Lineages {
    struct Lineage {
        /// Nil if no evidence names the group.
        var group: String?
        var evidence: SubscriptionEvidence
    }

    /// A subscription that is decided.
    struct Decided {
        var subscription: Subscription
        var group: String?
    }

    private(set) var all: [Lineage] = []
    /// Originals whose purchases name several groups.
    private(set) var inTwoGroups: [String] = []
    private(set) var usedRenewals: Set<Ledger.RenewalKey> = []
    /// The indices in `all` of the subscriptions of each lineage.
    private var indices: [String: [Int]] = [:]
    /// The group that a component names of its bundle, whose own purchase may name none.
    private var bundleGroups: [String: Snapshot.Named] = [:]

    init(_ purchases: [Snapshot], _ links: SubscriptionLinks) {
        var lineages: [(root: String, purchases: [Snapshot])] = []
        var indices: [String: Int] = [:]
        var index = 0
        for purchase in purchases {
            let root = links.lineageRoot(of: purchase.originalTransactionId)
            // Periods of one subscription often follow each other.
            if lineages.isEmpty || lineages[index].root != root {
                let next = lineages.count
                index = indices.index(of: root, orNext: next)
                if index == next { lineages.append((root, [])) }
            }
            lineages[index].purchases.append(purchase)
            guard let bundle = purchase.bundleOriginal, let group = purchase.bundleGroup else {
                continue
            }
            let named = Snapshot.Named(
                name: group, signedDate: purchase.signedDate, item: purchase.item)
            if named.isNewer(than: bundleGroups[bundle]) { bundleGroups[bundle] = named }
        }
        for (root, purchases) in lineages { add(purchases, root) }
    }

    private mutating func add(_ purchases: [Snapshot], _ root: String) {
        var newest: Snapshot.Named?
        var isSplit = false
        for purchase in purchases {
            guard let group = purchase.group else { continue }
            if let newest, newest.name != group { isSplit = true }
            let named = Snapshot.Named(
                name: group, signedDate: purchase.signedDate, item: purchase.item)
            if named.isNewer(than: newest) { newest = named }
        }
        let group = newest?.name ?? bundleGroups[root]?.name
        guard isSplit else {
            indices[root] = [all.count]
            all.append(
                Lineage(group: group, evidence: SubscriptionEvidence(purchases: purchases)))
            return
        }
        inTwoGroups.append(root)
        // What names no group belongs to the newest.
        for (name, members) in Dictionary(grouping: purchases, by: { $0.group ?? group }) {
            indices[root, default: []].append(all.count)
            all.append(Lineage(group: name, evidence: SubscriptionEvidence(purchases: members)))
        }
    }

    /// Adds the renewal information and the statuses of these subscriptions. Renewal information
    /// that names a period is a subscription without a purchase.
    mutating func add(
        _ renewals: [Ledger.RenewalKey: RenewalState],
        _ statuses: [Ledger.RenewalKey: SignedStatus], of app: Ledger.AppKey,
        _ links: SubscriptionLinks
    ) {
        for (key, renewal) in renewals where key.environment == app.environment {
            let root = links.lineageRoot(of: key.originalTransactionId)
            if indices[root] == nil {
                guard renewal.bundleId == app.bundleId, renewal.renewalDate != nil else { continue }
                indices[root] = [all.count]
                all.append(Lineage(group: nil, evidence: SubscriptionEvidence(purchases: [])))
            }
            usedRenewals.insert(key)
            for index in indices[root] ?? [] { all[index].evidence.renewals.append(renewal) }
        }
        for (key, status) in statuses where key.environment == app.environment {
            let root = links.lineageRoot(of: key.originalTransactionId)
            for index in indices[root] ?? [] {
                if let known = all[index].evidence.status, !status.wins(over: known) { continue }
                all[index].evidence.status = status
            }
        }
    }

    // MARK: Groups

    private enum GroupKey: Hashable {
        case named(String)
        /// The group of one subscription that names none, apart from every group identifier.
        case own(String)

        var name: String? {
            if case .named(let name) = self { name } else { nil }
        }
    }

    /// The groups by identifier.
    static func grouped(_ decided: [Decided]) -> [SubscriptionGroup] {
        var groups: [GroupKey: [Subscription]] = [:]
        for found in decided {
            let key = found.group.map { GroupKey.named($0) }
            groups[key ?? .own(found.subscription.originalTransactionId), default: []]
                .append(found.subscription)
        }
        return TransactionNumber.sorted(groups.map(Self.group), by: \.sortKey)
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
}

extension SubscriptionGroup {
    /// Its identifier, or that of its only subscription.
    fileprivate var sortKey: String {
        subscriptionGroupIdentifier ?? deciding.originalTransactionId
    }
}
