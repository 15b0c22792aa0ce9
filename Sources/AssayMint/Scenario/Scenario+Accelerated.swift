extension Scenario {
    /// How much faster time goes by in the sandbox: a month of a subscription lasts five minutes,
    /// and a year an hour.
    fileprivate static let sandboxFactor: Int64 = 30 * 24 * 60 / 5

    /// The same life with the sandbox's accelerated periods. What the steps expect is not changed.
    package var accelerated: Scenario {
        Scenario(
            name: name, summary: summary, policy: policy, steps: steps.map(\.accelerated),
            products: products.mapValues { product in
                ScenarioProduct(
                    period: product.period.map { $0.accelerated },
                    members: product.members.map(\.accelerated))
            })
    }
}

extension ScenarioStep {
    fileprivate var accelerated: ScenarioStep {
        ScenarioStep(
            at: at.accelerated, title: title, transactions: transactions.map(\.accelerated),
            renewals: renewals.map(\.accelerated), evidence: evidence.map(\.accelerated),
            notifies: notifies, expectation: expectation)
    }
}

extension NamedChanges {
    fileprivate var accelerated: NamedChanges {
        NamedChanges(name: name, path: path, changes: changes.map(\.accelerated))
    }
}

extension ScenarioEvidence {
    fileprivate var accelerated: ScenarioEvidence {
        var copy = self
        copy.changes = changes.map(\.accelerated)
        switch form {
        case .notification(let notification): copy.form = .notification(notification.accelerated)
        case .notificationHistory(let list):
            copy.form = .notificationHistory(list.map(\.accelerated))
        case .transaction, .renewalInfo, .appTransaction, .receipt, .history, .statuses,
            .transactionInfo, .delivery:
            break
        }
        return copy
    }
}

extension ScenarioNotification {
    fileprivate var accelerated: ScenarioNotification {
        var copy = self
        copy.appTransaction = appTransaction?.map(\.accelerated)
        copy.data = data?.map(\.accelerated)
        copy.payload = payload.map(\.accelerated)
        return copy
    }
}

extension PayloadChange {
    fileprivate var accelerated: PayloadChange {
        PayloadChange(name: name, value: value?.accelerated)
    }
}

extension PayloadValue {
    fileprivate var accelerated: PayloadValue {
        switch self {
        case .time(let time): .time(time.accelerated)
        case .array(let values): .array(values.map(\.accelerated))
        case .object(let changes): .object(changes.map(\.accelerated))
        case .string, .number, .bool, .raw: self
        }
    }
}

extension Int64 {
    /// Milliseconds after the start.
    fileprivate var accelerated: Int64 { self / Scenario.sandboxFactor }
}
