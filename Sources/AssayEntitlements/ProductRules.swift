import AssayModels

/// The rules of one product. The customer can have several purchases of it: an own one and a
/// family member's, or one bought again. The product is entitled if any purchase is.
struct ProductRules {
    private struct Purchase {
        var snapshot: Snapshot
        /// When its period begins; a non-consumable has none.
        var from: Int64
        /// It is nil if it never ends, or no end is known.
        var until: Int64?

        /// A refunded purchase is in force until it was refunded.
        var paidUntil: Int64? {
            guard let revoked = snapshot.revocationDate else { return until }
            return min(until ?? .max, revoked)
        }
    }

    private let purchases: [Purchase]
    private let now: Int64
    private let policy: EntitlementPolicy

    /// - Parameter purchases: of one product, not empty.
    init(_ purchases: [Snapshot], now: Int64, policy: EntitlementPolicy) {
        self.now = now
        self.policy = policy
        self.purchases = Self.periods(
            purchases.sorted {
                $0.purchaseDate != $1.purchaseDate
                    ? $0.purchaseDate < $1.purchaseDate
                    : TransactionNumber.isLess($0.transactionId, $1.transactionId)
            }, policy)
    }

    /// The period of each purchase: its own end, or the policy's duration. Stacked ones begin where
    /// the one before ends.
    private static func periods(_ sorted: [Snapshot], _ policy: EntitlementPolicy) -> [Purchase] {
        let product = sorted[0].productId ?? ""
        let stacks = policy.stackedProducts.contains(product)
        var stackEnd = Int64.min
        return sorted.map { snapshot in
            guard snapshot.type == .nonRenewing else {
                return Purchase(snapshot: snapshot, from: snapshot.purchaseDate)
            }
            if let end = snapshot.expiresDate {
                return Purchase(snapshot: snapshot, from: snapshot.purchaseDate, until: end)
            }
            guard let duration = policy.durations[product] else {
                return Purchase(snapshot: snapshot, from: snapshot.purchaseDate)
            }
            let from = stacks ? max(stackEnd, snapshot.purchaseDate) : snapshot.purchaseDate
            let until = Timestamp(milliseconds: from).advanced(by: duration).milliseconds
            // A refunded period adds nothing.
            if !snapshot.isRevoked { stackEnd = until }
            return Purchase(snapshot: snapshot, from: from, until: until)
        }
    }

    var entitlement: ProductEntitlement {
        let best = purchases.dropFirst().reduce(purchases[0]) { isBetter($1, than: $0) ? $1 : $0 }
        let isEntitled = isEntitled(best)
        let snapshot = best.snapshot
        var product = ProductEntitlement(
            productId: snapshot.productId ?? "", isEntitled: isEntitled,
            entitledUntil: isEntitled ? entitledUntil(best).map(Timestamp.init) : nil,
            transactionId: snapshot.transactionId, ownership: snapshot.ownership,
            decidedBy: snapshot.decidedBy)
        if snapshot.isRevoked(at: now) {
            product.revocationDate = snapshot.revokedAt
            product.revocationPercentage = snapshot.revocationPercentage
            product.revocationReason = snapshot.revocationReason
            product.revocationType = snapshot.revocationType
        }
        product.purchaseDate = snapshot.boughtAt
        product.appAccountToken = snapshot.account?.name
        product.appTransactionId = snapshot.appTransaction?.name
        product.belongsToAnotherAccount = policy.isOfAnother(account: product.appAccountToken)
        if snapshot.type == .nonRenewing { product.purchases = purchases.map(Self.listed) }
        return product
    }

    private static func listed(_ purchase: Purchase) -> ProductPurchase {
        let snapshot = purchase.snapshot
        var listed = ProductPurchase(
            transactionId: snapshot.transactionId, purchaseDate: snapshot.boughtAt,
            periodStart: purchase.from == .min ? nil : Timestamp(milliseconds: purchase.from),
            periodEnd: purchase.until.map(Timestamp.init),
            revocationDate: snapshot.revokedAt)
        listed.revocationReason = snapshot.revocationReason
        listed.revocationType = snapshot.revocationType
        return listed
    }

    /// The moments at which the entitlement can change.
    func changes(of entitlement: ProductEntitlement) -> [Int64] {
        let counting = purchases.filter { counts($0.snapshot) }
        return counting.map(\.snapshot.purchaseDate)
            + counting.compactMap(\.snapshot.revocationDate)
            + [entitlement.entitledUntil?.milliseconds].compactMap(\.self)
    }

    /// Whether a purchase is not refunded and belongs to the customer in question.
    private func counts(_ snapshot: Snapshot) -> Bool {
        !snapshot.isRevoked(at: now)
            && policy.counts(snapshot.ownership, of: snapshot.account?.name)
    }

    /// Whether a purchase entitles. A signed purchase was charged, so one with a later date counts
    /// from its signature, unless an earlier purchase is in force.
    private func isEntitled(_ purchase: Purchase) -> Bool {
        if isInForce(purchase) { return true }
        let snapshot = purchase.snapshot
        return snapshot.purchaseDate > now && snapshot.signedDate <= now && counts(snapshot)
            && !purchases.contains(where: isInForce)
    }

    private func isInForce(_ purchase: Purchase) -> Bool {
        guard counts(purchase.snapshot), purchase.snapshot.purchaseDate <= now else { return false }
        return purchase.paidUntil.map { now < $0 } ?? true
    }

    /// The end of the last purchase that joins this one without a gap.
    private func entitledUntil(_ purchase: Purchase) -> Int64? {
        guard var end = purchase.paidUntil else { return nil }
        for next in purchases where counts(next.snapshot) && next.from <= end {
            guard let until = next.paidUntil else { return nil }
            end = max(end, until)
        }
        return end
    }

    /// An entitled one first, then the one that ends last, an own one, the one bought last.
    private func isBetter(_ one: Purchase, than other: Purchase) -> Bool {
        let (oneEntitled, otherEntitled) = (isEntitled(one), isEntitled(other))
        if oneEntitled != otherEntitled { return oneEntitled }
        let (oneEnd, otherEnd) =
            oneEntitled
            ? (one.paidUntil ?? .max, other.paidUntil ?? .max)
            : (one.until ?? .max, other.until ?? .max)
        if oneEnd != otherEnd { return oneEnd > otherEnd }
        let (one, other) = (one.snapshot, other.snapshot)
        if one.isFamilyShared != other.isFamilyShared { return other.isFamilyShared }
        if one.purchaseDate != other.purchaseDate { return one.purchaseDate > other.purchaseDate }
        return TransactionNumber.isLess(other.transactionId, one.transactionId)
    }
}
