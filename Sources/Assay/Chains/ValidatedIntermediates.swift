import AssayLocks
import AssayModels

/// Caches intermediates whose signature by a pinned root has been verified, by their DER.
///
/// Only certificates that a pinned root signed are inserted, so an attacker cannot fill this
/// cache.
final class ValidatedIntermediates: Sendable {
    struct Entry: Sendable {
        /// The key's subjectPublicKeyInfo.
        let keyInfo: [UInt8]
        let key: PublicKey
        /// The pinned roots with the key that signed it: one root and its renewals. The evidence
        /// decides which root is valid.
        let anchors: [TrustAnchor]
    }

    private let entries = Locked<[CertificateBytes: Entry]>([:])
    let tables: IssuerTables
    /// The statuses of the certificates of chains under these intermediates.
    let revocation: RevocationStatuses

    init(tables: IssuerTables = .none, revocation: RevocationStatuses = RevocationStatuses()) {
        self.tables = tables
        self.revocation = revocation
    }

    func contains(_ intermediate: Certificate) -> Bool {
        entries.withLock { $0[CertificateBytes(octets: intermediate.der)] != nil }
    }

    func validate(
        _ intermediate: Certificate, under candidates: [TrustAnchor]
    ) throws(Refusal) -> Entry {
        let bytes = CertificateBytes(octets: intermediate.der)
        if let entry = entries.withLock({ $0[bytes] }) { return entry }
        let digest = try intermediate.ecdsaDigest(as: .intermediate)
        let keyInfo = Array(intermediate.der[intermediate.publicKey.range])
        // Another certificate of the same key, such as this one's twin, has its table already.
        let known = entries.withLock { $0.values.first { $0.keyInfo == keyInfo }?.key }
        guard let key = known ?? intermediate.ecKey else {
            throw Refusal(
                .invalidChain, "the key of the intermediate is not a point of its curve")
        }
        var rest = candidates
        while let anchor = rest.first {
            let anchors = rest.filter { $0.hasNameAndKey(of: anchor) }
            rest.removeAll { $0.hasNameAndKey(of: anchor) }
            guard let anchorKey = anchor.ecKey,
                intermediate.isSigned(by: anchorKey, digest: digest, tables: tables)
            else { continue }
            tables.noteUse(of: anchorKey)
            let entry = Entry(keyInfo: keyInfo, key: key, anchors: anchors)
            entries.withLock { entries in
                if entries.count >= Limits.validatedIntermediates { entries.removeAll() }
                entries[bytes] = entry
            }
            return entry
        }
        throw Refusal(
            .untrustedChain,
            "the intermediate is not signed by the pinned root named \(intermediate.issuerText)")
    }
}
