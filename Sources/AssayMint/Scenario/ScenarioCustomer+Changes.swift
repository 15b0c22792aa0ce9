package import AssayModels

/// What a backend can change by the App Store Server API.
extension ScenarioCustomer {
    /// Sets the app account token of a purchase, and of all periods of a subscription.
    package mutating func setAppAccountToken(
        _ token: String, of original: String, at now: Timestamp
    ) {
        change(
            state.order.filter { state.transactions[$0]?.original == original },
            "appAccountToken", .string(token), at: now)
    }

    /// Moves the end of a subscription's latest period.
    ///
    /// - Returns: the new end, in milliseconds since 1970.
    package mutating func extend(
        _ subscription: StoredTransaction, byDays days: Int64, at now: Timestamp
    ) -> Int64 {
        let end = (subscription.expiresDate ?? now.milliseconds) + days * ScenarioTime.day
        change(
            [subscription.name], "expiresDate", .time(end - start.milliseconds), at: now)
        return end
    }

    /// Revokes a transaction, as a refund does.
    package mutating func revoke(_ name: String, at now: Timestamp) {
        let time = PayloadValue.time(now.milliseconds - start.milliseconds)
        state.change(
            name,
            [
                PayloadChange(name: "revocationDate", value: time),
                PayloadChange(name: "revocationReason", value: .number(0)),
                PayloadChange(name: "revocationType", value: .string("REFUND_FULL")),
                PayloadChange(name: "revocationPercentage", value: .number(100_000)),
            ])
        didModify(name, at: now.milliseconds - start.milliseconds)
    }

    /// Turns the renewal of a subscription off.
    package mutating func cancel(_ original: String) {
        state.changeRenewal(
            of: original, [PayloadChange(name: "autoRenewStatus", value: .number(0))])
    }

    /// Signs a notification about a transaction.
    package mutating func notification(
        _ type: String, _ subtype: String? = nil, of name: String, at now: Timestamp
    ) throws(MintError) -> MintedNotification {
        var notification = ScenarioNotification(type: type, subtype: subtype, path: "the call")
        notification.transaction = name
        if let subscription = subscriptions.first(where: { $0.name == name }) {
            let status = PayloadValue.number(status(of: subscription, at: now))
            notification.data = [PayloadChange(name: "status", value: status)]
        }
        let evidence = ScenarioEvidence(form: .notification(notification), path: "the call")
        return try mint(notification, evidence, at: now.milliseconds - start.milliseconds)
    }

    private mutating func change(
        _ names: [String], _ member: String, _ value: PayloadValue, at now: Timestamp
    ) {
        for name in names {
            state.change(name, [PayloadChange(name: member, value: value)])
            didModify(name, at: now.milliseconds - start.milliseconds)
        }
    }
}
