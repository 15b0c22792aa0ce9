import AssayModels

extension Entitlements {
    /// Removes the entries beyond the limit: purchases, warnings, moments to ask the App Store,
    /// customers, and the periods of non-renewing subscriptions, each on its own.
    /// An app of which nothing is left is removed, so that none seems to have no purchases.
    ///
    /// - Returns: the number of entries removed.
    mutating func removeEntries(beyond limit: Int) -> Int {
        var omitted = warnings.removeElements(beyond: limit)
        omitted += refresh.removeElements(beyond: limit)
        var (purchases, customers, periods) = (limit, limit, limit)
        var kept: [AppEntitlements] = []
        for var app in apps {
            guard purchases > 0 else {
                omitted += max(1, app.purchaseCount)
                continue
            }
            omitted += app.removePurchases(beyond: purchases)
            purchases -= max(1, app.purchaseCount)
            omitted += app.customers.appAccountTokens.removeElements(beyond: customers)
            customers -= app.customers.appAccountTokens.count
            omitted += app.customers.appTransactionIds.removeElements(beyond: customers)
            customers -= app.customers.appTransactionIds.count
            for index in app.nonRenewing.indices {
                // The newest say until when it lasts.
                let count = app.nonRenewing[index].purchases.count
                let left = Swift.min(count, periods)
                app.nonRenewing[index].purchases.removeFirst(count - left)
                omitted += count - left
                periods -= left
            }
            kept.append(app)
        }
        apps = kept
        return omitted
    }
}

extension AppEntitlements {
    fileprivate var purchaseCount: Int {
        subscriptionGroups.reduce(0) { $0 + $1.subscriptions.count } + nonConsumables.count
            + nonRenewing.count + consumables.count
    }

    fileprivate mutating func removePurchases(beyond limit: Int) -> Int {
        let count = purchaseCount
        var left = limit
        var groups: [SubscriptionGroup] = []
        for var group in subscriptionGroups where left > 0 {
            _ = group.subscriptions.removeElements(beyond: left)
            left -= group.subscriptions.count
            groups.append(group)
        }
        subscriptionGroups = groups
        _ = nonConsumables.removeElements(beyond: left)
        left -= nonConsumables.count
        _ = nonRenewing.removeElements(beyond: left)
        left -= nonRenewing.count
        _ = consumables.removeElements(beyond: left)
        return count - purchaseCount
    }
}

extension Array {
    /// Returns the number of elements removed.
    fileprivate mutating func removeElements(beyond limit: Int) -> Int {
        let omitted = Swift.max(0, count - limit)
        removeLast(omitted)
        return omitted
    }
}
