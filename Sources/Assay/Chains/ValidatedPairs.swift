import AssayBytes
import AssayLocks

/// Caches pairs of leaf and intermediate that were verified up to a pinned root, by their DER.
/// Such a pair costs no further public-key operation, in any JWS header.
///
/// Only pairs that a pinned root vouches for are inserted, so an attacker cannot fill this cache.
final class ValidatedPairs: Sendable {
    private let chains = Locked<[Pair: ValidatedChain]>([:])

    private struct Pair: Hashable {
        let leaf: [UInt8]
        let intermediate: [UInt8]

        /// Nil when the leaf itself is pinned, and there is no signature to verify.
        init?(_ chain: UnvalidatedChain) {
            guard let intermediate = chain.intermediate else { return nil }
            leaf = chain.leaf.der
            self.intermediate = intermediate.der
        }

        /// Hashes the bytes at once; an array would be hashed byte by byte.
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
