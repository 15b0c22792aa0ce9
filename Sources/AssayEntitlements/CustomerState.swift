public import AssayModels

/// What is asked of the App Store about a customer.
public struct CustomerQuery: Equatable, Sendable {
    /// Any transaction identifier of the customer.
    public var transactionId: String
    /// The lists to ask for.
    public var lists: CustomerLists
    /// The moment of the decision; nil for the answering server's clock.
    public var at: Timestamp?
    /// What the caller decides, because the evidence does not say it.
    public var policy: EntitlementPolicy

    /// Creates a query.
    public init(
        of transactionId: String, lists: CustomerLists = .all, at: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy()
    ) {
        self.transactionId = transactionId
        self.lists = lists
        self.at = at
        self.policy = policy
    }
}

/// The App Store's lists of a customer's purchases, from which the entitlements are decided.
public struct CustomerLists: OptionSet, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The statuses of the subscriptions, with their renewal information: without it, grace periods
    /// and billing retries are unknown.
    public static let statuses = Self(rawValue: 1 << 0)
    /// The transaction history: every purchase, also those that are no subscription.
    public static let history = Self(rawValue: 1 << 1)

    /// Both.
    public static let all: Self = [.statuses, .history]
}

/// What a customer owns by the App Store's own account, and how it was found.
public struct CustomerState: Sendable {
    /// The environment that knows the customer.
    public var environment: StoreEnvironment
    /// The revision at the end of the history: with it, a later history has only what changed. Nil
    /// if the history was not asked for.
    public var revision: String?
    /// The answers as evidence, each verified, in the order in which they came.
    public var items: [EvidenceItem]
    /// What the customer owns.
    public var entitlements: Entitlements

    /// Creates a state.
    public init(
        environment: StoreEnvironment, revision: String?, items: [EvidenceItem],
        entitlements: Entitlements
    ) {
        self.environment = environment
        self.revision = revision
        self.items = items
        self.entitlements = entitlements
    }
}
