/// The notifications that the App Store sends about one step of a scenario by itself: about each
/// purchase, renewal, refund, change of renewal and end that no notification of the step's evidence
/// names. `docs/local-store.md` has the table.
struct StepNotifications {
    private let step: ScenarioStep
    private let before: ScenarioState
    private let after: ScenarioState
    /// What the notifications of the evidence are about.
    private let scripted: Set<Purchase>
    /// What these and the list are about.
    private var announced: Set<Purchase>
    private var list: [ScenarioNotification] = []

    /// - Parameters:
    ///   - before: the state before the step.
    ///   - after: the state after it.
    static func list(
        _ step: ScenarioStep, from before: ScenarioState, to after: ScenarioState
    ) -> [ScenarioNotification] {
        guard step.notifies else { return [] }
        var notifications = Self(step, before, after)
        notifications.addPurchases()
        notifications.addChanges()
        notifications.addRenewals()
        notifications.addDue()
        return notifications.list
    }

    private init(_ step: ScenarioStep, _ before: ScenarioState, _ after: ScenarioState) {
        self.step = step
        self.before = before
        self.after = after
        let notified = step.evidence.flatMap(\.notifications).compactMap(\.transaction)
            .compactMap { name in after.transactions[name].map { Purchase(name, $0) } }
        scripted = Set(notified)
        announced = scripted
    }

    /// The identity of a purchase. A copy of it on another device has a transaction id of its own.
    private struct Purchase: Hashable {
        let original: String
        let id: String

        init(_ name: String, _ transaction: ScenarioState.Transaction) {
            original = transaction.original
            switch (transaction.payload.type, transaction.payload.string("webOrderLineItemId")) {
            case ("Non-Consumable", _): id = ""
            case (_, let line?) where line != "0": id = "line \(line)"
            default: id = "transaction \(name)"
            }
        }
    }

    /// Calls the body for each transaction of the step, in the order of the file. Another app has a
    /// URL of its own, to which the store does not send.
    private func transactions(
        _ body: (String, ScenarioState.Transaction) -> Void
    ) {
        for name in step.transactions.map(\.name) {
            guard let transaction = after.transactions[name],
                transaction.payload.string("bundleId") == ScenarioState.bundleId
            else { continue }
            body(name, transaction)
        }
    }

    private mutating func add(_ words: String, of name: String) {
        guard let transaction = after.transactions[name] else { return }
        list.append(ScenarioNotification(words: words, of: name, path: "the step"))
        announced.insert(Purchase(name, transaction))
    }

    // MARK: Purchases

    private mutating func addPurchases() {
        var known = Set(before.transactions.map { Purchase($0.key, $0.value) })
        var bought: [(name: String, words: String)] = []
        transactions { name, transaction in
            guard before.transactions[name] == nil else { return }
            let purchase = Purchase(name, transaction)
            guard known.insert(purchase).inserted, !announced.contains(purchase) else { return }
            bought.append((name, words(ofPurchase: name, transaction)))
        }
        for (name, words) in bought { add(words, of: name) }
    }

    private func words(ofPurchase name: String, _ transaction: ScenarioState.Transaction) -> String
    {
        let payload = transaction.payload
        guard payload.renews else { return "ONE_TIME_CHARGE" }
        let earlier = after.order.prefix { $0 != name }
            .filter { after.transactions[$0]?.original == transaction.original }
        guard let last = latest(of: earlier) else { return firstWords(name, payload) }
        if payload.isSeatAddition { return "DID_CHANGE_RENEWAL_PREF INCREASE_QUANTITY" }
        let bought = payload.time("purchaseDate") ?? 0
        let end = last.time("expiresDate") ?? .max
        let isUpgrade = earlier.contains { other in
            after.transactions[other]?.payload.isUpgraded == true
                && before.transactions[other]?.payload.isUpgraded != true
        }
        if isUpgrade || bought < end && last.string("productId") != payload.string("productId") {
            return "DID_CHANGE_RENEWAL_PREF UPGRADE"
        }
        let renewal = before.changedRenewal(of: transaction.original)
        if renewal.isInRetry { return "DID_RENEW BILLING_RECOVERY" }
        let ended =
            renewal.number("autoRenewStatus") == 0 || renewal["expirationIntent"] != nil
            || payload.string("transactionReason") == "PURCHASE"
        return bought > end && ended ? "SUBSCRIBED RESUBSCRIBE" : "DID_RENEW"
    }

    /// Of the first transaction of a subscription.
    private func firstWords(_ name: String, _ payload: PayloadMembers) -> String {
        if payload["previousOriginalTransactionId"] != nil { return "MIGRATION" }
        // An offer of this type is for customers who come back.
        if payload.number("offerType") == 4 { return "SUBSCRIBED RESUBSCRIBE" }
        let group = payload.string("subscriptionGroupIdentifier")
        let isBack = before.transactions.values.contains { other in
            other.payload.renews && group != nil
                && other.payload.string("subscriptionGroupIdentifier") == group
                && other.payload.string("environment") == payload.string("environment")
        }
        return isBack ? "SUBSCRIBED RESUBSCRIBE" : "SUBSCRIBED INITIAL_BUY"
    }

    private func latest(of names: [String]) -> PayloadMembers? {
        names.compactMap { after.transactions[$0]?.payload }
            .max { $0.time("purchaseDate") ?? 0 < $1.time("purchaseDate") ?? 0 }
    }

    // MARK: Refunds, revocations and extensions

