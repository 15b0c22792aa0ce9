import AssayBytes
import AssayModels

/// The evidence format of a store other than Apple's: how its purchases are signed, and what they
/// contain. A store is a folder with one such value, and the rows of its kinds in `KindTraits`.
struct StoreFormat: Sendable {
    /// The word for what names an app.
    let appWord: String
    /// The option with the accepted apps.
    let appOption: String
    /// The accepted apps; empty where the bundle id applies.
    let apps: @Sendable (Policy) -> [String]
    /// The keys that sign purchases of an app. None where the trust store has the store's roots.
    let keys: @Sendable (Policy) -> [PurchaseKey]
    /// The text for an app without a key or root of the store.
    let missingKeyText: String
    /// The scheme of a signature by the name of its algorithm; nil for another name. The name is
    /// not signed, so each scheme has to be safe by itself.
    let scheme: @Sendable (_ algorithm: String) -> RSAScheme?
    /// The schemes, for messages.
    let schemeNames: String
    /// The payloads, those with distinctive members first.
    let payloads: [StorePayload]

    /// Returns nil for Apple, whose evidence has its own verifiers.
    static func of(_ kind: EvidenceKind) -> StoreFormat? {
        switch kind.knownStore {
        case .google: .google
        case .huawei: .huawei
        case .harmony: .harmony
        case .apple: nil
        }
    }

    /// The kind of a payload by its members; nil if it does not look like this store's.
    func likelyKind(_ root: JSONValue) -> EvidenceKind? {
        guard let members = root.members else { return nil }
        return payloads.first { $0.isLikely(members) }?.kind
    }
}

/// A payload of a store: how to know it, to decode it, and what it claims.
struct StorePayload: Sendable {
    typealias Decoded = (evidence: VerifiedEvidence, claims: EvidenceClaims, state: PurchaseState?)

    let kind: EvidenceKind
    /// Whether an object has members that this payload alone has.
    let isLikely: @Sendable (JSONObject) -> Bool
    /// Reads a payload whose signature holds, with the digest that was signed.
    let decode: @Sendable (JSONDocument, _ digest: String) -> Decoded

    init<Payload>(
        _ kind: EvidenceKind, isLikely: @escaping @Sendable (JSONObject) -> Bool,
        read: @escaping @Sendable (inout JSONMembers) -> Payload,
        claims: @escaping @Sendable (Payload, _ digest: String) -> EvidenceClaims,
        state: @escaping @Sendable (Payload) -> PurchaseState? = { _ in nil },
        evidence: @escaping @Sendable (VerifiedPayload<Payload>) -> VerifiedEvidence
    ) {
        self.kind = kind
        self.isLikely = isLikely
        decode = { document, digest in
            let payload = document.withRootMembers { read(&$0) }
            return (
                evidence(VerifiedPayload(payload, json: document.text)), claims(payload, digest),
                state(payload)
            )
        }
    }
}

extension EvidenceKind {
    /// The format of the other store that signs this kind.
    var storeFormat: StoreFormat {
        guard let format = StoreFormat.of(self) else {
            preconditionFailure("Apple's evidence has its own verifiers")
        }
        return format
    }

    /// The payload of this kind of another store.
    var storePayload: StorePayload {
        guard let payload = storeFormat.payloads.first(where: { $0.kind == self }) else {
            preconditionFailure("no payload of the \(name) is described")
        }
        return payload
    }
}
