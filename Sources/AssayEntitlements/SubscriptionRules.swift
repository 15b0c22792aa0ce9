import AssayModels

/// Decides the state of one subscription at one moment.
struct SubscriptionRules {
    let now: Int64
    let policy: EntitlementPolicy

    /// - Parameter snapshots: all transactions of one original transaction identifier, not empty.
    func decide(_ snapshots: [Snapshot], _ renewal: RenewalState?) -> Subscription {
        let latest = Self.latest(snapshots) { !$0.isUpgraded && $0.purchaseDate <= now }
        guard let latest else {
            // Not begun yet, or upgraded to a transaction that is missing.
            let begins = Self.latest(snapshots) { !$0.isUpgraded }
            let shown = begins ?? Self.latest(snapshots) ?? snapshots[0]
            return subscription(shown, .unknown, until: nil, renewal)
        }
        let inForce = Self.latest(snapshots) { !$0.isUpgraded && isInForce($0) }
        if latest.isRevoked, !(latest.isFromReceipt && inForce != nil) {
            return subscription(latest, .revoked, until: nil, renewal)
        }
        if let inForce {
            let end = paidUntil(inForce, snapshots)
            return subscription(inForce, .active, until: end, renewal)
        }
        return afterExpiry(of: latest, renewal)
    }

    /// Grace comes first: `isInBillingRetryPeriod` is true during grace as well.
    private func afterExpiry(of latest: Snapshot, _ renewal: RenewalState?) -> Subscription {
        guard let renewal, !renewal.isStale(for: latest) else {
            return subscription(latest, .unknown, until: nil, renewal)
        }
        if let end = renewal.graceEnds, end > now {
            return subscription(latest, .gracePeriod, until: end, renewal)
        }
        guard renewal.isInBillingRetry else {
            return subscription(latest, .expired, until: nil, renewal)
        }
        let lenient = retryEnd(of: latest)
        return subscription(
            latest, .billingRetry, until: lenient > now ? lenient : nil, renewal)
    }

    /// Purchased, not refunded, and not at its end.
    func isInForce(_ snapshot: Snapshot) -> Bool {
        guard let end = snapshot.expiresDate, !snapshot.isRevoked else { return false }
        return snapshot.purchaseDate <= now && now < end
    }

    /// The end of the last paid period that joins this one without a gap. A renewal is charged up
    /// to a day before its period begins.
    private func paidUntil(_ inForce: Snapshot, _ snapshots: [Snapshot]) -> Int64 {
        var end = inForce.expiresDate ?? now
        // Only a period that ends later can extend it; usually there is none.
        let periods = snapshots.filter { later in
            !later.isUpgraded && !later.isRevoked && later.expiresDate.map { $0 > end } ?? false
        }
        .sorted { $0.purchaseDate < $1.purchaseDate }
        for period in periods where period.purchaseDate <= end {
            end = max(end, period.expiresDate ?? end)
        }
        return end
    }

    /// The end of the policy's leniency in billing retry.
    func retryEnd(of latest: Snapshot) -> Int64 {
        let end = Timestamp(milliseconds: latest.expiresDate ?? .min)
        return end.advanced(by: policy.billingRetryLeniencyMilliseconds).milliseconds
    }

    /// The greatest purchase date, then the greatest end, then the greatest identifier.
    static func latest(
        _ snapshots: [Snapshot], where isCandidate: (Snapshot) -> Bool = { _ in true }
    ) -> Snapshot? {
        var latest: Snapshot?
        for snapshot in snapshots where isCandidate(snapshot) {
            if let known = latest, !isEarlier(known, than: snapshot) { continue }
            latest = snapshot
        }
        return latest
    }

    private static func isEarlier(_ left: Snapshot, than right: Snapshot) -> Bool {
        if left.purchaseDate != right.purchaseDate {
            return left.purchaseDate < right.purchaseDate
        }
        let (leftEnd, rightEnd) = (left.expiresDate ?? .min, right.expiresDate ?? .min)
        if leftEnd != rightEnd { return leftEnd < rightEnd }
        return TransactionNumber.isLess(left.transactionId, right.transactionId)
    }

    private func subscription(
        _ deciding: Snapshot, _ state: SubscriptionState, until end: Int64?,
        _ renewal: RenewalState?
    ) -> Subscription {
        let counts = policy.acceptsFamilySharing || !deciding.isFamilyShared
        let isEntitled = end != nil && counts
        return Subscription(
            originalTransactionId: deciding.originalTransactionId, status: state,
            isEntitled: isEntitled, productId: deciding.productId,
            entitledUntil: isEntitled ? end.map(Timestamp.init) : nil,
            ownership: deciding.ownership, isTrial: deciding.isTrial,
            offerType: deciding.offerType, billingPlanType: deciding.billingPlanType,
            willRenew: renewal?.autoRenewStatus.map { $0 == .on },
            renewsAs: renewal?.autoRenewProductId,
            expirationIntent: renewal?.expirationIntent,
            revocationPercentage: deciding.revocationPercentage,
            decidedBy: deciding.decidedBy,
            expiresDate: deciding.expiresDate.map(Timestamp.init))
    }
}
