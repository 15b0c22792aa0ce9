package import AssayMint
package import AssayModels

/// The settings of a local App Store.
package struct StoreSettings: Sendable {
    /// Signs everything that the store answers and sends.
    package var authority: DevelopmentCA
    /// Signs receipts; without it there are none.
    package var receipts: ReceiptCA?
    /// The password of verifyReceipt and of version 1 notifications; nil: any is accepted.
    package var sharedSecret: String?
    package var bundleId: String
    package var appAppleId: Int64
    /// The moment at which the store's time begins.
    package var start: Timestamp
    package var tokens: TokenCheck
    /// Where notifications go; none are sent without.
    var targets: [NotificationRoute: NotificationTarget] = [:]
    /// Items of a page.
    package var pageSize: Int
    /// Whether requests beyond Apple's limits are answered with 429.
    package var limitsRates: Bool
    /// Whether a notification that the backend answers with 400 is sent again.
    package var sendsAgainAfter400: Bool

    package init(
        authority: DevelopmentCA, receipts: ReceiptCA? = nil, sharedSecret: String? = nil,
        bundleId: String = "com.example.game",
        appAppleId: Int64 = 1_234_567_890, start: Timestamp,
        tokens: TokenCheck = TokenCheck(keys: [], issuer: nil),
        production: NotificationTarget? = nil, sandbox: NotificationTarget? = nil,
        productionV1: NotificationTarget? = nil, sandboxV1: NotificationTarget? = nil,
        pageSize: Int? = nil, limitsRates: Bool = true, sendsAgainAfter400: Bool = true
    ) {
        self.authority = authority
        self.receipts = receipts
        self.sharedSecret = sharedSecret
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.start = start
        self.tokens = tokens
        targets[.production] = production
        targets[.sandbox] = sandbox
        targets[.productionV1] = productionV1
        targets[.sandboxV1] = sandboxV1
        self.pageSize = min(max(pageSize ?? LocalStoreLimits.page, 1), 1000)
        self.limitsRates = limitsRates
        self.sendsAgainAfter400 = sendsAgainAfter400
    }

    func target(_ environment: APIEnvironment, isVersion1: Bool = false) -> NotificationTarget? {
        targets[NotificationRoute(environment, isVersion1: isVersion1)]
    }
}

/// The URLs of an app's notifications in App Store Connect.
enum NotificationRoute: String, CaseIterable, Sendable {
    case production = "Production"
    case sandbox = "Sandbox"
    case productionV1 = "Production 1"
    case sandboxV1 = "Sandbox 1"

    init(_ environment: APIEnvironment, isVersion1: Bool) {
        switch environment {
        case .production: self = isVersion1 ? .productionV1 : .production
        case .sandbox: self = isVersion1 ? .sandboxV1 : .sandbox
        }
    }
}

