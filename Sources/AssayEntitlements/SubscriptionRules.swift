import AssayModels

/// What is known of one subscription.
struct SubscriptionEvidence {
    /// The newest statement about each purchase; can be empty where `renewal` names a period.
    var purchases: [Snapshot]
    /// Renewal information of each of its originals.
    var renewals: [RenewalState] = []
    var status: SignedStatus?

    /// The newest renewal information, of whichever period.
    var newestRenewal: RenewalState? {
        renewals.reduce(nil) { newest, next in
            newest.map { next.wins(over: $0) ? next : $0 } ?? next
        }
    }

    /// The renewal information about one period: that of its own original, or else the newest.
    func renewal(
        of original: String, from begin: Int64, to end: Int64, before next: Int64?
    ) -> RenewalState? {
        var found: RenewalState?
        for renewal in renewals where renewal.isAbout(periodFrom: begin, to: end, before: next) {
            if renewal.evidence.payload.originalTransactionId == original { return renewal }
            if let known = found, !renewal.wins(over: known) { continue }
            found = renewal
        }
        return found
    }
}

/// The state of one subscription, and what follows from it.
struct SubscriptionDecision {
    var subscription: Subscription
    /// When to ask the App Store, and why.
    var refresh: (at: Int64, reason: EntitlementRefresh.Reason)?
    var warning: EntitlementWarning.Code?
    /// The item of the warning.
    var item: Int?
    /// When the period begins that renewal information names and no purchase.
    var namedPeriodBegins: Int64?
}

/// Decides the state of one subscription at one moment.
struct SubscriptionRules {
    let now: Int64
    let policy: EntitlementPolicy

    /// Apple retries a failed payment for at most 60 days.
    static let longestRetry = 60 * EntitlementPolicy.millisecondsPerDay
    /// Apple's shortest grace period: three days for a weekly subscription.
    static let shortestGrace = 3 * EntitlementPolicy.millisecondsPerDay

    func decide(_ evidence: SubscriptionEvidence) -> SubscriptionDecision {
        let timeline = Timeline(evidence.purchases, at: now)
        guard let renewal = evidence.newestRenewal, let end = renewal.renewalDate,
            let begin = Self.begin(
                of: renewal, until: end, after: timeline, evidence.purchases)
        else { return decide(timeline, evidence) }
        guard begin > now else {
            return periodOfRenewalInfo(renewal, until: end, timeline, evidence)
        }
        var decision = decide(timeline, evidence)
        decision.namedPeriodBegins = begin
        return decision
    }

    private func decide(
        _ timeline: Timeline, _ evidence: SubscriptionEvidence
    ) -> SubscriptionDecision {
        let next = timeline.periods.first { $0.begin > now }
        guard let index = timeline.latestBegun(at: now) else {
            return notBegun(next, timeline, evidence)
        }
        let period = timeline.periods[index]
        if period.contains(now), !period.isRevoked {
            return active(index, timeline, evidence)
        }
        // Signed means charged: a next period that begins in an hour is owned, where no earlier
        // one is in force. One that was charged before a refund begins at its date.
        if let next, isCharged(next), !period.isRevoked || next.signedDate > period.revocationDate {
            return active(index + 1, timeline, evidence)
        }
        if period.isRevoked {
            return decision(.revoked, index, timeline, until: nil, evidence)
        }
        return afterEnd(of: index, timeline, evidence)
    }

    private func isCharged(_ period: Timeline.Period) -> Bool {
        !period.isRevoked && period.signedDate <= now
    }

    private func notBegun(
        _ next: Timeline.Period?, _ timeline: Timeline, _ evidence: SubscriptionEvidence
    ) -> SubscriptionDecision {
        guard let next else { return withoutPeriod(evidence) }
        if let index = timeline.periods.firstIndex(where: isCharged) {
            return active(index, timeline, evidence)
        }
        let state: SubscriptionState =
            next.isRevoked && next.signedDate <= now ? .revoked : .unknown
        return decision(state, 0, timeline, until: nil, evidence)
    }

