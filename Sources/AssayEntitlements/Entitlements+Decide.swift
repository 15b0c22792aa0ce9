public import AssayModels

extension Entitlements {
    /// Decides what a customer owns: a pure function of verified evidence, a moment and a policy.
    ///
    /// The order of the items, duplicates, and how evidence is split over items never change the
    /// answer. Time and memory grow linearly with the evidence.
    public init(
        of items: [EvidenceItem], at now: Timestamp,
        policy: EntitlementPolicy = EntitlementPolicy()
    ) {
        self.init(at: now)
        let ledger = Ledger(items, at: now, knownAt: policy.knownAt)
        warnings = ledger.warnings
        let rules = SubscriptionRules(now: now.milliseconds, policy: policy)
        var used: Set<Ledger.RenewalKey> = []
        var changes = ledger.receiptEnds
        for (key, app) in ledger.apps.sorted(by: Self.precedes) {
            if key.store != .apple {
                var rules = StoreRules(key, app.storePurchases, now: now.milliseconds, policy)
                apps.append(rules.decide())
                warnings += rules.warnings
                refresh += rules.refresh
                changes += rules.changes
                continue
            }
            var appRules = AppRules(key, app, ledger, rules)
            apps.append(appRules.decide())
            warnings += appRules.warnings
            refresh += appRules.refresh
            if let moment = appRules.changesAt { changes.append(moment) }
            used.formUnion(appRules.usedRenewals)
        }
        nextChange = changes.min().map(Timestamp.init)
        refresh.sort(by: Self.precedes)
        warnOfUnused(ledger.renewals, used)
        noteAge(ledger.newest?.signedDate, policy)
        warnings.sort(by: Self.precedes)
        superseded = ledger.superseded(warnings)
    }

    private mutating func warnOfUnused(
        _ renewals: [Ledger.RenewalKey: RenewalState], _ used: Set<Ledger.RenewalKey>
    ) {
        for (key, renewal) in renewals where !used.contains(key) {
            warnings.append(
                EntitlementWarning(
                    code: .renewalInfoWithoutTransaction,
                    message: "renewal information of \(key.originalTransactionId) means nothing "
                        + "without a transaction of that subscription",
                    item: renewal.item))
        }
    }

    private mutating func noteAge(_ newest: Int64?, _ policy: EntitlementPolicy) {
        newestSignedDate = newest.map(Timestamp.init)
        guard let most = policy.maxAgeMilliseconds, let newestSignedDate else { return }
        isStale = newestSignedDate.advanced(by: most) < at
    }

    private static func precedes(
        _ left: (key: Ledger.AppKey, app: Ledger.App),
        _ right: (key: Ledger.AppKey, app: Ledger.App)
    ) -> Bool {
        // What names no environment comes last.
        let (one, other) = (left.key.environment.rawValue, right.key.environment.rawValue)
        if one.isEmpty != other.isEmpty { return other.isEmpty }
        return (one, left.key.bundleId, left.key.store.rawValue)
            < (other, right.key.bundleId, right.key.store.rawValue)
    }

    static func precedes(_ left: EntitlementRefresh, _ right: EntitlementRefresh) -> Bool {
        if left.at != right.at { return left.at < right.at }
        if left.transactionId != right.transactionId {
            return TransactionNumber.isLess(left.transactionId, right.transactionId)
        }
        return left.reason.rawValue < right.reason.rawValue
    }

    private static func precedes(
        _ left: EntitlementWarning, _ right: EntitlementWarning
    ) -> Bool {
        (left.code.rawValue, left.message, left.item ?? -1)
            < (right.code.rawValue, right.message, right.item ?? -1)
    }
}
