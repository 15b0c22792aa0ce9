public import AssayModels

/// The items of a Resolve request, and what to decide about them. The body of the frame is the
/// items' bytes, one after the other.
public struct ResolveCall: Equatable, Sendable {
    /// The items, in the order of their bytes.
    public var items: [Item]
    /// The moment of the decision; nil for the server's clock. Evidence that was signed later is
    /// refused.
    public var at: Timestamp?
    /// What the caller decides, because the evidence does not say it.
    public var policy: EntitlementPolicy
    /// The caller's expectations of every item, which narrow the server's policy.
    public var expectations: Expectations
    /// Return the payload of each valid item as typed protobuf fields.
    public var returnsTypedPayloads: Bool
    /// Return the signed JSON of each valid item in the body, one after the other.
    public var returnsPayloadJSON: Bool

    /// Creates a call.
    public init(
        items: [Item], at: Timestamp? = nil, policy: EntitlementPolicy = EntitlementPolicy(),
        expectations: Expectations = .none, returnsTypedPayloads: Bool = false,
        returnsPayloadJSON: Bool = false
    ) {
        self.items = items
        self.at = at
        self.policy = policy
        self.expectations = expectations
        self.returnsTypedPayloads = returnsTypedPayloads
        self.returnsPayloadJSON = returnsPayloadJSON
    }

    /// The bytes that the body must have.
    public var evidenceBytes: Int { items.reduce(0) { $0 + Int($1.length) } }

    /// One item of evidence, whose bytes are in the body.
    public struct Item: Equatable, Sendable {
        /// The kind of the evidence.
        public var kind: Kind
        /// The number of bytes in the body.
        public var length: UInt32
        /// The caller's name for the item, echoed in the answer.
        public var label: String?

        /// Creates an item.
        public init(_ kind: Kind = .detected, length: UInt32, label: String? = nil) {
            self.kind = kind
            self.length = length
            self.label = label
        }
    }

    /// The kind of an item.
    public enum Kind: Equatable, Sendable {
        /// The server detects it.
        case detected
        /// The caller names it.
        case named(EvidenceKind)
        /// The number of a kind that a newer client knows. The server answers UNIMPLEMENTED.
        case unknown(UInt32)

        /// Whether the kind is of a newer client.
        package var isUnknown: Bool {
            if case .unknown = self { true } else { false }
        }
    }
}

/// The result of a Resolve.
public struct Resolution: Equatable, Sendable {
    /// One for each item of the request, in its order.
    public var items: [ResolvedItem]
    /// What the valid items say together.
    public var entitlements: Entitlements

    /// Creates a result.
    public init(items: [ResolvedItem], entitlements: Entitlements) {
        self.items = items
        self.entitlements = entitlements
    }
}

/// The outcome of one item of a Resolve.
public struct ResolvedItem: Equatable, Sendable {
    /// The item, with the verification as of a Verify of this item alone. In an answer that was
    /// received, its evidence is present if typed payloads were requested; its kind is nil if the
    /// server could not detect it.
    public var item: EvidenceItem
    /// Whether a server leaves the payload out of its answer.
    package var omitsPayload = false
    /// The number of bytes of the item's JSON in the answer's body.
    public var payloadJSONLength: UInt32
    /// Whether newer items replace it whole: without it the answer is the same.
    public var isSuperseded: Bool

    /// The label of the request.
    public var label: String? { item.label }
    /// The verification of the item.
    public var verification: Verification { item.verification }
    /// What a backend files it under.
    public var identifiers: EvidenceIdentifiers { item.identifiers }

    /// Creates an outcome.
    public init(_ item: EvidenceItem, payloadJSONLength: UInt32 = 0, isSuperseded: Bool = false) {
        self.item = item
        self.payloadJSONLength = payloadJSONLength
        self.isSuperseded = isSuperseded
    }
}