/// A local App Store: customers, what Apple's server would answer about them, and the
/// notifications that fall due. A value without clock, sockets or threads: requests and results
/// of sending in, answers and notifications to send out.
package struct LocalStore: Sendable {
    private(set) var settings: StoreSettings
    let minter: Minter
    /// Signs and verifies receipts; nil where the settings have no authority for them.
    let receipts: StoreReceipts?
    /// When the authority's signatures end: the store's time cannot pass it.
    let lastMoment: Int64
    /// The store's time, in milliseconds since 1970.
    var now: Timestamp
    var customers: [StoreCustomer] = []
    /// The number of the last identity that a customer got.
    private var lastIdentity = 0
    var notifications = NotificationLog()
    var faults = FaultList()
    var limits = RateLimits()
    var messaging: [APIEnvironment: RetentionMessaging] = [:]
    var seatClaims: [SeatClaim] = []
    /// The claims so far, also those that were given up.
    var seatClaimCount = 0
    var externalReports = ExternalPurchaseReports()
    var massExtensions: [MassExtension] = []
    /// The nonces of accepted signatures, oldest first.
    var nonces: [String] = []
    var requests = RequestLog()
    /// The steps that happened since time was last moved, for the answer to POST /advance.
    var stepsTaken: [TakenStep] = []
    /// The notifications that were sent since then.
    var sent: [SentNotification] = []
    /// The moment to which time moves while notifications are sent; nil: it stands still.
    var target: Timestamp?
    /// The last problem that a step had, which ends the customer's life.
    var problem: String?

    package init(_ settings: StoreSettings) throws(MintError) {
        self.settings = settings
        minter = Minter(settings.authority.chain)
        receipts = try settings.receipts.map { (ca) throws(MintError) in try StoreReceipts(ca) }
        now = settings.start
        let validity = try settings.authority.leafValidity
        guard validity.contains(settings.start.milliseconds) else {
            throw .invalidMember(
                at: "the start",
                reason: "is a time at which the authority's certificate is not "
                    + "valid")
        }
        lastMoment = validity.upperBound
    }

    /// Replaces the URLs of notifications.
    mutating func notify(_ targets: [NotificationRoute: NotificationTarget]) {
        settings.targets = targets
    }

    /// One step of a customer's life that happened.
    struct TakenStep: Sendable {
        var customer: Int
        var at: Timestamp
        var title: String
    }

    /// One attempt to send a notification.
    struct SentNotification: Sendable {
        var words: String
        var uuid: String
        var customer: Int?
        var at: Timestamp
        var result: SendResult
        var isVersion1 = false
    }

    /// Adds a customer, whose life begins now.
    ///
    /// - Returns: its number.
    @discardableResult
    mutating func add(_ scenario: Scenario, _ environment: APIEnvironment) throws(StoreProblem)
        -> Int
    {
        guard customers.count < LocalStoreLimits.customers else {
            throw StoreProblem(
                "the store has \(LocalStoreLimits.customers) customers: start another")
        }
        let number = customers.count + 1
        let life = try life(scenario, environment)
        customers.append(StoreCustomer(number: number, environment: environment, life: life))
        move(to: now)
        return number
    }

    /// Begins the life of a customer anew, with other identifiers: what was bought is gone.
    mutating func reset(_ index: Int) throws(StoreProblem) {
        let (number, environment) = (customers[index].number, customers[index].environment)
        let life = try life(customers[index].life.scenario, environment)
        customers[index] = StoreCustomer(number: number, environment: environment, life: life)
        move(to: now)
    }

    /// Removes a customer: nothing finds what it bought any more.
    mutating func remove(_ index: Int) {
        customers[index].isRemoved = true
        customers[index].waiting = []
        customers[index].life.end()
    }

    /// A new life, which begins now.
    private mutating func life(
        _ scenario: Scenario, _ environment: APIEnvironment
    ) throws(StoreProblem) -> ScenarioCustomer {
        guard lastIdentity < LocalStoreLimits.identities else {
            throw StoreProblem("the store has no more identifiers: start another")
        }
        let identity = ScenarioIdentity(
            number: lastIdentity + 1, bundleId: settings.bundleId,
            appAppleId: settings.appAppleId, isSandbox: environment == .sandbox)
        do throws(MintError) {
            let life = try ScenarioCustomer(
                scenario, identity: identity, minter: minter, receipts: receipts?.minter,
                start: now)
            lastIdentity += 1
            return life
        } catch {
            throw StoreProblem("the scenario \(scenario.name) can't be played: \(error.message)")
        }
    }
}

/// A reason that the caller reads.
struct StoreProblem: Error, Equatable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// A customer of the store.
struct StoreCustomer: Sendable {
    let number: Int
    let environment: APIEnvironment
    var life: ScenarioCustomer
    /// Whether it was removed. Its number stays taken.
    var isRemoved = false
    /// Purchases that wait, in the order in which they were begun.
    var waiting: [WaitingPurchase] = []
    /// The number of purchases beyond the scenario.
    var purchases = 0
    /// Transactions that the app has finished, by name.
    var finished: Set<String> = []
    /// What the backend reported about consumption, by transaction id.
    var consumption: [(transactionId: String, body: [UInt8])] = []
    /// When periods were extended, by the name of the subscription's first transaction.
    var extensions: [(original: String, at: Timestamp)] = []

    /// Whether an id is one of this customer's in an environment: of a transaction, of the first
    /// one of a subscription, or of the app transaction.
    func has(_ id: String, in environment: APIEnvironment) -> Bool {
        guard !isRemoved else { return false }
        return transactions(environment).contains {
            $0.transactionId == id || $0.originalTransactionId == id
        }
            || self.environment == environment && id == life.identity.appTransactionId
    }

    func transactions(_ environment: APIEnvironment) -> [StoredTransaction] {
        life.transactions.filter { $0.environment == environment.rawValue }
    }
}

/// A purchase that the App Store has not completed. The backend has no notification of it.
struct WaitingPurchase: Sendable {
    let productId: String
    let reason: Reason

    enum Reason: String, CaseIterable, Sendable {
        /// Somebody else has to approve it: Ask to Buy, or the customer's bank.
        case pending
        /// The customer has to do something outside the app first, such as agree to terms.
        case interrupted
    }
}
