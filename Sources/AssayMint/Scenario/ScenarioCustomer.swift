package import AssayModels

/// A customer whose life is a scenario, as an App Store knows them: what was bought so far, and
/// the signed answers about it at any moment. `ScenarioMinter` writes the same lives as files.
package struct ScenarioCustomer: Sendable {
    package let scenario: Scenario
    package let identity: ScenarioIdentity
    /// The moment of time 0.
    package let start: Timestamp
    /// The number of steps that have happened.
    package internal(set) var stepsTaken = 0
    var signer: ScenarioSigner
    var state: ScenarioState
    /// The time of the last event, in milliseconds after the start.
    private var clock = Int64.min
    /// Notifications that a later step delivers, by their name in the file.
    private var named: [String: MintedNotification] = [:]
    private var modifications: [String: (serial: Int, at: Int64)] = [:]
    private var lastSerial = 0

    /// Creates a customer without purchases. Throws the first error of the steps, if there is one.
    ///
    /// - Parameter receipts: signs the customer's receipts; nil: there are none.
    package init(
        _ scenario: Scenario, identity: ScenarioIdentity, minter: Minter,
        receipts: ReceiptMinter? = nil, start: Timestamp
    ) throws(MintError) {
        self.scenario = scenario
        self.identity = identity
        self.start = start
        signer = ScenarioSigner(
            minter, receipts: receipts, start: start.milliseconds, scenario: scenario.name,
            identity: identity)
        state = ScenarioState(products: scenario.products)
        var rehearsal = self
        while rehearsal.nextEvent != nil { _ = try rehearsal.takeEvent() }
    }

    /// What happens next to a customer.
    package struct Event: Sendable {
        package let at: Timestamp
        package let title: String
    }

    /// The next step of the scenario, or what time alone brings before it; nil if nothing follows.
    package var nextEvent: Event? {
        if let due = nextDue.first {
            return Event(at: start.advanced(by: due.at), title: due.title)
        }
        return nextStep.map { Event(at: start.advanced(by: $0.at), title: $0.title) }
    }

    private var nextStep: ScenarioStep? { scenario.steps.dropFirst(stepsTaken).first }

    /// What time alone brings before the next step. What it brings at that moment is part of the
    /// step, whose evidence can have the notification.
    private var nextDue: [DueEvent] {
        let due = state.due(after: clock)
        guard let time = due.first?.at, time < nextStep?.at ?? .max else { return [] }
        return due
    }

    /// Notes that time has passed without an event.
    package mutating func pass(to now: Timestamp) {
        clock = max(clock, now.milliseconds - start.milliseconds)
    }

    /// Takes the next step, or lets time bring what it brings before it. Returns the notifications
    /// that the App Store sends then: those of the step's evidence, after those about everything
    /// else that happened. Tokens and receipts of the step are the app's, which a store does not
    /// send.
    package mutating func takeEvent() throws(MintError) -> [MintedNotification] {
        let due = nextDue
        if let time = due.first?.at {
            clock = time
            return try mint(due.map(\.notification), at: time)
        }
        let step = scenario.steps[stepsTaken]
        let before = state
        try state.apply(step)
        stepsTaken += 1
        clock = step.at
        for transaction in step.transactions { didModify(transaction.name, at: step.at) }
        var notifications = try mint(
            StepNotifications.list(step, from: before, to: state), at: step.at)
        for evidence in step.evidence {
            switch evidence.form {
            case .notification(let notification):
                let minted = try mint(scripted: notification, evidence, at: step.at)
                if let name = evidence.name { named[name] = minted }
                if !evidence.isHeld { notifications.append(minted) }
            case .notificationHistory(let list):
                for item in list { notifications.append(try mint(item, evidence, at: step.at)) }
            case .delivery(let name):
                if let notification = named[name] { notifications.append(notification) }
            case .transaction, .renewalInfo, .appTransaction, .receipt, .history, .statuses,
                .transactionInfo:
                break
            }
        }
        return notifications
    }

    /// Signs a notification of a file. One of version 1 has what the App Store knows now.
    private mutating func mint(
        scripted notification: ScenarioNotification, _ evidence: ScenarioEvidence, at now: Int64
    ) throws(MintError) -> MintedNotification {
        guard notification.isVersion1, let name = notification.transaction else {
            return try mint(notification, evidence, at: now)
        }
        return try self.notification(
            notification.type, notification.subtype, of: name, at: start.advanced(by: now))
    }

    /// Signs notifications about transactions, as the App Store writes them.
    mutating func mint(
        _ notifications: [ScenarioNotification], at now: Int64
    ) throws(MintError) -> [MintedNotification] {
        var minted: [MintedNotification] = []
        for notification in notifications {
            guard let name = notification.transaction else { continue }
            state.didNotify(notification)
            minted.append(
                try self.notification(
                    notification.type, notification.subtype, of: name,
                    at: start.advanced(by: now)))
        }
        return minted
    }

    /// - Parameter now: milliseconds after the start.
    func mint(
        _ notification: ScenarioNotification, _ evidence: ScenarioEvidence, at now: Int64,
        uuid: String
    ) throws(MintError) -> MintedNotification {
        var tokens = ScenarioTokens(signer, state, evidence, now)
        let body = try tokens.notification(notification, uuid: uuid)
        let transaction = notification.transaction.flatMap { state.transactions[$0] }?.payload
        return MintedNotification(
            type: notification.type, subtype: notification.subtype, uuid: uuid,
            environment: identity.environment(
                transaction?.string("environment") ?? "Production"),
            transaction: notification.transaction, body: body)
    }

    mutating func mint(
        _ notification: ScenarioNotification, _ evidence: ScenarioEvidence, at now: Int64
    ) throws(MintError) -> MintedNotification {
        try mint(notification, evidence, at: now, uuid: signer.nextUUID())
    }

    mutating func didModify(_ name: String, at time: Int64) {
        lastSerial += 1
        modifications[name] = (lastSerial, time)
    }

    // MARK: What an App Store knows

    /// All transactions, in the order of their purchases.
    package var transactions: [StoredTransaction] { state.order.compactMap(transaction) }

    /// The transaction with this name in the scenario.
    package func transaction(_ name: String) -> StoredTransaction? {
        guard let transaction = state.transactions[name] else { return nil }
        let (serial, at) = modifications[name] ?? (0, 0)
        return StoredTransaction(
            name: name, original: transaction.original,
            payload: identity.applied(to: transaction.payload), start: start.milliseconds,
            serial: serial, modified: start.milliseconds + at)
    }

    /// The subscriptions: the latest transaction of each that was not upgraded to another.
    package var subscriptions: [StoredTransaction] {
        var latest: [String: StoredTransaction] = [:]
        var order: [String] = []
        for transaction in transactions where transaction.group != nil {
            guard let before = latest[transaction.original] else {
                order.append(transaction.original)
                latest[transaction.original] = transaction
                continue
            }
            // Seats that were added and refunded leave the period to the others.
            let isLater =
                transaction.purchaseDate >= before.purchaseDate
                && !(transaction.isSeatAddition && transaction.revocationDate != nil)
            if before.isUpgraded || (isLater && !transaction.isUpgraded) {
                latest[transaction.original] = transaction
            }
        }
        return order.compactMap { latest[$0] }
    }

    /// The status of a subscription in the App Store Server API: 1 active, 2 expired, 3 billing
    /// retry, 4 grace period, 5 revoked.
    ///
    /// - Parameter subscription: its latest transaction.
    package func status(of subscription: StoredTransaction, at now: Timestamp) -> Int64 {
        if subscription.revocationDate != nil { return 5 }
        if now.milliseconds < subscription.expiresDate ?? .max { return 1 }
        let changes = state.renewals[subscription.original] ?? []
        let renewal = PayloadMembers().applying(changes)
        let grace = renewal.time("gracePeriodExpiresDate").map { start.milliseconds + $0 }
        if let grace, now.milliseconds < grace { return 4 }
        if case .bool(true) = renewal["isInBillingRetryPeriod"] { return 3 }
        return 2
    }

    // MARK: Signed answers

    /// - Parameter bundleId: another app's, for an answer that is wrong on purpose.
    package func signedTransaction(
        _ name: String, at now: Timestamp, bundleId: String? = nil
    ) throws(MintError) -> String {
        var tokens = tokens(.transaction(name), at: now)
        let changes = bundleId.map { [PayloadChange(name: "bundleId", value: .string($0))] }
        return String(decoding: try tokens.transaction(name, changes ?? []), as: UTF8.self)
    }

    /// - Parameter original: the name of the subscription's first transaction.
    package func signedRenewalInfo(
        _ original: String, at now: Timestamp
    ) throws(MintError) -> String {
        var tokens = tokens(.renewalInfo(original), at: now)
        return String(decoding: try tokens.renewal(original), as: UTF8.self)
    }

    package func signedAppTransaction(at now: Timestamp) throws(MintError) -> String {
        var tokens = tokens(.appTransaction, at: now)
        return String(decoding: try tokens.appTransaction([]), as: UTF8.self)
    }

    func tokens(_ form: ScenarioEvidence.Form, at now: Timestamp) -> ScenarioTokens {
        ScenarioTokens(
            signer, state, ScenarioEvidence(form: form, path: "the answer"),
            now.milliseconds - start.milliseconds)
    }
}

