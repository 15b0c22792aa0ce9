import AssayModels

/// The paid periods of one subscription by the time at which they begin, as they are at one moment.
struct Timeline {
    /// A purchase, and the seats that were added to it.
    struct Period {
        private let first: Snapshot
        /// In the order of their purchase.
        private let added: [Snapshot]
        private let now: Int64
        let begin: Int64
        let end: Int64
        /// Since when every purchase in it is refunded; nil if one is not.
        private let revokedFrom: Int64?

        init(_ first: Snapshot, added: [Snapshot] = [], at now: Int64) {
            self.first = first
            self.added = added
            self.now = now
            begin = first.purchaseDate
            end = added.reduce(first.expiresDate ?? .min) { max($0, $1.expiresDate ?? .min) }
            revokedFrom = added.reduce(first.revocationDate) { revoked, purchase in
                revoked.flatMap { date in purchase.revocationDate.map { max(date, $0) } }
            }
        }

        /// Those that were bought by now, or else all.
        private var begun: [Snapshot] {
            let all = [first] + added
            let last = all.lastIndex { $0.purchaseDate <= now }
            return last.map { Array(all[...$0]) } ?? all
        }
        /// The one that shows the period: the last that is not refunded.
        var deciding: Snapshot {
            guard !added.isEmpty else { return first }
            let begun = begun
            return begun.last { !$0.isRevoked(at: now) } ?? begun[begun.endIndex - 1]
        }
        /// A refunded period is in force until it was refunded.
        var paidEnd: Int64 { min(end, revokedFrom ?? .max) }
        /// Whether any of it was in force: it was not refunded before it began.
        var wasPaid: Bool { paidEnd > begin }
        /// Revoked only when every transaction in it is.
        var isRevoked: Bool {
            added.isEmpty
                ? first.isRevoked(at: now) : begun.allSatisfy { $0.isRevoked(at: now) }
        }
        var revocationDate: Int64 { revokedFrom ?? .min }
        var signedDate: Int64 { added.reduce(first.signedDate) { min($0, $1.signedDate) } }

        /// Of the purchaser alone: the transaction of a member repeats the purchaser's figures.
        var seats: Int64? {
            guard !added.isEmpty || first.revokedSeats != nil || first.isSeatAddition,
                deciding.ownership == .purchased,
                case let begun = begun,
                begun.contains(where: { $0.revokedSeats != nil || $0.isSeatAddition })
            else { return nil }
            return begun.reduce(0) { sum, purchase in
                let revoked = purchase.revokedSeats ?? 0
                let paid = purchase.isRevoked(at: now) ? 0 : purchase.quantity - revoked
                return sum.addingReportingOverflow(max(0, paid)).partialValue
            }
        }

        func contains(_ moment: Int64) -> Bool { begin <= moment && moment < end }
    }

    let periods: [Period]

    /// - Parameters:
    ///   - purchases: of one subscription.
    ///   - now: the moment. What was replaced or refunded later is still in force at it.
    init(_ purchases: [Snapshot], at now: Int64) {
        guard purchases.count > 1 else {
            periods = purchases.filter { !$0.isUpgraded }.map { Period($0, at: now) }
            return
        }
        let latest = Self.latest(purchases)
        var current: [Snapshot] = []
        current.reserveCapacity(purchases.count)
        var replaced: [Snapshot] = []
        for purchase in purchases {
            if purchase.isUpgraded || Self.isUpgradedByReceipt(purchase, latest) {
                replaced.append(purchase)
            } else {
                current.append(purchase)
            }
        }
        // Many send the newest first: a sort of few would move each past all others.
        if let first = current.first, let last = current.last, Self.isEarlier(last, than: first) {
            current.reverse()
        }
        current.sort(by: Self.isEarlier)
        current = Self.withoutReplaced(current)
        let inForce = Self.inForce(replaced, before: current, at: now)
        if !inForce.isEmpty { current = (current + inForce).sorted(by: Self.isEarlier) }
        periods = Self.periods(current, at: now)
    }

    /// The index of the latest begun period; nil: none has begun.
    func latestBegun(at now: Int64) -> Int? { periods.lastIndex { $0.begin <= now } }

    /// The last paid period that joins this one without a gap, and its end. Each that begins
    /// decides alone from then on, so one that ends earlier, or is refunded, shortens the time.
    func paidUntil(from index: Int) -> (end: Int64, last: Int) {
        var (end, last) = (periods[index].paidEnd, index)
        for next in periods.indices[(index + 1)...] where periods[next].begin <= end {
            let begin = periods[next].begin
            guard periods[next].wasPaid else { return (min(end, begin), last) }
            (end, last) = (periods[next].paidEnd, next)
        }
        return (end, last)
    }