    private mutating func addChanges() {
        // A purchase that was refunded within the step has a notification of each.
        var seen = scripted
        var changed: [(name: String, words: String)] = []
        transactions { name, transaction in
            let old = before.transactions[name]?.payload ?? PayloadMembers()
            guard let words = Self.words(ofChange: old, transaction.payload),
                seen.insert(Purchase(name, transaction)).inserted
            else { return }
            changed.append((name, words))
        }
        for (name, words) in changed { add(words, of: name) }
    }

    private static func words(ofChange old: PayloadMembers, _ new: PayloadMembers) -> String? {
        let (was, now) = (old.time("revocationDate"), new.time("revocationDate"))
        if let now, was != now { return refund(new) }
        if was != nil, now == nil { return "REFUND_REVERSED" }
        let seats = (old.number("revokedSeatQuantity"), new.number("revokedSeatQuantity"))
        if seats.1 ?? 0 > seats.0 ?? 0 { return "REFUND SEATS" }
        if new.itemRefunds > old.itemRefunds { return "REFUND" }
        guard let end = old.time("expiresDate"), new.time("expiresDate") ?? 0 > end else {
            return nil
        }
        return "RENEWAL_EXTENDED"
    }

    private static func refund(_ payload: PayloadMembers) -> String {
        let type = payload.string("revocationType")
        if ["FAMILY_SHARED", "ASSIGNED"].contains(payload.string("inAppOwnershipType"))
            || ["FAMILY_REVOKE", "ASSIGNMENT_REVOKE"].contains(type)
        {
            return "REVOKE"
        }
        return payload.isSeatAddition ? "REFUND SEATS" : "REFUND"
    }

    // MARK: Changes of renewal

    private mutating func addRenewals() {
        for original in step.renewals.map(\.name) {
            let periods = after.order.filter { after.transactions[$0]?.original == original }
            let isAnnounced = periods.contains { name in
                after.transactions[name].map { announced.contains(Purchase(name, $0)) } ?? false
            }
            guard !isAnnounced, let latest = latest(of: periods),
                latest.string("bundleId") == ScenarioState.bundleId,
                let name = periods.last(where: {
                    after.transactions[$0]?.payload.string("transactionId")
                        == latest.string("transactionId")
                }),
                let words = words(
                    ofRenewal: before.changedRenewal(of: original),
                    after.changedRenewal(of: original), latest)
            else { continue }
            add(words, of: name)
        }
    }

    private func words(
        ofRenewal old: PayloadMembers, _ new: PayloadMembers, _ latest: PayloadMembers
    ) -> String? {
        if new.isInRetry {
            let grace = (old.time("gracePeriodExpiresDate"), new.time("gracePeriodExpiresDate"))
            if !old.isInRetry {
                return "DID_FAIL_TO_RENEW" + (grace.1 == nil ? "" : " GRACE_PERIOD")
            }
            return grace.0 != nil && grace.1 == nil ? "GRACE_PERIOD_EXPIRED" : nil
        }
        if let intent = new.number("expirationIntent"),
            latest.time("expiresDate") ?? .max <= step.at,
            old.isInRetry || old.number("expirationIntent") != intent
        {
            return Self.expired(intent)
        }
        let renews = (old.number("autoRenewStatus") ?? 1, new.number("autoRenewStatus") ?? 1)
        if renews.0 != renews.1 {
            let status = renews.1 == 0 ? "AUTO_RENEW_DISABLED" : "AUTO_RENEW_ENABLED"
            return "DID_CHANGE_RENEWAL_STATUS " + status
        }
        let current = latest.string("productId")
        let next = (
            old.string("autoRenewProductId") ?? current, new.string("autoRenewProductId") ?? current
        )
        guard next.0 != next.1 else { return nil }
        return "DID_CHANGE_RENEWAL_PREF" + (next.1 == current ? "" : " DOWNGRADE")
    }

    /// The words of an end, by `expirationIntent`; no subtype for other reasons.
    static func expired(_ intent: Int64) -> String {
        ["EXPIRED", reasons[intent]].compactMap(\.self).joined(separator: " ")
    }

    private static let reasons: [Int64: String] = [
        1: "VOLUNTARY", 2: "BILLING_RETRY", 3: "PRICE_INCREASE", 4: "PRODUCT_NOT_FOR_SALE",
    ]

    // MARK: What time brings

    /// Adds what time alone brings at the moment of the step, unless the step notifies it.
    private mutating func addDue() {
        let scripted = step.evidence.flatMap(\.notifications)
        for event in after.due(at: step.at) {
            let original = original(of: event.notification)
            let isNotified = (scripted + list).contains {
                $0.type == event.notification.type && self.original(of: $0) == original
            }
            if !isNotified { list.append(event.notification) }
        }
    }

    private func original(of notification: ScenarioNotification) -> String? {
        notification.transaction.flatMap { after.transactions[$0]?.original }
    }
}

extension ScenarioEvidence {
    /// The notifications of this file, held back or not.
    fileprivate var notifications: [ScenarioNotification] {
        switch form {
        case .notification(let notification): [notification]
        case .notificationHistory(let list): list
        default: []
        }
    }
}

extension PayloadMembers {
    fileprivate var type: String { string("type") ?? "" }

    fileprivate var isSeatAddition: Bool {
        string("additionalTransactionReason") == "SEAT_ADDITION"
    }

    /// The refunds of items of the Advanced Commerce API.
    fileprivate var itemRefunds: Int {
        guard case .object(let info) = self["advancedCommerceInfo"] else { return 0 }
        return PayloadMembers().applying(info).elements("items")
            .reduce(0) { $0 + $1.elements("refunds").count }
    }

    private func elements(_ name: String) -> [PayloadMembers] {
        guard case .array(let values) = self[name] else { return [] }
        return values.map { value in
            guard case .object(let changes) = value else { return PayloadMembers() }
            return PayloadMembers().applying(changes)
        }
    }
}