/// One App Store Server Notification, signed.
package struct MintedNotification: Sendable {
    package let type: String
    package let subtype: String?
    package let uuid: String
    package let environment: String
    /// The name of its transaction in the scenario.
    package let transaction: String?
    package let isVersion1: Bool
    /// The JSON object that the App Store posts.
    package let body: [UInt8]

    package init(
        type: String, subtype: String?, uuid: String, environment: String,
        transaction: String? = nil, isVersion1: Bool = false, body: [UInt8]
    ) {
        self.type = type
        self.subtype = subtype
        self.uuid = uuid
        self.environment = environment
        self.transaction = transaction
        self.isVersion1 = isVersion1
        self.body = body
    }

    /// Such as `DID_RENEW BILLING_RECOVERY`.
    package var words: String { subtype.map { type + " " + $0 } ?? type }
}

/// The facts of one transaction by which an App Store finds, filters and sorts it. Times are
/// milliseconds since 1970.
package struct StoredTransaction: Sendable {
    /// Its name in the scenario, and that of the first transaction of its subscription.
    package let name: String
    package let original: String
    package let transactionId: String
    package let originalTransactionId: String
    package let productId: String
    package let type: String
    package let group: String?
    package let environment: String
    package let bundleId: String
    package let ownership: String
    package let purchaseDate: Int64
    package let expiresDate: Int64?
    package let revocationDate: Int64?
    package let isUpgraded: Bool
    package let isSeatAddition: Bool
    /// The seats of a purchase whose invitations the app's developer manages; nil for others.
    package let seats: Int64?
    package let appAccountToken: String?
    /// Grows with each change of a transaction of the customer.
    package let serial: Int
    package let modified: Int64

    init(
        name: String, original: String, payload: PayloadMembers, start: Int64, serial: Int,
        modified: Int64
    ) {
        self.name = name
        self.original = original
        self.serial = serial
        self.modified = modified
        transactionId = payload.string("transactionId") ?? name
        originalTransactionId = payload.string("originalTransactionId") ?? original
        productId = payload.string("productId") ?? ""
        type = payload.string("type") ?? ""
        group = payload.string("subscriptionGroupIdentifier")
        environment = payload.string("environment") ?? ""
        bundleId = payload.string("bundleId") ?? ""
        ownership = payload.string("inAppOwnershipType") ?? ""
        purchaseDate = start + (payload.time("purchaseDate") ?? 0)
        expiresDate = payload.time("expiresDate").map { start + $0 }
        revocationDate = payload.time("revocationDate").map { start + $0 }
        if case .bool(true) = payload["isUpgraded"] {
            isUpgraded = true
        } else {
            isUpgraded = false
        }
        isSeatAddition = payload.string("additionalTransactionReason") == "SEAT_ADDITION"
        appAccountToken = payload.string("appAccountToken")
        if case .object(let info) = payload["multiSeatInfo"],
            case .string("DEVELOPER") =
                info.first(where: { $0.name == "invitationManagement" })?.value
        {
            seats = payload.number("quantity") ?? 1
        } else {
            seats = nil
        }
    }
}
