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

    /// Creates an item.
    public init(_ verification: Verification, label: String? = nil) {
        self.verification = verification
        self.label = label
    }
}