    /// Every purchase was upgraded, and the transaction that replaced them is missing; or there is
    /// none, and the period that renewal information names has not begun.
    private func withoutPeriod(_ evidence: SubscriptionEvidence) -> SubscriptionDecision {
        guard let latest = Timeline.latest(evidence.purchases) else {
            guard let renewal = evidence.newestRenewal else {
                preconditionFailure("a subscription has purchases or renewal information")
            }
            var found = Self.subscription(of: renewal)
            name(nil, renewal, evidence, &found)
            entitle(&found, until: nil)
            return SubscriptionDecision(subscription: found)
        }
        let renewal = evidence.renewal(
            of: latest.originalTransactionId, from: latest.purchaseDate,
            to: latest.expiresDate ?? .min, before: nil)
        var decision = SubscriptionDecision(
            subscription: subscription(.unknown, latest, nil, renewal, until: nil, evidence))
        decision.refresh = (latest.purchaseDate, .statusUnknown)
        return decision
    }

    private func active(
        _ index: Int, _ timeline: Timeline, _ evidence: SubscriptionEvidence
    ) -> SubscriptionDecision {
        let (end, last) = timeline.paidUntil(from: index)
        var decision = decision(.active, index, timeline, until: end, evidence, renewsAfter: last)
        if decision.subscription.willRenew != false { decision.refresh = (end, .periodEnds) }
        return decision
    }

    // MARK: A period that renewal information names

    /// When the period begins that renewal information names and no purchase: its end lies after
    /// that of every purchase known, also of one that was replaced, and it was signed after them.
    private static func begin(
        of renewal: RenewalState, until end: Int64, after timeline: Timeline,
        _ purchases: [Snapshot]
    ) -> Int64? {
        guard timeline.periods.allSatisfy({ $0.begin <= renewal.signedDate }) else { return nil }
        let lastEnd = purchases.lazy.compactMap(\.expiresDate).max() ?? .min
        guard end > sum(lastEnd, RenewalState.secondOfReceipts - 1) else { return nil }
        return timeline.periods.isEmpty ? renewal.signedDate : min(lastEnd, renewal.signedDate)
    }

    /// A subscription of which renewal information alone is known.
    private static func subscription(of renewal: RenewalState) -> Subscription {
        let original = renewal.evidence.payload.originalTransactionId ?? ""
        return Subscription(
            originalTransactionId: original, productId: renewal.productId,
            decidedBy: DecidedBy(
                item: renewal.item, transactionId: original,
                signedDate: Timestamp(milliseconds: renewal.signedDate)))
    }

    private func periodOfRenewalInfo(
        _ renewal: RenewalState, until end: Int64, _ timeline: Timeline,
        _ evidence: SubscriptionEvidence
    ) -> SubscriptionDecision {
        let known = timeline.periods.last?.deciding ?? Timeline.latest(evidence.purchases)
        var found = Self.subscription(of: renewal)
        // Every purchase of its original can have been stated again under another.
        let original = found.originalTransactionId
        if let known, !evidence.purchases.contains(where: { $0.originalTransactionId == original })
        {
            found.originalTransactionId = known.originalTransactionId
        }
        found.status = .active
        found.expiresDate = Timestamp(milliseconds: end)
        found.ownership = known?.ownership
        if known?.ownership == .purchased, renewal.evidence.payload.multiSeatInfo != nil {
            found.seats = renewal.evidence.payload.renewalQuantity.map(Int64.init)
        }
        name(known, renewal, evidence, &found)
        let state = now < end ? nil : stateAfter(end, renewal, evidence)
        if let state { found.status = state.status }
        entitle(&found, until: state.map(\.until) ?? end)
        var decision = SubscriptionDecision(subscription: found)
        decision.warning = .periodFromRenewalInfo
        decision.item = renewal.item
        // The missing transaction can be refunded already: ask before its period ends.
        decision.refresh = state.map { $0.refresh } ?? (renewal.signedDate, .statusUnknown)
        return decision
    }

    // MARK: After the end

    private struct StateAfterEnd {
        var status: SubscriptionState
        /// It is nil without access.
        var until: Int64?
        var refresh: (at: Int64, reason: EntitlementRefresh.Reason)?
        var warning: EntitlementWarning.Code?
        var item: Int?
    }

