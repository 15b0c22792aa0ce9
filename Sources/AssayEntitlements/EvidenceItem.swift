public import AssayModels

/// One item of evidence with the result of its verification.
///
/// A refused item contributes nothing to the entitlements. It is reported and does not refuse the
/// others.
public struct EvidenceItem: Sendable {
    /// The caller's name for the item, such as a file name.
    public var label: String?
    /// The verification of the evidence.
    public var verification: Verification
    /// What a server named, which keeps the payload.
    private let named: EvidenceIdentifiers?

    /// What a backend files it under.
    public var identifiers: EvidenceIdentifiers {
        named ?? EvidenceIdentifiers(of: verification.evidence)
    }

    /// Creates an item. A verification without its payload, as a server answers it, needs its
    /// `identifiers`.
    public init(
        _ verification: Verification, label: String? = nil,
        identifiers: EvidenceIdentifiers? = nil
    ) {
        self.verification = verification
        self.label = label
        named = identifiers
    }
}
