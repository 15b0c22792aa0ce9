/// What becomes of evidence with a chain that has not validated before. Validating one takes some
/// milliseconds, as much as a hundred signatures under a known chain.
public enum UnknownChainPolicy: Sendable {
    /// The chain is validated there and then.
    case validate
    /// Whatever can be checked without validating it is checked, and may refuse; evidence that
    /// passes is put aside, to be prepared again where its chain may be validated.
    case deferred
}

/// The chain for whose sake evidence was put aside. Once it has been validated, or refused, other
/// evidence of that chain is answered without being put aside.
public struct ChainID: Hashable, Sendable {
    private let octets: [UInt8]
    /// Whether a pinned root's signature over the chain's intermediate has been verified before:
    /// Apple's own is one certificate, so its genuine chains are among these.
    public let hasValidatedIssuer: Bool

    /// - Parameter digest: SHA-256 of what brought the chain.
    init(digest: [UInt8], hasValidatedIssuer: Bool = false) {
        octets = digest
        self.hasValidatedIssuer = hasValidatedIssuer
    }

    /// The same chain, whatever is known of its issuer.
    public static func == (first: Self, second: Self) -> Bool { first.octets == second.octets }
    public func hash(into hasher: inout Hasher) { hasher.combine(octets) }

    func issued(byValidated isValidated: Bool) -> Self {
        Self(digest: octets, hasValidatedIssuer: isValidated)
    }
}

/// What became of something that needs a validated chain. No refusal: nothing that takes errors for
/// verdicts can take this for one.
enum ChainOutcome<Value> {
    case validated(Value)
    /// Put aside before the check that would decide, until this chain has been validated.
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
