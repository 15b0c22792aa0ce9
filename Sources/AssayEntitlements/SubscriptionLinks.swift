import AssayModels

/// The subscriptions of one app that belong to one customer and stand for each other: a migrated
/// one and its successor, a bundle and its components.
struct SubscriptionLinks {
    /// Moves of one subscription (`previousOriginalTransactionId`), and the originals whose
    /// transactions the App Store stated again under another.
    private var lineage = DisjointSets()
    /// Moves, and the components of bundles.
    private var families = DisjointSets()
    /// The originals of components by that of the bundle that some evidence names.
    private var bundles: [String: Set<String>] = [:]

    /// - Parameters:
    ///   - snapshots: the winning snapshot of each purchase.
    ///   - restated: originals without a purchase, and those that replaced them.
    ///   - renewals: the winning renewal information, of this environment and others.
    init(
        _ snapshots: [Snapshot], restated: [String: String],
        _ renewals: [Ledger.RenewalKey: RenewalState], in environment: StoreEnvironment
    ) {
        for snapshot in snapshots {
            let original = snapshot.originalTransactionId
            if let previous = snapshot.previousOriginal {
                lineage.join(original, previous)
                families.join(original, previous)
            }
            if let bundle = snapshot.bundleOriginal { add(original, to: bundle) }
        }
        for (old, original) in restated { lineage.join(old, original) }
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
        bundles[bundle, default: []].insert(original)
        families.join(original, bundle)
    }

    /// Whether evidence links the subscription to any other.
    func isLinked(_ original: String) -> Bool { families.knownRoot(of: original) != nil }

    /// The name that all originals of one moved subscription share.
    func lineageRoot(of original: String) -> String { lineage.root(of: original) }

    /// Makes each component that was revoked as entitled as its bundle. A purchase that moves into
    /// a bundle is revoked: no loss while the bundle entitles.
    func coverByBundles(_ decided: [Lineages.Decided]) {
        guard !bundles.isEmpty else { return }
        var covering: [String: Subscription] = [:]
        for bundle in decided.lazy.map(\.subscription) where bundle.isEntitled {
            let original = bundle.originalTransactionId
            guard bundles[original] != nil, let root = families.knownRoot(of: original) else {
                continue
            }
            if let other = covering[root], !Self.lasts(bundle, longerThan: other) { continue }
            covering[root] = bundle
        }
        for component in decided where isRevokedComponent(component.subscription) {
            let original = component.subscription.originalTransactionId
            guard let bundle = families.knownRoot(of: original).flatMap({ covering[$0] }) else {
                continue
            }
            component.subscription.status = bundle.status
            component.subscription.isEntitled = true
            component.subscription.entitledUntil = bundle.entitledUntil
            component.subscription.decidedBy = bundle.decidedBy
            // The component is in force again, as part of the bundle.
            component.subscription.revocationDate = nil
            component.subscription.revocationReason = nil
            component.subscription.revocationType = nil
        }
    }

    private func isRevokedComponent(_ subscription: Subscription) -> Bool {
        subscription.status == .revoked && bundles[subscription.originalTransactionId] == nil
    }

    /// Components that were revoked, and whose bundle is not among the subscriptions.
    func missingBundles(_ decided: [Lineages.Decided]) -> [(component: String, bundle: String)] {
        guard !bundles.isEmpty else { return [] }
        let known = Set(decided.map(\.subscription.originalTransactionId))
        return decided.map(\.subscription).filter(isRevokedComponent).flatMap { component in
            let original = component.originalTransactionId
            return bundles.filter { !known.contains($0.key) && $0.value.contains(original) }
                .map { (original, $0.key) }
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
        guard var node = parents[member] else { return nil }
        while let parent = parents[node], parent != node { node = parent }
        return node
    }

    /// Finds the root and shortens the path to it, so that long chains stay cheap.
    private mutating func compressed(_ member: String) -> String {
        let root = root(of: member)
        var node = member
        while node != root {
            let parent = parents[node] ?? root
            parents[node] = root
            node = parent
        }
        return root
    }
}
