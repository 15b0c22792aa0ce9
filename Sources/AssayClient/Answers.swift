public import AssayModels
import AssayWire

/// The answer to `AssayClient.verify`.
public struct VerifyAnswer: Equatable, Sendable {
    /// The verdict, and the typed payload if the call requested it.
    public let verification: Verification
    /// The requested JSON if the verdict is VALID; otherwise empty.
    public let payloadJSON: [UInt8]
}

/// The answer to `AssayClient.resolve`.
public struct ResolveAnswer: Equatable, Sendable {
    /// One for each item, in order.
    public let items: [Item]
    /// What the valid items say together. `decidedBy` refers to items by index.
    public let entitlements: Entitlements

    /// The outcome of one item.
    public struct Item: Equatable, Sendable {
        /// The label of the request; of a fetched item, the App Store's list that it is of.
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
            items.append(Item(item, payloadJSON: Array(body[start..<end])))
            start = end
        }
        guard start == body.count else { return nil }
        self.items = items
        entitlements = resolution.entitlements
    }
}

/// The answer to `AssayClient.fetch`.
public struct FetchAnswer: Equatable, Sendable {
    /// The environment that knows the customer.
    public let environment: StoreEnvironment
    /// The revision at the end of the history; nil if the history was not asked for.
    public let revision: String?
    /// The answers of the App Store as evidence, each verified.
    public let items: [ResolveAnswer.Item]
    /// What the answers say together. `decidedBy` refers to items by index.
    public let entitlements: Entitlements

    init(_ fetched: Fetched) {
        environment = fetched.environment
        revision = fetched.revision
        items = fetched.items.map { ResolveAnswer.Item($0, payloadJSON: []) }
        entitlements = fetched.entitlements
    }
}

extension ResolveAnswer.Item {
    fileprivate init(_ item: ResolvedItem, payloadJSON: [UInt8]) {
        label = item.label
        verification = item.verification
        self.payloadJSON = payloadJSON
        isSuperseded = item.isSuperseded
        identifiers = item.identifiers
    }
}
