public import AssayModels

/// Fetches a customer's purchases from the App Store Server API. The customer is named by
/// `transactionId`, or by evidence in the frame's body.
public struct FetchCall: Equatable, Sendable {
    /// Any transaction identifier of the customer; empty if evidence names the customer.
    public var transactionId: String
    /// The lists to ask for; empty for all.
    public var lists: [List]
    /// The moment of the decision; nil for the server's clock.
    public var at: Timestamp?
    /// What the caller decides, because the evidence does not say it.
    public var policy: EntitlementPolicy
    /// Return the payload of each answer as typed protobuf fields.
    public var returnsTypedPayloads: Bool

    /// Creates a call.
    public init(
        of transactionId: String, lists: [List] = [], at: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), returnsTypedPayloads: Bool = false
    ) {
        self.transactionId = transactionId
        self.lists = lists
        self.at = at
        self.policy = policy
        self.returnsTypedPayloads = returnsTypedPayloads
    }

    /// A list of a customer's purchases.
    public enum List: Hashable, Sendable {
        /// The statuses of the subscriptions, with their renewal information.
        case statuses
        /// The transaction history.
        case history
        /// The number of a list that a newer client knows. The server answers INVALID_ARGUMENT.
        case unknown(UInt32)
    }
}

/// The result of a Fetch.
public struct Fetched: Equatable, Sendable {
    /// The environment that knows the customer.
    public var environment: StoreEnvironment
    /// The revision at the end of the history; nil if the history was not asked for.
    public var revision: String?
    /// The answers of the App Store as evidence, each verified.
    public var items: [ResolvedItem]
    /// What the answers say together.
    public var entitlements: Entitlements

    /// Creates a result.
    public init(
        environment: StoreEnvironment, revision: String? = nil, items: [ResolvedItem],
        entitlements: Entitlements
    ) {
        self.environment = environment
        self.revision = revision
        self.items = items
        self.entitlements = entitlements
    }
}
