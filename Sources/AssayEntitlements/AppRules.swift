import AssayModels

/// Decides what a customer owns in one app and environment.
struct AppRules {
    let key: Ledger.AppKey
    let app: Ledger.App
    private let ledger: Ledger
    private let rules: SubscriptionRules
    private(set) var warnings: [EntitlementWarning] = []
    /// The renewal information of this app's subscriptions.
    private(set) var usedRenewals: Set<Ledger.RenewalKey> = []
    private(set) var refresh: [EntitlementRefresh] = []
    /// The indices in `refresh` by transaction.
    private var questions: [String: Int] = [:]
    /// The earliest moment after now at which the answer changes.
    private(set) var changesAt: Int64?

    init(_ key: Ledger.AppKey, _ app: Ledger.App, _ ledger: Ledger, _ rules: SubscriptionRules) {
        self.key = key
        self.app = app
        self.ledger = ledger
        self.rules = rules
    }

    mutating func decide() -> AppEntitlements {
        var answer = AppEntitlements(environment: key.environment, bundleId: key.bundleId)
        var subscriptions: [Snapshot] = []
        var products: [Snapshot.Kind: [String: [Snapshot]]] = [:]
        let keyPrefix = KeyPrefix(key.environment.rawValue, key.bundleId)
        for snapshot in app.purchases.all {
            switch snapshot.type {
            case .autoRenewable: subscriptions.append(snapshot)
            case .nonConsumable, .nonRenewing:
                products[snapshot.type, default: [:]][snapshot.productId ?? "", default: []]
                    .append(snapshot)
            case .consumable: answer.consumables.append(consumable(snapshot, keyPrefix))
            case .unknown:
                let type =
                    snapshot.unknownType.map { "has the unknown product type \($0)" }
                    ?? "names no product type, as old receipts of one transaction do"
                warn(
                    .unknownProductType,
                    "transaction \(snapshot.transactionId) \(type): it grants nothing",
                    snapshot.item)
            }
        }
        answer.subscriptionGroups = groups(subscriptions)
        answer.nonConsumables = owned(products[.nonConsumable] ?? [:])
        answer.nonRenewing = owned(products[.nonRenewing] ?? [:])
        answer.consumables = TransactionNumber.sorted(answer.consumables, by: \.transactionId)
        answer.customers = customers(of: answer)
        return answer
    }

    // MARK: Subscriptions

    private mutating func groups(_ purchases: [Snapshot]) -> [SubscriptionGroup] {
        let links = SubscriptionLinks(
            app.purchases.all, restated: app.purchases.restatements().originals, ledger.renewals,
            in: key.environment)
        var lineages = Lineages(purchases, links)
        lineages.add(ledger.renewals, ledger.statuses, of: key, links)
        usedRenewals = lineages.usedRenewals
        for original in lineages.inTwoGroups {
            warn(
                .lineageInTwoGroups,
                "the transactions of subscription \(original) name several subscription groups: "
                    + "each is a subscription of its own", nil)
        }
        var decided: [Lineages.Decided] = []
        decided.reserveCapacity(lineages.all.count)
        questions.reserveCapacity(lineages.all.count)
        for lineage in lineages.all {
            let decision = rules.decide(lineage.evidence)
            noteChanges(of: decision.subscription, lineage.evidence)
            if counts(decision.subscription) { note(decision.namedPeriodBegins) }
            note(decision, lineage, links)
            decided.append(Lineages.Decided(decision.subscription, group: lineage.group))
        }
        if lineages.all.count > 1 { warnOfSharedLineItems(purchases, links) }
        links.coverByBundles(decided)
        warnOfMissing(links.missingBundles(decided))
        return Lineages.grouped(decided)
    }

    private mutating func note(
        _ decision: SubscriptionDecision, _ lineage: Lineages.Lineage, _ links: SubscriptionLinks
    ) {
        let subscription = decision.subscription
        let original = subscription.originalTransactionId
        if let refresh = decision.refresh, counts(subscription) {
            ask(
                EntitlementRefresh(
                    transactionId: subscription.decidedBy.transactionId,
                    at: Timestamp(milliseconds: refresh.at), reason: refresh.reason))
        }
        switch decision.warning {
        case .periodFromRenewalInfo:
            warn(
                .periodFromRenewalInfo,
                "a newer period of subscription \(original) exists, which nobody sent: its renewal "
                    + "information says when it ends", decision.item)
        case .graceWithoutDate:
            warn(
                .graceWithoutDate,
                "subscription \(original) is in its grace period, and nothing says until when: the "
                    + "shortest is taken, three days", decision.item)
        default: break
        }
        if !lineage.evidence.purchases.isEmpty, subscription.status == .unknown,
            lineage.evidence.purchases.allSatisfy(\.isUpgraded), !links.isLinked(original)
        {
            warn(
                .upgradedWithoutSuccessor,
                "subscription \(original) was upgraded, and the transaction that replaced it is "
                    + "not among the evidence", lineage.evidence.purchases.map(\.item).min())
        }
        warnOfType(of: subscription, lineage.evidence)
        warnOfStatus(of: lineage.evidence, original)
    }

