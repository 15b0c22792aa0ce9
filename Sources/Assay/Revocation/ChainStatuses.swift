import AssayModels
import Synchronization

/// The statuses of a chain's certificates, found when a policy first asks for them.
final class ChainStatuses: Sendable {
    let leaf: StatusCell
    let intermediate: StatusCell

    init(leaf: StatusCell, intermediate: StatusCell) {
        self.leaf = leaf
        self.intermediate = intermediate
    }
}

extension AtomicLazyReference<ChainStatuses> {
    /// The statuses of the chain, from the store if this is the first use.
    ///
    /// - Returns: nil for a pinned leaf, which has no issuer.
    func find(
        in store: RevocationStatuses, leaf: Certificate, intermediate: Certificate?,
        root: Certificate
    ) -> ChainStatuses? {
        if let found = load() { return found }
        guard let intermediate else { return nil }
        return storeIfNil(
            ChainStatuses(
                leaf: store.cell(of: leaf, under: intermediate, as: .leaf),
                intermediate: store.cell(of: intermediate, under: root, as: .intermediate)))
    }
}
