public import AssayModels
import AssayWire

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

/// The parts of valid items that `AssayClient.resolve` returns, beside verdicts and entitlements.
public struct ReturnedPayloads: OptionSet, Sendable {
    /// The bits of the members.
    public let rawValue: Int

    /// Creates a set from its bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The payload as typed fields.
    public static let typed = ReturnedPayloads(rawValue: 1)
    /// The signed JSON.
    public static let json = ReturnedPayloads(rawValue: 2)
}

/// The answer to `AssayClient.resolve`.
public struct ResolveAnswer: Equatable, Sendable {
    /// One for each item, in order.
    public let items: [Item]
    /// What the valid items say together. `decidedBy` refers to items by index.
    public let entitlements: Entitlements

    /// The outcome of one item.
    public struct Item: Equatable, Sendable {
        /// The label of the request.
        public let label: String?
        /// The verification, as of a call for this item alone. Its kind is nil if the server could
        /// not detect it.
        public let verification: Verification
        /// The signed JSON if the call requested it and the verdict is VALID; otherwise empty.
        public let payloadJSON: [UInt8]
        /// Whether newer items replace it whole: without it the answer is the same.
        public let isSuperseded: Bool
        /// What a backend files it under.
        public let identifiers: EvidenceIdentifiers
    }

    /// Nil if the lengths of the items' JSON do not add up to the body's, or an item has no
    /// outcome.
    init?(_ resolution: Resolution, _ body: [UInt8], itemCount: Int) {
        guard resolution.items.count == itemCount else { return nil }
        var items: [Item] = []
        items.reserveCapacity(itemCount)
        var start = 0
        for item in resolution.items {
            let end = start + Int(item.payloadJSONLength)
            guard end <= body.count else { return nil }
            items.append(
                Item(
                    label: item.label, verification: item.verification,
                    payloadJSON: Array(body[start..<end]), isSuperseded: item.isSuperseded,
                    identifiers: item.identifiers))
            start = end
        }
        guard start == body.count else { return nil }
        self.items = items
        entitlements = resolution.entitlements
    }
}
