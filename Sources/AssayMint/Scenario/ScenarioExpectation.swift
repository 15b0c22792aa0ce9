/// What a customer owns after a step. Members that a line does not have are those of the deciding
/// transaction and of the newest renewal information.
struct ScenarioExpectation: Sendable {
    var groups: [Group] = []
    /// Non-consumables and non-renewing subscriptions.
    var products: [Product] = []
    var consumables: [Consumable] = []
    var nextChange = NextChange.earliestEnd
    /// Codes of warnings, sorted.
    var warnings: [String] = []
    var isStale = false
    /// Whether the evidence is of several customers.
    var isConflicting = false

    enum NextChange: Sendable {
        /// The earliest end of an entitlement in the answer; none without such an end.
        case earliestEnd
        case never
        case at(Int64)
    }

    /// A subscription group, or one of its subscriptions.
    struct Group: Sendable {
        var status: String
        /// End of the entitlement; nil: not entitled.
        var until: Int64?
        /// The deciding transaction.
        var by: String
        /// The transaction whose members the line has; nil: the deciding one.
        var of: String?
        var isTrial = false
        /// Whether the line is of another account than the policy's.
        var isOfAnother = false
        /// Index of the deciding item; nil: the first with that transaction's newest state.
        var item: Int?
        /// All subscriptions of the group; empty: this one alone.
        var subscriptions: [Group] = []
        var path: String
    }

    struct Product: Sendable {
        var isEntitled: Bool
        var until: Int64?
        var by: String
        /// Whether the line is of another account than the policy's.
        var isOfAnother = false
        var item: Int?
        var path: String
    }

    struct Consumable: Sendable {
        var by: String
        var revokedPercentage: Int64 = 0
        var path: String
    }

    /// The ends of entitlements.
    var ends: [Int64] { groups.compactMap(\.until) + products.compactMap(\.until) }
}
