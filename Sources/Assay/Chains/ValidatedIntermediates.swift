import AssayLocks
import AssayModels

/// Caches intermediates whose signature by a pinned root has been verified, by their DER.
///
/// Only certificates that a pinned root signed are inserted, so an attacker cannot fill this
/// cache.
final class ValidatedIntermediates: Sendable {
    struct Entry: Sendable {
        let key: PublicKey
        /// The pinned roots with the key that signed it: one root and its renewals. The evidence
        /// decides which root is valid.
        let anchors: [TrustAnchor]
    }

    private let entries = Locked<[[UInt8]: Entry]>([:])

    func contains(_ intermediate: Certificate) -> Bool {
        entries.withLock { $0[intermediate.der] != nil }
    }

    func validate(
        _ intermediate: Certificate, under candidates: [TrustAnchor]
    ) throws(Refusal) -> Entry {
        if let entry = entries.withLock({ $0[intermediate.der] }) { return entry }
        let digest = try intermediate.ecdsaDigest(as: .intermediate)
        guard let key = intermediate.ecKey else {
            throw Refusal(
                .invalidChain, "the key of the intermediate is not a point of its curve")
        }
        var rest = candidates
        while let anchor = rest.first {
            let anchors = rest.filter { $0.hasNameAndKey(of: anchor) }
            rest.removeAll { $0.hasNameAndKey(of: anchor) }
            guard let anchorKey = anchor.ecKey,
                intermediate.isSigned(by: anchorKey, digest: digest)
            else { continue }
            let entry = Entry(key: key, anchors: anchors)
            entries.withLock { entries in
                if entries.count >= Limits.validatedIntermediates { entries.removeAll() }
                entries[intermediate.der] = entry
            }
            return entry
        }
        throw Refusal(
            .untrustedChain,
            "the intermediate is not signed by the pinned root named \(intermediate.issuerText)")
    }
}
