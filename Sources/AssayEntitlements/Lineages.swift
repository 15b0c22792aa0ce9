import AssayModels

/// The subscriptions of one app: each is a lineage of purchases, of one original and of those from
/// which it moved. One whose purchases name two subscription groups is one subscription a group.
struct Lineages {
    struct Lineage {
        /// The name that its originals share.
        let root: String
        /// Nil if no evidence names the group.
        var group: String?
        var evidence: SubscriptionEvidence
    }

    /// A subscription that is decided.
    ///
    /// A class: it is sorted into its group, and a copy would count a reference for each text.
    final class Decided {
        var subscription: Subscription
        let group: String?

        init(_ subscription: consuming Subscription, group: String?) {
            self.subscription = subscription
            self.group = group
        }
    }

    private(set) var all: [Lineage] = []
    /// Originals whose purchases name several groups.
    private(set) var inTwoGroups: [String] = []
    private(set) var usedRenewals: Set<Ledger.RenewalKey> = []
    /// The group that a component names of its bundle, whose own purchase may name none.
    private var bundleGroups: [String: Snapshot.Named] = [:]

    init(_ purchases: [Snapshot], _ links: SubscriptionLinks) {
        var lineages: [(root: String, purchases: [Snapshot])] = []
        var known = StatementIndex(capacity: 0)
        var index = 0
        for purchase in purchases {
            let root = links.lineageRoot(of: purchase.originalTransactionId)
            // Periods of one subscription often follow each other.
            if lineages.isEmpty || lineages[index].root != root {
                let (next, digest) = (lineages.count, root.hashValue)
                let slot = known.slot(digest) {
                    links.lineageRoot(of: $0.originalTransactionId) == root
                }
                index = slot ?? next
                if index == next {
                    known.add(purchase, digest, slot: next)
                    lineages.append((root, []))
                }
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
            append(SubscriptionEvidence(purchases: purchases), of: group, root)
            return
        }
        inTwoGroups.append(root)
        // What names no group belongs to the newest.
        for (name, members) in Dictionary(grouping: purchases, by: { $0.group ?? group }) {
            append(SubscriptionEvidence(purchases: members), of: name, root)
        }
    }

    private mutating func append(
        _ evidence: SubscriptionEvidence, of group: String?, _ root: String
    ) {
        all.append(Lineage(root: root, group: group, evidence: evidence))
    }

    /// The indices in `all` of the subscriptions of each lineage.
    private var indices: [String: [Int]] {
        all.indices.reduce(into: [:]) { $0[all[$1].root, default: []].append($1) }
    }

    /// Adds the renewal information and the statuses of these subscriptions. Renewal information
    /// that names a period is a subscription without a purchase.
    mutating func add(
        _ renewals: [Ledger.RenewalKey: RenewalState],
        _ statuses: [Ledger.RenewalKey: SignedStatus], of app: Ledger.AppKey,
        _ links: SubscriptionLinks
    ) {
        guard !renewals.isEmpty || !statuses.isEmpty else { return }
        var indices = indices
        for (key, renewal) in renewals where key.environment == app.environment {
            let root = links.lineageRoot(of: key.originalTransactionId)
            if indices[root] == nil {
                guard renewal.bundleId == app.bundleId, renewal.renewalDate != nil else { continue }
                indices[root] = [all.count]
                append(SubscriptionEvidence(purchases: []), of: nil, root)
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

        var text: String {
            switch self {
            case .named(let text), .own(let text): text
            }
        }
    }

    /// The groups by identifier.
    static func grouped(_ decided: [Decided]) -> [SubscriptionGroup] {
        var groups: [GroupKey: [Decided]] = [:]
        for found in decided {
            let key = found.group.map { GroupKey.named($0) }
            groups[key ?? .own(found.original), default: []].append(found)
        }
        return TransactionNumber.sorted(Array(groups), by: \.key.text).map(Self.group)
    }

    private static func group(_ key: GroupKey, _ found: [Decided]) -> SubscriptionGroup {
        let members = TransactionNumber.sorted(found, by: \.original)
        var deciding = members[0]
        for member in members where member.decides(over: deciding) { deciding = member }
        return SubscriptionGroup(
            subscriptionGroupIdentifier: key.name, deciding: deciding.subscription,
            subscriptions: members.map(\.subscription))
    }
}

extension Lineages.Decided {
    fileprivate var original: String { subscription.originalTransactionId }
    private var end: Int64 {
        (subscription.entitledUntil ?? subscription.expiresDate)?.milliseconds ?? .min
    }

    /// An entitled one first, then the one that ends last; of equal ones the later number.
    fileprivate func decides(over other: Lineages.Decided) -> Bool {
        let isEntitled = subscription.isEntitled
        return isEntitled == other.subscription.isEntitled ? end >= other.end : isEntitled
    }
}
