import AssayModels

/// A purchase of another store than Apple's as one item of evidence states it.
@dynamicMemberLookup
struct StoreSnapshot {
    let item: Int
    private let purchase: StorePurchase
    private let json: [UInt8]

    init(_ purchase: StorePurchase, json: [UInt8], item: Int) {
        self.purchase = purchase
        self.json = json
        self.item = item
    }

    /// Reads a member of the purchase.
    subscript<Member>(dynamicMember member: KeyPath<StorePurchase, Member>) -> Member {
        purchase[keyPath: member]
    }

    /// Whether this statement replaces another about the same purchase. No store but HarmonyOS
    /// dates its statements: by rank, then by byte order.
    func wins(over other: StoreSnapshot) -> Bool {
        if purchase.rank != other.rank {
            return other.rank.lexicographicallyPrecedes(purchase.rank)
        }
        if json != other.json { return other.json.lexicographicallyPrecedes(json) }
        return item < other.item
    }

    var decidedBy: DecidedBy {
        DecidedBy(item: item, transactionId: purchase.id, signedDate: purchase.purchaseTime)
    }
}

// MARK: - One purchase at a moment

extension StoreSnapshot {
    /// Whether it was bought by then.
    func hasBegun(at moment: Int64) -> Bool {
        (purchase.purchaseTime?.milliseconds ?? .min) <= moment
    }

    /// Whether the store had taken it back by then. Without a date it never counts.
    func isRevoked(at moment: Int64) -> Bool {
        purchase.isRevoked && purchase.revokedAt.map { $0.milliseconds <= moment } ?? true
    }

    /// Whether it is paid and, as far as the store says when, not yet taken back.
    func isPaid(at moment: Int64) -> Bool {
        let wasPaid =
            purchase.state == .purchased || purchase.state == .refunded && purchase.revokedAt != nil
        return wasPaid && !purchase.hasUnknownStatus && hasBegun(at: moment)
            && !isRevoked(at: moment)
    }

    /// Paid, or paid once and taken back.
    var isListed: Bool { purchase.state == .purchased || purchase.isRevoked }

    /// The earlier of an end and the moment at which the store took it back.
    func limited(_ end: Timestamp?) -> Timestamp? {
        guard purchase.isRevoked, let revokedAt = purchase.revokedAt else { return end }
        return end.map { min($0, revokedAt) } ?? revokedAt
    }
}

/// The purchases of one app at another store, each by its winning statement.
struct StorePurchases {
    private var byID: [String: StoreSnapshot] = [:]

    mutating func add(_ purchase: StoreSnapshot) {
        if let known = byID[purchase.id], !purchase.wins(over: known) { return }
        byID[purchase.id] = purchase
    }

    var all: Dictionary<String, StoreSnapshot>.Values { byID.values }

    /// By purchase time, then identifier.
    var sorted: [StoreSnapshot] {
        byID.values.sorted {
            let (left, right) = (
                $0.purchaseTime ?? .init(milliseconds: .min),
                $1.purchaseTime ?? .init(milliseconds: .min)
            )
            return left != right ? left < right : $0.id < $1.id
        }
    }
}
