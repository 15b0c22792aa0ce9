public import AssayModels

/// One item of evidence for `AssayClient.resolve`.
public struct ResolveItem: Equatable, Sendable {
    /// The evidence as the app or Apple sent it; for a notification, the posted body.
    public var evidence: [UInt8]
    /// The kind of the evidence; nil: the server detects it.
    public var kind: EvidenceKind?
    /// The caller's name for the item, such as a file name.
    public var label: String?

    /// Creates an item.
    public init(_ evidence: [UInt8], as kind: EvidenceKind? = nil, label: String? = nil) {
        self.evidence = evidence
        self.kind = kind
        self.label = label
    }
}
