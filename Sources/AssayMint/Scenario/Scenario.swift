/// A customer's life: what was bought, renewed or refunded, the evidence of it, and what the
/// customer owns after each step.
///
/// `docs/scenarios.md` describes the files.
public struct Scenario: Sendable {
    /// The name, which `assay mint scenario` takes.
    public let name: String
    /// One sentence.
    public let summary: String
    /// The policy under which the expected answers hold.
    public let policy: ScenarioPolicy
    /// The steps in the order of time.
    public let steps: [ScenarioStep]
    let products: [String: ScenarioProduct]

    /// The environments that transactions name, sorted.
    public var environments: [String] {
        var names: Set<String> = []
        for change in steps.flatMap(\.transactions).flatMap(\.changes)
        where change.name == "environment" {
            if case .string(let name) = change.value { names.insert(name) }
        }
        return names.isEmpty ? ["Production"] : names.union(["Production"]).sorted()
    }

    /// Whether transactions of the scenario can name a product.
    package func hasProduct(_ id: String) -> Bool { products[id] != nil }

    init(
        name: String, summary: String, policy: ScenarioPolicy, steps: [ScenarioStep],
        products: [String: ScenarioProduct]
    ) {
        self.name = name
        self.summary = summary
        self.policy = policy
        self.steps = steps
        self.products = products
    }
}

/// What the caller of the entitlements decides. The default is that of `assay entitlements`.
public struct ScenarioPolicy: Sendable, Equatable {
    /// Evidence older than this number of days makes the answer stale; nil: never.
    public internal(set) var maxAgeDays: Int64?
    /// Days for which a subscription in billing retry still entitles.
    public internal(set) var billingRetryDays: Int64 = 0
    /// Hours for which a subscription stays entitled while a renewal may be late.
    public internal(set) var renewalHours: Int64 = 0
    /// The account that is asked about.
    public internal(set) var appAccountToken: String?
    /// Whether purchases that a family member shares entitle.
    public internal(set) var acceptsFamilySharing = true
    /// Days that a non-renewing subscription lasts, by product identifier.
    public internal(set) var durationDays: [String: Int64] = [:]
    /// Products of `durationDays` whose periods add up: each begins where the one before ends.
    public internal(set) var stackedProducts: Set<String> = []
}

/// A product that transactions of a scenario can name.
struct ScenarioProduct: Sendable {
    /// Milliseconds of one period of a subscription.
    var period: Int64?
    /// Members of every transaction of the product.
    var members: [PayloadChange]
}

/// One moment of a scenario.
public struct ScenarioStep: Sendable {
    /// Milliseconds after the start.
    public let at: Int64
    /// What happened, in a few words.
    public let title: String
    let transactions: [NamedChanges]
    let renewals: [NamedChanges]
    let evidence: [ScenarioEvidence]
    /// Whether a local App Store notifies of the step beyond the notifications of `evidence`.
    let notifies: Bool
    /// It is nil if the customer owns the same as after the step before.
    let expectation: ScenarioExpectation?

    /// The types and subtypes of the notifications, such as `DID_RENEW BILLING_RECOVERY`.
    public var notifications: [String] {
        evidence.flatMap { evidence -> [String] in
            switch evidence.form {
            case .notification(let notification): return [notification.words]
            case .notificationHistory(let list): return list.map(\.words)
            default: return []
            }
        }
    }

    /// The states of subscriptions that the step expects.
    public var statuses: [String] { expectation?.groups.map(\.status) ?? [] }
}

/// The changes of one transaction or of one subscription's renewal information.
struct NamedChanges: Sendable {
    /// A transaction's name, or that of the original transaction.
    var name: String
    var path: String
    var changes: [PayloadChange]
}

/// One file of evidence.
struct ScenarioEvidence: Sendable {
    var form: Form
    /// The location in the file.
    var path: String
    /// The name by which a later step delivers it.
    var name: String?
    /// Whether a later step delivers it.
    var isHeld = false
    /// Members that differ from the state, in this file alone.
    var changes: [PayloadChange] = []

    enum Form: Sendable {
        case transaction(String)
        case renewalInfo(String)
        case appTransaction
        case notification(ScenarioNotification)
        case receipt([String])
        /// Server API: transaction history.
        case history([String])
        /// Server API: all subscription statuses. Transactions with their status.
        case statuses([(transaction: String, status: Int64)])
        /// Server API: one transaction.
        case transactionInfo(String)
        /// Server API: notification history.
        case notificationHistory([ScenarioNotification])
        /// Evidence of an earlier step, unchanged.
        case delivery(String)
    }
}

/// One App Store Server Notification.
struct ScenarioNotification: Sendable {
    var type: String
    var subtype: String?
    var path: String
    /// The transaction in `data`.
    var transaction: String?
    /// Whether renewal information is beside the transaction; nil: beside a subscription's.
    var hasRenewalInfo: Bool?
    /// Members of the app transaction in `appData`.
    var appTransaction: [PayloadChange]?
    /// Members of `data`; nil: it is there with a transaction.
    var data: [PayloadChange]?
    /// Members beside `data`.
    var payload: [PayloadChange] = []
    /// Whether the file is one of version 1.
    var isVersion1 = false

    var words: String { subtype.map { type + " " + $0 } ?? type }
}