    /// The deciding purchase is of a type that this version does not know.
    private mutating func warnOfType(
        of subscription: Subscription, _ evidence: SubscriptionEvidence
    ) {
        let decided = subscription.decidedBy
        let deciding = evidence.purchases.first {
            $0.item == decided.item && $0.transactionId == decided.transactionId
        }
        guard let deciding, let type = deciding.unknownType else { return }
        warn(
            .unknownProductType,
            "transaction \(deciding.transactionId) has the unknown product type \(type): its end "
                + "decides, as that of a subscription", deciding.item)
    }

    /// A status that Apple signed after every other statement, and that says something else of that
    /// moment than they do.
    private mutating func warnOfStatus(of evidence: SubscriptionEvidence, _ original: String) {
        guard let signed = evidence.status, let expected = SubscriptionState(signed.status),
            !evidence.purchases.contains(where: { $0.signedDate > signed.signedDate }),
            !evidence.renewals.contains(where: { $0.signedDate > signed.signedDate })
        else { return }
        let then = SubscriptionRules(now: signed.signedDate, policy: EntitlementPolicy())
        var others = evidence
        others.status = nil
        let found = then.decide(others).subscription.status
        guard found != expected, found != .unknown else { return }
        warn(
            .statusDisagrees,
            "Apple signed the status \(expected.rawValue) of subscription \(original), and the "
                + "rest of the evidence gives \(found.rawValue)", signed.item)
    }

    /// Whether the subscriptions of family members can share a line item is not known: they stay
    /// apart.
    private mutating func warnOfSharedLineItems(
        _ purchases: [Snapshot], _ links: SubscriptionLinks
    ) {
        // Xcode numbers no line items.
        guard key.environment != .xcode, key.environment != .localTesting else { return }
        var known = StatementIndex(capacity: purchases.count)
        var shared: [String: [String: String]] = [:]
        for index in purchases.indices {
            guard let lineItem = purchases[index].purchase.lineItem else { continue }
            let digest = lineItem.hashValue
            guard let first = known.slot(digest, isSame: { $0.purchase.lineItem == lineItem })
            else {
                known.add(purchases[index], digest, slot: index)
                continue
            }
            var originals = shared[lineItem] ?? [:]
            for purchase in originals.isEmpty ? [first, index] : [index] {
                let original = purchases[purchase].originalTransactionId
                originals[links.lineageRoot(of: original)] = original
            }
            shared[lineItem] = originals
        }
        for (lineItem, originals) in shared where originals.count > 1 {
            let names = TransactionNumber.sorted(Array(originals.values), by: \.self)
            warn(
                .lineItemUnderTwoOriginals,
                "line item \(lineItem) is stated under the originals "
                    + names.joined(separator: " and ") + ": they are taken for two subscriptions",
                nil)
        }
    }

    private mutating func warnOfMissing(_ bundles: [(component: String, bundle: String)]) {
        for missing in bundles {
            warn(
                .bundleMissing,
                "subscription \(missing.component) was replaced by the bundle \(missing.bundle), "
                    + "whose transaction is not among the evidence", nil)
        }
    }

    /// Whether a subscription can entitle the customer in question.
    private func counts(_ subscription: Subscription) -> Bool {
        rules.policy.counts(subscription.ownership, of: subscription.appAccountToken)
    }

    /// The start of a period always decides anew. The end of an older period changes nothing while
    /// another one is in force.
    private mutating func noteChanges(
        of subscription: Subscription, _ evidence: SubscriptionEvidence
    ) {
        guard counts(subscription) else { return }
        let last = evidence.purchases.lazy.filter { !$0.isUpgraded }.map(\.purchaseDate).max()
        for purchase in evidence.purchases where purchase.purchaseDate <= last ?? .min {
            note(purchase.purchaseDate)
            note(purchase.revocationDate)
            if purchase.purchaseDate > rules.now { note(purchase.signedDate) }
        }
        if subscription.status == .active { note(subscription.expiresDate?.milliseconds) }
        note(subscription.entitledUntil?.milliseconds)
    }

