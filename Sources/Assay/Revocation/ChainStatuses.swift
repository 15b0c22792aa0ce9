import AssayModels
import Synchronization

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