    private func afterEnd(
        of index: Int, _ timeline: Timeline, _ evidence: SubscriptionEvidence
    ) -> SubscriptionDecision {
        let period = timeline.periods[index]
        let state = stateAfter(period.end, renewal(after: index, timeline, evidence), evidence)
        let until = state.until.map { timeline.until($0, after: index) }
        var decision = decision(state.status, index, timeline, until: until, evidence)
        // A period without an end is asked about from its begin on.
        decision.refresh = state.refresh.map { (max($0.at, period.begin), $0.reason) }
        decision.warning = state.warning
        decision.item = state.item
        return decision
    }

    private func renewal(
        after index: Int, _ timeline: Timeline, _ evidence: SubscriptionEvidence
    ) -> RenewalState? {
        let (period, next) = (timeline.periods[index], index + 1)
        return evidence.renewal(
            of: period.deciding.originalTransactionId, from: period.begin, to: period.end,
            before: next < timeline.periods.count ? timeline.periods[next].begin : nil)
    }

    /// The state after the end of the deciding period. Grace comes first: `isInBillingRetryPeriod`
    /// is true during grace as well. Between renewal information and a signed status the one that
    /// was signed later decides.
    ///
    /// - Parameter renewal: the renewal information about this period.
    private func stateAfter(
        _ end: Int64, _ renewal: RenewalState?, _ evidence: SubscriptionEvidence
    ) -> StateAfterEnd {
        let status = evidence.status.flatMap { status in
            let isOlder = status.signedDate < renewal?.signedDate ?? .min
            return status.signedDate < end || isOlder || !status.isKnown ? nil : status
        }
        // A status says nothing of the time before it was signed: grace in its time stays.
        let otherStatus = status?.status == .gracePeriod ? nil : status?.signedDate
        if let graceEnds = renewal?.graceEnds.map({ min($0, otherStatus ?? .max) }),
            graceEnds > now
        {
            return StateAfterEnd(
                status: .gracePeriod, until: graceEnds, refresh: (graceEnds, .periodEnds))
        }
        guard let status else { return stateAfter(end, renewal) }
        switch status.status {
        case .gracePeriod:
            let shortGrace = Self.sum(end, Self.shortestGrace)
            guard renewal?.graceEnds == nil, shortGrace > now else { fallthrough }
            return StateAfterEnd(
                status: .gracePeriod, until: shortGrace, refresh: (shortGrace, .periodEnds),
                warning: .graceWithoutDate, item: status.item)
        case .billingRetry: return inRetry(since: end, status.signedDate)
        case .expired: return StateAfterEnd(status: .expired)
        default: return unknown(since: end)
        }
    }

    /// Where no status was signed later than the renewal information.
    private func stateAfter(_ end: Int64, _ renewal: RenewalState?) -> StateAfterEnd {
        guard let renewal else { return unknown(since: end) }
        if renewal.isInBillingRetry { return inRetry(since: end, renewal.signedDate) }
        let saysNothingElse = renewal.signedDate >= end && renewal.graceEnds == nil
        let isOver =
            saysNothingElse || renewal.autoRenewStatus == .off || renewal.expirationIntent != nil
        return isOver ? StateAfterEnd(status: .expired) : unknown(since: end)
    }

    private func unknown(since end: Int64) -> StateAfterEnd {
        let lenient = Self.sum(end, policy.renewalLeniencyMilliseconds)
        return StateAfterEnd(
            status: .unknown, until: lenient > now ? lenient : nil, refresh: (end, .statusUnknown))
    }

    private func inRetry(since end: Int64, _ signedDate: Int64) -> StateAfterEnd {
        guard now <= Self.sum(end, Self.longestRetry) else {
            return StateAfterEnd(status: .expired)
        }
        let lenient = Self.sum(end, policy.billingRetryLeniencyMilliseconds)
        let daily = Self.sum(signedDate, EntitlementPolicy.millisecondsPerDay)
        return StateAfterEnd(
            status: .billingRetry, until: lenient > now ? lenient : nil,
            refresh: (daily, .billingRetry))
    }

