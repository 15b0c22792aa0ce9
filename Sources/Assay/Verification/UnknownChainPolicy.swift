/// How to handle evidence whose chain has not validated before. Validating a chain takes as long as
/// ten signatures under a known chain, or a hundred where its issuers' keys have no table.
package enum UnknownChainPolicy: Sendable {
    /// Validates the chain immediately.
    case validate
    /// Runs all checks that do not need the chain's validation; they can refuse the evidence.
    /// Evidence that passes is deferred: the caller prepares it again where its chain is
    /// validated.
    case deferred
}

/// Identifies the chain that deferred evidence waits for. Once this chain is validated or
/// refused, other evidence with it is answered without deferral.
package struct ChainID: Hashable, Sendable {
    private let digest: SHA256Digest
    /// Whether a pinned root's signature over the chain's intermediate has been verified before.
    /// Apple uses one intermediate, so this is true of genuine chains once any has validated.
    package let hasValidatedIssuer: Bool

    /// - Parameter digest: SHA-256 of the bytes that identify the chain.
    init(digest: SHA256Digest, hasValidatedIssuer: Bool = false) {
        self.digest = digest
        self.hasValidatedIssuer = hasValidatedIssuer
    }

    /// Whether both are the same chain. `hasValidatedIssuer` is ignored.
    package static func == (first: Self, second: Self) -> Bool { first.digest == second.digest }
    package func hash(into hasher: inout Hasher) { hasher.combine(digest) }

    func issued(byValidated isValidated: Bool) -> Self {
        Self(digest: digest, hasValidatedIssuer: isValidated)
    }
}

/// The outcome of a step that needs a validated chain. Deferral is not an error, so that no error
/// handler mistakes it for a verdict.
enum ChainOutcome<Value> {
    case validated(Value)
    /// Deferred before the deciding check, until this chain is validated.
    case deferred(ChainID)

    func map<Other>(
        _ next: (Value) throws(Refusal) -> Other
    ) throws(Refusal) -> ChainOutcome<Other> {
        switch self {
        case .validated(let value): .validated(try next(value))
        case .deferred(let chain): .deferred(chain)
        }
    }
}

extension ChainOutcome: Sendable where Value: Sendable {}
