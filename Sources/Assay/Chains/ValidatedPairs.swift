import AssayLocks

/// Leaf and intermediate whose signatures have been verified up to a pinned root, by their DER:
/// whatever a JWS header says beside them, they cost no public-key operation again.
///
/// Only what a pinned root signed gets in, so a stranger can't fill it.
final class ValidatedPairs: Sendable {
    private let chains = Locked<[Pair: ValidatedChain]>([:])

    private struct Pair: Hashable {
        let leaf: [UInt8]
        let intermediate: [UInt8]

        /// Nil: the leaf is itself pinned, and there is nothing to verify.
        init?(_ chain: UnvalidatedChain) {
            guard let intermediate = chain.intermediate else { return nil }
            leaf = chain.leaf.der
            self.intermediate = intermediate.der
        }

        /// All at once; an array would be hashed byte by byte.
        func hash(into hasher: inout Hasher) {
            leaf.span.hash(into: &hasher)
            intermediate.span.hash(into: &hasher)
        }
    }

    subscript(chain: UnvalidatedChain) -> ValidatedChain? {
        guard let pair = Pair(chain) else { return nil }
        return chains.withLock { $0[pair] }
    }

    func remember(_ chain: ValidatedChain) {
        guard let pair = Pair(chain.certificates) else { return }
        chains.withLock { chains in
            if chains.count >= Limits.validatedPairs { chains.removeAll() }
            chains[pair] = chain
        }
    }
}