    private static func sum(_ date: Int64, _ duration: Int64) -> Int64 {
        Timestamp(milliseconds: date).advanced(by: duration).milliseconds
    }

    // MARK: The answer

    /// - Parameter renewsAfter: the period after which the subscription renews.
    private func decision(
        _ status: SubscriptionState, _ index: Int, _ timeline: Timeline, until end: Int64?,
        _ evidence: SubscriptionEvidence, renewsAfter last: Int? = nil
    ) -> SubscriptionDecision {
        let period = timeline.periods[index]
        let about =
            last.flatMap { renewal(after: $0, timeline, evidence) }
            ?? renewal(after: index, timeline, evidence)
        return SubscriptionDecision(
            subscription: subscription(
                status, period.deciding, period.seats, about, until: end, evidence))
    }

    private func subscription(
        _ status: SubscriptionState, _ deciding: Snapshot, _ seats: Int64?,
        _ renewal: RenewalState?, until end: Int64?, _ evidence: SubscriptionEvidence
    ) -> Subscription {
        var found = Subscription(
            originalTransactionId: deciding.originalTransactionId, status: status,
            productId: deciding.productId, ownership: deciding.ownership,
            isTrial: deciding.isTrial, offerType: deciding.offerType,
            billingPlanType: deciding.billingPlanType,
            revocationPercentage: status == .revoked ? deciding.revocationPercentage : nil,
            decidedBy: deciding.decidedBy,
            expiresDate: deciding.expiresDate.map(Timestamp.init))
        found.seats = seats
        found.offerIdentifier = deciding.offerIdentifier
        found.commitmentExpiresDate = deciding.commitmentExpiresDate
        found.purchaseDate = deciding.boughtAt
        if status == .revoked {
            found.revocationDate = deciding.revokedAt
            found.revocationReason = deciding.revocationReason
            found.revocationType = deciding.revocationType
        }
        name(deciding, renewal, evidence, &found)
        entitle(&found, until: end)
        return found
    }

    /// Adds the renewal and the account.
    private func name(
        _ deciding: Snapshot?, _ renewal: RenewalState?, _ evidence: SubscriptionEvidence,
        _ found: inout Subscription
    ) {
        found.willRenew = renewal?.autoRenewStatus.map { $0 == .on }
        found.renewsAs = renewal?.autoRenewProductId
        found.commitmentWillRenew =
            renewal?.evidence.payload.commitmentInfo?.commitmentAutoRenewStatus.map { $0 == .on }
        found.expirationIntent = renewal?.expirationIntent
        found.appAccountToken = (deciding?.account ?? Self.newest(evidence, \.account))?.name
        found.appTransactionId =
            (deciding?.appTransaction ?? Self.newest(evidence, \.appTransaction))?.name
        if let account = renewal?.account, account != found.appAccountToken {
            found.renewsForAppAccountToken = account
        }
    }

    /// The newest name of any purchase: renewals and restored copies can come without.
    private static func newest(
        _ evidence: SubscriptionEvidence, _ name: (Snapshot) -> Snapshot.Named?
    ) -> Snapshot.Named? {
        evidence.purchases.lazy.compactMap(name).reduce(nil) { newest, next in
            next.isNewer(than: newest) ? next : newest
        }
    }

    private func entitle(_ found: inout Subscription, until end: Int64?) {
        found.belongsToAnotherAccount = policy.isOfAnother(account: found.appAccountToken)
        found.isEntitled = end != nil && policy.counts(found.ownership, of: found.appAccountToken)
        found.entitledUntil = found.isEntitled ? end.map(Timestamp.init) : nil
    }
}

extension EntitlementPolicy {
    /// Whether an account differs from the one that the caller asks about. A purchase without an
    /// account counts for every caller.
    func isOfAnother(account: String?) -> Bool {
        guard let expected = expectedAppAccountToken, let account else { return false }
        return account != expected.lowercased()
    }

    /// Whether a purchase can entitle the customer in question.
    func counts(_ ownership: InAppOwnershipType?, of account: String?) -> Bool {
        (acceptsFamilySharing || ownership != .familyShared) && !isOfAnother(account: account)
    }
}
