/// A verification that is passed on. A class, so that passing it on copies no field.
package final class Decision: Equatable, Sendable {
    package let verification: Verification

    package init(_ verification: consuming Verification) { self.verification = verification }

    package static func == (left: Decision, right: Decision) -> Bool {
        left === right || left.verification == right.verification
    }
}

/// One item of evidence with the result of its verification.
///
/// A refused item contributes nothing to the entitlements. It is reported and does not refuse the
/// others.
public struct EvidenceItem: Equatable, Sendable {
    /// The caller's name for the item, such as a file name.
    public var label: String?
    package private(set) var decision: Decision
    /// What a server named, which keeps the payload, or the caller. Nil: the evidence names them.
    private var named: EvidenceIdentifiers?

    /// The verification of the evidence.
    public var verification: Verification {
        get { decision.verification }
        set { decision = Decision(newValue) }
    }

    /// What a backend files it under.
    public var identifiers: EvidenceIdentifiers {
        get { named ?? EvidenceIdentifiers(of: decision.verification.evidence) }
        set { named = newValue }
    }

    /// Creates an item. A verification without its payload, as a server answers it, needs its
    /// `identifiers`.
    public init(
        _ verification: Verification, label: String? = nil,
        identifiers: EvidenceIdentifiers? = nil
    ) {
        self.label = label
        decision = Decision(verification)
        named = identifiers
    }

    /// Creates an item of this process.
    package init(_ decision: Decision, label: String?) {
        self.label = label
        self.decision = decision
    }

    /// Whether both have the same label, verification and identifiers.
    public static func == (left: EvidenceItem, right: EvidenceItem) -> Bool {
        left.label == right.label && left.decision == right.decision
            && left.identifiers == right.identifiers
    }
}
