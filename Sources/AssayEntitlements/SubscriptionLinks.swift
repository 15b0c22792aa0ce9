import AssayModels

/// The subscriptions of one app that belong to one customer and stand for each other: a migrated
/// one and its successor, a bundle and its components.
struct SubscriptionLinks {
    /// Moves of one subscription (`previousOriginalTransactionId`).
    private var lineage = DisjointSets()
    /// Moves, and the components of bundles.
    private var families = DisjointSets()
    /// Originals that some evidence names as a bundle.
    private var bundles: Set<String> = []

    /// - Parameters:
    ///   - snapshots: the winning snapshot of each transaction.
    ///   - renewals: the winning renewal information, of this environment and others.
    init(
        _ snapshots: [Snapshot], _ renewals: [Ledger.RenewalKey: RenewalState],
        in environment: StoreEnvironment
    ) {
        for snapshot in snapshots {
            let original = snapshot.originalTransactionId
            if let previous = snapshot.previousOriginal {
                lineage.join(original, previous)
                families.join(original, previous)
            }
            if let bundle = snapshot.bundleOriginal { add(original, to: bundle) }
        }
        // Few subscriptions are components of a bundle.
        let bundled = renewals.filter { key, renewal in
            key.environment == environment && renewal.bundleOriginal != nil
        }
        let originals = bundled.isEmpty ? [] : Set(snapshots.map(\.originalTransactionId))
        for (key, renewal) in bundled where originals.contains(key.originalTransactionId) {
            if let bundle = renewal.bundleOriginal { add(key.originalTransactionId, to: bundle) }
        }
        lineage.flatten()
        families.flatten()
    }

    private mutating func add(_ original: String, to bundle: String) {
        guard original != bundle else { return }
        bundles.insert(bundle)
        families.join(original, bundle)
    }

    /// Whether any subscription moved.
    var hasMoves: Bool { !lineage.isEmpty }

    /// Whether evidence links the subscription to any other.
    func isLinked(_ original: String) -> Bool { families.knownRoot(of: original) != nil }

    /// The name that all originals of one moved subscription share.
    func lineageRoot(of original: String) -> String { lineage.root(of: original) }

    /// The subscriptions, of which a component that was revoked is as entitled as its bundle. A
    /// purchase that moves into a bundle is revoked: no loss while the bundle entitles.
    func coveredByBundles(_ subscriptions: [Subscription]) -> [Subscription] {
        guard !bundles.isEmpty else { return subscriptions }
        var covering: [String: Subscription] = [:]
        for bundle in subscriptions where bundle.isEntitled {
            let original = bundle.originalTransactionId
            guard bundles.contains(original), let root = families.knownRoot(of: original) else {
                continue
            }
            if let other = covering[root], !Self.lasts(bundle, longerThan: other) { continue }
            covering[root] = bundle
        }
        return subscriptions.map { subscription in
            let original = subscription.originalTransactionId
            guard subscription.status == .revoked, !bundles.contains(original),
                let bundle = families.knownRoot(of: original).flatMap({ covering[$0] })
            else { return subscription }
            var covered = subscription
            covered.status = bundle.status
            covered.isEntitled = true
            covered.entitledUntil = bundle.entitledUntil
            covered.decidedBy = bundle.decidedBy
            return covered
        }
    }

    private static func lasts(_ one: Subscription, longerThan other: Subscription) -> Bool {
        let (oneEnd, otherEnd) = (one.entitledUntil, other.entitledUntil)
        guard oneEnd == otherEnd else {
            return oneEnd?.milliseconds ?? .max > otherEnd?.milliseconds ?? .max
        }
        return TransactionNumber.isLess(
            other.originalTransactionId, one.originalTransactionId)
    }
}

/// Sets of texts that are joined pair by pair (union-find). The name of a set is its least member,
/// so that the order of the joins does not matter.
private struct DisjointSets {
    private var parents: [String: String] = [:]

    var isEmpty: Bool { parents.isEmpty }

    mutating func join(_ one: String, _ other: String) {
        let (one, other) = (compressed(one), compressed(other))
        guard one != other else { return }
        parents[max(one, other)] = min(one, other)
        parents[min(one, other)] = min(one, other)
    }

    /// Shortens all paths, so that each look-up is one step.
    mutating func flatten() {
        for member in parents.keys { _ = compressed(member) }
    }

    func root(of member: String) -> String { knownRoot(of: member) ?? member }

    func knownRoot(of member: String) -> String? {
        guard var place = parents[member] else { return nil }
        while let parent = parents[place], parent != place { place = parent }
        return place
    }

    /// Finds the root and shortens the path to it, so that long chains stay cheap.
    private mutating func compressed(_ member: String) -> String {
        let root = root(of: member)
        var place = member
        while place != root {
            let parent = parents[place] ?? root
            parents[place] = root
            place = parent
        }
        return root
    }
}