    /// The end of an access that lasts beyond its period: the next period decides when it begins.
    func until(_ end: Int64, after index: Int) -> Int64 {
        let next = index + 1
        guard next < periods.count, periods[next].begin < end else { return end }
        return periods[next].wasPaid ? paidUntil(from: next).end : periods[next].begin
    }

    /// An upgrade cancels the earlier purchase when the later one begins. So a cancelled record is
    /// an upgrade only if a later purchase begins then or after it.
    ///
    /// - Parameter latest: the latest purchase of all, which no upgrade has cancelled.
    private static func isUpgradedByReceipt(_ purchase: Snapshot, _ latest: Snapshot?) -> Bool {
        guard let cancelled = purchase.cancelledInReceipt, let latest, latest !== purchase else {
            return false
        }
        let begins = Timestamp(milliseconds: cancelled).advanced(by: -RenewalState.secondOfReceipts)
        return begins.milliseconds < latest.purchaseDate
    }

    /// The replaced purchases that are in force until their successors begin, also those that begin
    /// later: each decides from then on. None is once the last has begun, nor after it: its
    /// successor is not known.
    private static func inForce(
        _ replaced: [Snapshot], before current: [Snapshot], at now: Int64
    ) -> [Snapshot] {
        guard let last = current.last, last.purchaseDate > now else { return [] }
        // A renewal that was charged ahead can be replaced before it begins.
        return replaced.filter { purchase in
            let begin = purchase.purchaseDate
            return begin < last.purchaseDate
                && !current.contains { earlier in
                    let end = min(earlier.expiresDate ?? .min, earlier.revocationDate ?? .max)
                    return earlier.purchaseDate <= begin && begin < end
                }
        }
    }

    /// Seats that are added make one period with the transaction to which they are added: they have
    /// one end, and all carry the member. A statement about the earlier transaction that is older
    /// than the addition lacks it, and is of the same product.
    private static func periods(_ sorted: [Snapshot], at now: Int64) -> [Period] {
        guard sorted.contains(where: \.isSeatAddition) else {
            return sorted.map { Period($0, at: now) }
        }
        var members: [[Snapshot]] = []
        var indices: [Int64: Int] = [:]
        for purchase in sorted {
            if let end = purchase.expiresDate {
                let index = indices.index(of: end, orNext: members.count)
                if index < members.count, purchase.adds(to: members[index][0]) {
                    members[index].append(purchase)
                    continue
                }
                indices[end] = members.count
            }
            members.append([purchase])
        }
        return members.map { Period($0[0], added: Array($0.dropFirst()), at: now) }
    }

    /// Without the periods that were charged ahead, and then replaced by a purchase that begins
    /// earlier, such as an upgrade.
    private static func withoutReplaced(_ sorted: [Snapshot]) -> [Snapshot] {
        var kept: [Snapshot] = []
        kept.reserveCapacity(sorted.count)
        for purchase in sorted {
            if let earlier = kept.last, earlier.purchaseDate < purchase.purchaseDate,
                purchase.signedDate != .min, purchase.signedDate < earlier.purchaseDate,
                purchase.signedDate < earlier.signedDate
            {
                continue
            }
            kept.append(purchase)
        }
        return kept
    }

    /// By purchase date, then by end; of equal ones that which takes away more is the later.
    private static func isEarlier(_ left: Snapshot, than right: Snapshot) -> Bool {
        if left.purchaseDate != right.purchaseDate {
            return left.purchaseDate < right.purchaseDate
        }
        let (leftEnd, rightEnd) = (left.expiresDate ?? .min, right.expiresDate ?? .min)
        if leftEnd != rightEnd { return leftEnd < rightEnd }
        if left.isRevoked != right.isRevoked { return right.isRevoked }
        return TransactionNumber.isLess(left.transactionId, right.transactionId)
    }

    /// The purchase to show where no period decides: the latest.
    static func latest(_ purchases: [Snapshot]) -> Snapshot? {
        purchases.max { isEarlier($0, than: $1) }
    }
}

extension Snapshot {
    /// Whether it adds seats to the period of an earlier transaction with the same end.
    fileprivate func adds(to earlier: Snapshot) -> Bool {
        isSeatAddition && (earlier.isSeatAddition || earlier.productId == productId)
    }
}
