import AssayModels

/// The purchases of one app in one environment: of each the newest statement.
///
/// Statements are of one purchase if they have one identity, or one transaction id: the App Store
/// can state a transaction again under another original. The newest statement names the original
/// that counts.
struct Purchases {
    /// By slot. A slot that was joined with another keeps a statement that no longer counts.
    private var newest: [Snapshot] = []
    private var identities: StatementIndex
    private var transactions: StatementIndex
    /// Slots that turned out to be of the purchase of another one.
    private var joined: [Int: Int] = [:]
    /// Statements that a newer one with another transaction id, or of another identity, beat.
    private var beaten: [(slot: Int, statement: Snapshot)] = []

    /// The transaction id of every record in a receipt of Xcode: it names no purchase.
    private static let unnumbered = "0"

    /// - Parameter capacity: of how many purchases to have space.
    init(capacity: Int) {
        newest.reserveCapacity(capacity)
        identities = StatementIndex(capacity: capacity)
        transactions = StatementIndex(capacity: capacity)
    }

    mutating func add(_ snapshot: Snapshot) {
        let next = newest.count
        let known = identities.slot(snapshot.digest) { $0.purchase == snapshot.purchase }
        var other: Int?
        let id = snapshot.transactionId
        if id != Self.unnumbered {
            let digest = id.hashValue
            other = transactions.slot(digest) { $0.transactionId == id }
            if other == nil { transactions.add(snapshot, digest, slot: known ?? next) }
        }
        let slot = known ?? other ?? next
        if known == nil { identities.add(snapshot, snapshot.digest, slot: slot) }
        if slot == next { return newest.append(snapshot) }
        if let other, other != slot { join(slot, other) }
        let root = root(of: slot)
        newest[root] = newer(newest[root], snapshot, in: root)
    }

    private mutating func join(_ one: Int, _ other: Int) {
        let (one, other) = (root(of: one), root(of: other))
        guard one != other else { return }
        let (kept, dropped) = (min(one, other), max(one, other))
        joined[dropped] = kept
        newest[kept] = newer(newest[kept], newest[dropped], in: kept)
    }

    /// Each slot leads to a lower one. Shortens the path, so that long chains stay cheap.
    private mutating func root(of slot: Int) -> Int {
        guard !joined.isEmpty, var root = joined[slot] else { return slot }
        while let lower = joined[root] { root = lower }
        var slot = slot
        while let lower = joined[slot], lower != root {
            joined[slot] = root
            slot = lower
        }
        return root
    }

    /// The newer of two statements about one purchase, with what it does not say itself.
    private mutating func newer(_ one: Snapshot, _ other: Snapshot, in slot: Int) -> Snapshot {
        let (winner, loser) = one.wins(over: other) ? (one, other) : (other, one)
        winner.complete(from: loser)
        if winner.transactionId != loser.transactionId || winner.purchase != loser.purchase {
            beaten.append((slot, loser))
        }
        return winner
    }

    // MARK: What is known at the end

    /// The newest statement about each purchase.
    var all: [Snapshot] {
        guard !joined.isEmpty else { return newest }
        return newest.indices.filter { joined[$0] == nil }.map { newest[$0] }
    }

    /// What follows from purchases that were stated under several identities.
    struct Restatements {
        /// The originals under which no purchase is stated any longer, each with the one that
        /// replaced it: what is signed about the first is about the second.
        var originals: [String: String] = [:]
        /// The items without which the statements would be of several purchases.
        var items: [Int] = []
    }

    /// Names a statement of a purchase. One with a known name says nothing new of the identity.
    private struct Name: Hashable {
        let slot: Int
        let purchase: PurchaseIdentity
        let transactionId: String
    }

    func restatements() -> Restatements {
        var purchases = self
        return purchases.findRestatements()
    }

    private mutating func findRestatements() -> Restatements {
        var restated: Set<Int> = []
        for (slot, statement) in beaten {
            let slot = root(of: slot)
            if newest[slot].purchase != statement.purchase { restated.insert(slot) }
        }
        var found = Restatements()
        guard !restated.isEmpty else { return found }
        var statements: [Name: Snapshot] = [:]
        for (slot, statement) in beaten {
            let name = Name(
                slot: root(of: slot), purchase: statement.purchase,
                transactionId: statement.transactionId)
            guard restated.contains(name.slot) else { continue }
            if let known = statements[name], !statement.wins(over: known) { continue }
            statements[name] = statement
        }
        let current = Set(all.map(\.originalTransactionId))
        var newestOfOriginals: [String: Snapshot] = [:]
        for (name, statement) in statements {
            found.items.append(statement.item)
            let original = statement.originalTransactionId
            guard !current.contains(original) else { continue }
            if let known = newestOfOriginals[original], !statement.wins(over: known) { continue }
            newestOfOriginals[original] = statement
            found.originals[original] = newest[name.slot].originalTransactionId
        }
        return found
    }
}
