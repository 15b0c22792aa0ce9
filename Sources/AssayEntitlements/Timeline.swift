import AssayModels

/// The paid periods of one subscription by the time at which they begin.
struct Timeline {
    /// A purchase, and the seats that were added to it.
    struct Period {
        let purchases: ArraySlice<Snapshot>

        /// The one that shows the period: the last that is not refunded.
        var deciding: Snapshot {
            purchases.last { !$0.isRevoked } ?? purchases[purchases.endIndex - 1]
        }
        var begin: Int64 { purchases[purchases.startIndex].purchaseDate }
        var end: Int64 { purchases.lazy.compactMap(\.expiresDate).max() ?? .min }
        /// Revoked only when every transaction in it is.
        var isRevoked: Bool { purchases.allSatisfy(\.isRevoked) }
        var revocationDate: Int64 { purchases.lazy.compactMap(\.revocationDate).max() ?? .min }
        var signedDate: Int64 { purchases.lazy.map(\.signedDate).min() ?? .min }

        /// Nil for a subscription of one customer.
        var seats: Int64? {
            guard purchases.contains(where: { $0.revokedSeats != nil || $0.isSeatAddition }) else {
                return nil
            }
            return purchases.reduce(0) { sum, purchase in
                let paid = purchase.isRevoked ? 0 : purchase.quantity - (purchase.revokedSeats ?? 0)
                return sum.addingReportingOverflow(max(0, paid)).partialValue
            }
        }

        func contains(_ moment: Int64) -> Bool { begin <= moment && moment < end }
    }

    let periods: [Period]

    /// - Parameters:
    ///   - purchases: of one subscription.
    ///   - now: a cancellation in a receipt can mean an upgrade. Where another purchase is in force
    ///     then, it does.
    init(_ purchases: [Snapshot], at now: Int64) {
        var sorted = purchases.filter { !$0.isUpgraded }
        if sorted.contains(where: \.isCancelledInReceipt),
            sorted.contains(where: { !$0.isRevoked && $0.isInForce(at: now) })
        {
            sorted.removeAll(where: \.isCancelledInReceipt)
        }
        if sorted.count > 1 {
            sorted.sort(by: Self.isEarlier)
            sorted = Self.withoutReplaced(sorted)
        }
        var periods: [Period] = []
        periods.reserveCapacity(sorted.count)
        var start = 0
        for index in sorted.indices.dropFirst() {
            let period = Period(purchases: sorted[start..<index])
            guard !sorted[index].isSeatAddition || !period.contains(sorted[index].purchaseDate)
            else { continue }
            periods.append(period)
            start = index
        }
        if !sorted.isEmpty { periods.append(Period(purchases: sorted[start...])) }
        self.periods = periods
    }

    /// The index of the latest begun period; nil: none has begun.
    func latestBegun(at now: Int64) -> Int? { periods.lastIndex { $0.begin <= now } }

    /// The end of the last paid period that joins this one without a gap. Each that begins decides
    /// alone from then on, so one that ends earlier, or is refunded, shortens the time.
    func paidUntil(from index: Int) -> Int64 {
        var end = periods[index].end
        for next in periods[(index + 1)...] where next.begin <= end {
            guard !next.isRevoked else { return min(end, next.begin) }
            end = next.end
        }
        return end
    }

    /// The end of an access that lasts beyond its period: the next period decides when it begins.
    func until(_ end: Int64, after index: Int) -> Int64 {
        let next = index + 1
        guard next < periods.count, periods[next].begin < end else { return end }
        return periods[next].isRevoked ? periods[next].begin : paidUntil(from: next)
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
    fileprivate var isCancelledInReceipt: Bool { isFromReceipt && isRevoked }

    fileprivate func isInForce(at now: Int64) -> Bool {
        purchaseDate <= now && now < expiresDate ?? .min
    }
}
