import AssayModels

/// An entry of what the customer owns, with its app.
struct OwnedEntry {
    enum Purchase {
        case subscription(Subscription, in: SubscriptionGroup)
        case nonConsumable(ProductEntitlement)
        case nonRenewing(ProductEntitlement)
        case consumable(ConsumablePurchase)
    }

    let purchase: Purchase
    let bundleId: String
    let store: EvidenceStore

    init(_ purchase: Purchase, of app: AppEntitlements) {
        self.purchase = purchase
        bundleId = app.bundleId
        store = app.store
    }

    /// Every entry of an app, in the order of the answer.
    static func all(of app: AppEntitlements) -> [OwnedEntry] {
        app.subscriptionGroups.flatMap { group in
            group.subscriptions.map { OwnedEntry(.subscription($0, in: group), of: app) }
        }
            + app.nonConsumables.map { OwnedEntry(.nonConsumable($0), of: app) }
            + app.nonRenewing.map { OwnedEntry(.nonRenewing($0), of: app) }
            + app.consumables.map { OwnedEntry(.consumable($0), of: app) }
    }

    var decidedBy: DecidedBy {
        switch purchase {
        case .subscription(let subscription, _): subscription.decidedBy
        case .nonConsumable(let product), .nonRenewing(let product): product.decidedBy
        case .consumable(let consumable): consumable.decidedBy
        }
    }

    var productId: String? {
        switch purchase {
        case .subscription(let subscription, _): subscription.productId
        case .nonConsumable(let product), .nonRenewing(let product): product.productId
        case .consumable(let consumable): consumable.productId
        }
    }

    /// Whether the customer has access now; a subscription by any of its group.
    var isEntitled: Bool {
        switch purchase {
        case .subscription(_, let group): group.isEntitled
        case .nonConsumable(let product), .nonRenewing(let product): product.isEntitled
        case .consumable: false
        }
    }

    /// The account that it names, where it is another one than the expected.
    var isOfAnother: Bool {
        switch purchase {
        case .subscription(let subscription, _): subscription.belongsToAnotherAccount
        case .nonConsumable(let product), .nonRenewing(let product): product.belongsToAnotherAccount
        case .consumable(let consumable): consumable.belongsToAnotherAccount
        }
    }

    var account: String? {
        switch purchase {
        case .subscription(let subscription, _): subscription.appAccountToken
        case .nonConsumable(let product), .nonRenewing(let product): product.appAccountToken
        case .consumable(let consumable): consumable.appAccountToken
        }
    }

    /// Whether it is a consumable of which nothing was refunded.
    var isWholeConsumable: Bool {
        guard case .consumable(let consumable) = purchase else { return false }
        return consumable.revokedPercentage == 0 && !consumable.belongsToAnotherAccount
    }
}

extension Advice {
    /// The entry that a transaction is part of; nil for one that entitles to nothing.
    func entry(of transaction: JWSTransactionDecodedPayload) -> OwnedEntry? {
        let apps = owned.apps.filter { app in
            app.store == .apple && app.bundleId == transaction.bundleId ?? ""
                && transaction.environment.map { $0 == app.environment } ?? true
        }
        for app in apps {
            if let found = app.consumables.first(where: {
                $0.transactionId == transaction.transactionId
            }) {
                return OwnedEntry(.consumable(found), of: app)
            }
            switch transaction.type {
            case .nonConsumable?:
                let found = app.nonConsumables.first { $0.productId == transaction.productId }
                if let found { return OwnedEntry(.nonConsumable(found), of: app) }
            case .nonRenewingSubscription?:
                let found = app.nonRenewing.first { $0.productId == transaction.productId }
                if let found { return OwnedEntry(.nonRenewing(found), of: app) }
            default: break
            }
        }
        guard transaction.expiresDate != nil || transaction.type == .autoRenewableSubscription
        else { return nil }
        // A subscription that moved has another original.
        let original = transaction.originalTransactionId ?? transaction.transactionId ?? ""
        return subscription(in: apps) { subscription, _ in
            subscription.originalTransactionId == original
        }
            ?? subscription(in: apps) { subscription, group in
                subscription.originalTransactionId == group.deciding.originalTransactionId
                    && group.subscriptionGroupIdentifier != nil
                    && group.subscriptionGroupIdentifier == transaction.subscriptionGroupIdentifier
            }
    }

    /// The entry of a subscription; renewal information names no app.
    func entry(
        ofSubscription original: String, in environment: StoreEnvironment?
    ) -> OwnedEntry? {
        let apps = owned.apps.filter { app in
            app.store == .apple && environment.map { $0 == app.environment } ?? true
        }
        return subscription(in: apps) { subscription, _ in
            subscription.originalTransactionId == original
        }
    }

    private func subscription(
        in apps: [AppEntitlements], where matches: (Subscription, SubscriptionGroup) -> Bool
    ) -> OwnedEntry? {
        for app in apps {
            for group in app.subscriptionGroups {
                if let found = group.subscriptions.first(where: { matches($0, group) }) {
                    return OwnedEntry(.subscription(found, in: group), of: app)
                }
            }
        }
        return nil
    }

    /// The entries that an item decides.
    func entries(decidedBy index: Int) -> [OwnedEntry] {
        owned.apps.flatMap { OwnedEntry.all(of: $0) }.filter { $0.decidedBy.item == index }
    }
}