    // MARK: Products

    private mutating func owned(_ products: [String: [Snapshot]]) -> [ProductEntitlement] {
        var owned: [ProductEntitlement] = []
        for purchases in products.values {
            let rules = ProductRules(purchases, now: rules.now, policy: rules.policy)
            let product = rules.entitlement
            for moment in rules.changes(of: product) { note(moment) }
            owned.append(product)
        }
        return owned.sorted { $0.productId.utf8.lexicographicallyPrecedes($1.productId.utf8) }
    }

    private func consumable(_ snapshot: Snapshot, _ keyPrefix: KeyPrefix) -> ConsumablePurchase {
        let revoked: Int32 = snapshot.isRevoked ? snapshot.revocationPercentage ?? 100_000 : 0
        var purchase = ConsumablePurchase(
            transactionId: snapshot.transactionId, productId: snapshot.productId,
            quantity: snapshot.quantity, revokedPercentage: revoked,
            dedupKey: keyPrefix.key(of: snapshot.purchase), decidedBy: snapshot.decidedBy)
        purchase.revocationDate = snapshot.revokedAt
        purchase.revocationReason = snapshot.revocationReason
        purchase.revocationType = snapshot.revocationType
        purchase.purchaseDate = snapshot.boughtAt
        purchase.appAccountToken = snapshot.account?.name
        purchase.appTransactionId = snapshot.appTransaction?.name
        purchase.belongsToAnotherAccount = rules.policy.isOfAnother(
            account: purchase.appAccountToken)
        return purchase
    }

    // MARK: Customers

    private mutating func customers(of answer: AppEntitlements) -> Customers {
        var tokens: [String] = []
        var downloads: [String] = []
        func note(_ token: String?, _ download: String?) {
            // Most evidence of a call is of one customer.
            if let token, token != tokens.last { tokens.append(token) }
            if let download, download != downloads.last { downloads.append(download) }
        }
        for group in answer.subscriptionGroups {
            let members = group.subscriptions.span
            for index in members.indices {
                note(members[index].appAccountToken, members[index].appTransactionId)
            }
        }
        for product in answer.nonConsumables + answer.nonRenewing {
            note(product.appAccountToken, product.appTransactionId)
        }
        for purchase in answer.consumables {
            note(purchase.appAccountToken, purchase.appTransactionId)
        }
        tokens = Set(tokens).sorted()
        downloads = TransactionNumber.sorted(Array(Set(downloads)), by: \.self)
        var customers = Customers()
        customers.appAccountTokens = tokens
        customers.appTransactionIds = downloads
        customers.isConflicting = tokens.count > 1 || downloads.count > 1
        // Without a conflict there is at most one to compare with.
        let others = app.appTransactions.keys.lazy.filter { !$0.isEmpty && $0 != downloads.first }
        if customers.isConflicting || downloads.count + others.prefix(2).count > 1 {
            warn(
                .customersMixed,
                "the evidence of \(key.bundleId) is of several customers", nil)
        }
        return customers
    }

    // MARK: Notes

    /// One question about a transaction answers all of them: the earliest stays.
    private mutating func ask(_ question: EntitlementRefresh) {
        let index = questions.index(of: question.transactionId, orNext: refresh.count)
        if index == refresh.count {
            refresh.append(question)
        } else if Entitlements.precedes(question, refresh[index]) {
            refresh[index] = question
        }
    }

    private mutating func note(_ moment: Int64?) {
        guard let moment, moment > rules.now else { return }
        changesAt = min(changesAt ?? .max, moment)
    }

    private mutating func warn(
        _ code: EntitlementWarning.Code, _ message: String, _ item: Int?
    ) {
        warnings.append(EntitlementWarning(code: code, message: message, item: item))
    }
}

extension SubscriptionState {
    /// Returns nil for a status that this version does not know.
    init?(_ status: SubscriptionStatus) {
        switch status {
        case .active: self = .active
        case .expired: self = .expired
        case .billingRetry: self = .billingRetry
        case .gracePeriod: self = .gracePeriod
        case .revoked: self = .revoked
        default: return nil
        }
    }
}

extension Snapshot {
    /// The date of the purchase; nil if the evidence has none.
    var boughtAt: Timestamp? {
        purchaseDate == .min ? nil : Timestamp(milliseconds: purchaseDate)
    }
}
