package import AssayModels

/// What a customer does beyond the steps of the scenario.
extension ScenarioCustomer {
    package var storefront: Storefront {
        get { state.storefront }
        set { state.storefront = newValue }
    }

    /// Whether the customer can buy a product: it is one of the scenario.
    package func canBuy(_ productId: String) -> Bool { scenario.hasProduct(productId) }

    /// Buys a product now. A subscription of a group that the customer has already is a change to
    /// that product, or a renewal after the end.
    ///
    /// - Returns: the notifications that the App Store sends then.
    package mutating func buy(
        _ productId: String, at now: Timestamp
    ) throws(MintError) -> [MintedNotification] {
        let time = now.milliseconds - start.milliseconds
        let name = purchaseName
        var changes = [PayloadChange(name: "productId", value: .string(productId))]
        var transactions: [NamedChanges] = []
        let group = scenario.products[productId]?.members
            .first { $0.name == "subscriptionGroupIdentifier" }?.value
        if case .string(let group) = group,
            let subscription = subscriptions.last(where: { $0.group == group })
        {
            changes += [
                PayloadChange(name: "originalTransactionId", value: .string(subscription.original)),
                PayloadChange(name: "transactionReason", value: .string("PURCHASE")),
            ]
            if now.milliseconds < subscription.expiresDate ?? .max {
                guard subscription.productId != productId else {
                    throw .invalidMember(at: "productId", reason: "is in force already")
                }
                transactions.append(
                    NamedChanges(
                        name: subscription.name, path: "the purchase",
                        changes: [PayloadChange(name: "isUpgraded", value: .bool(true))]))
            }
        }
        transactions.append(NamedChanges(name: name, path: "the purchase", changes: changes))
        let step = ScenarioStep(
            at: time, title: "buys \(productId)", transactions: transactions, renewals: [],
            evidence: [], notifies: true, expectation: nil)
        let before = state
        try state.apply(step)
        for transaction in transactions { didModify(transaction.name, at: time) }
        return try mint(StepNotifications.list(step, from: before, to: state), at: time)
    }

    /// The name of the next purchase, which no scenario has.
    private var purchaseName: String {
        var number = 90_001
        while state.transactions[String(number)] != nil { number += 1 }
        return String(number)
    }

    /// Ends the life: nothing was bought, and nothing follows.
    package mutating func end() {
        state = ScenarioState(products: scenario.products)
        stepsTaken = scenario.steps.count
    }
}
