/// What time alone brings to a subscription: its grace period ends without a payment, or the last
/// period of one whose renewal is off.
struct DueEvent {
    /// Milliseconds after the start.
    let at: Int64
    let title: String
    let notification: ScenarioNotification

    init(_ words: String, of transaction: String, at time: Int64, title: String) {
        at = time
        self.title = title
        notification = ScenarioNotification(words: words, of: transaction, path: "its time")
    }
}

extension ScenarioState {
    /// The first of these events that are later than a time: several, if they have one time.
    func due(after time: Int64) -> [DueEvent] {
        let later = dueEvents.filter { $0.at > time }
        let first = later.map(\.at).min()
        return later.filter { $0.at == first }
    }

    /// Those at a time.
    func due(at time: Int64) -> [DueEvent] { dueEvents.filter { $0.at == time } }

    private var dueEvents: [DueEvent] { renewals.keys.sorted().compactMap(dueEvent) }

    private func dueEvent(of original: String) -> DueEvent? {
        guard let (name, end) = lastPeriod(of: original) else { return nil }
        let renewal = changedRenewal(of: original)
        if renewal.isInRetry {
            // Where a later period goes on, the information is of an earlier one.
            guard let grace = renewal.time("gracePeriodExpiresDate"), end <= grace else {
                return nil
            }
            return DueEvent(
                "GRACE_PERIOD_EXPIRED", of: name, at: grace, title: "the grace period ends")
        }
        guard renewal.number("autoRenewStatus") == 0 else { return nil }
        return DueEvent(
            StepNotifications.expired(renewal.number("expirationIntent") ?? Self.voluntary),
            of: name, at: end, title: "the subscription ends")
    }

    /// The customer turned renewal off.
    private static let voluntary: Int64 = 1

    /// Notes what the App Store knows of a subscription when it has notified its end.
    mutating func didNotify(_ notification: ScenarioNotification) {
        guard notification.type == "EXPIRED",
            let original = notification.transaction.flatMap({ transactions[$0]?.original }),
            changedRenewal(of: original)["expirationIntent"] == nil
        else { return }
        changeRenewal(
            of: original,
            [PayloadChange(name: "expirationIntent", value: .number(Self.voluntary))])
    }

    /// The period of a subscription that ends last, of those that were neither replaced nor
    /// refunded.
    private func lastPeriod(of original: String) -> (name: String, end: Int64)? {
        var last: (name: String, end: Int64)?
        for name in order {
            guard let transaction = transactions[name], transaction.original == original,
                transaction.payload.string("bundleId") == Self.bundleId,
                transaction.payload["revocationDate"] == nil, !transaction.payload.isUpgraded,
                let end = transaction.payload.time("expiresDate"), end >= last?.end ?? .min
            else { continue }
            last = (name, end)
        }
        return last
    }

    /// The members of a subscription's renewal information that the scenario has set.
    func changedRenewal(of original: String) -> PayloadMembers {
        PayloadMembers().applying(renewals[original] ?? [])
    }
}

extension PayloadMembers {
    var isInRetry: Bool { bool("isInBillingRetryPeriod") }
    var isUpgraded: Bool { bool("isUpgraded") }

    private func bool(_ name: String) -> Bool {
        if case .bool(true) = self[name] { true } else { false }
    }
}

extension ScenarioNotification {
    /// - Parameter words: the type, and after a space the subtype.
    init(words: String, of transaction: String, path: String) {
        let words = words.split(separator: " ").map(String.init)
        self.init(type: words[0], subtype: words.count > 1 ? words[1] : nil, path: path)
        self.transaction = transaction
    }
}
