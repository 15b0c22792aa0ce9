import AssayLocks
import Synchronization

/// Which keys get a table, and when.
///
/// A key asks for one when enough of its signatures held; only keys of validated chains verify
/// anything. Whoever calls `buildPending` builds, others verify through EVP meanwhile. A table
/// ends with its key, and so with the chain that brought it.
package final class KeyTables: Sendable {
    private let count = KeyTableCount()
    private let pending = Locked<[PendingKey]>([])
    /// So that looking costs no lock.
    private let pendingCount = Atomic<Int>(0)
    /// OpenSSL built no table once: it will not do so another time.
    private let isBroken = Atomic<Bool>(false)
    private let isEnabled: Bool
    private let build: Builder

    /// Nil where OpenSSL cannot.
    package typealias Builder = @Sendable (PublicKey, KeyTablePlace) -> KeyTable?

    package init(
        isEnabled: Bool, build: @escaping Builder = { KeyTable($0, place: $1) }
    ) {
        self.isEnabled = isEnabled
        self.build = build
    }

    /// Tables that are there or being built.
    package var tables: Int { count.value.load(ordering: .relaxed) }

    package var hasPending: Bool { pendingCount.load(ordering: .relaxed) > 0 }

    /// Counts signatures that held without a table.
    package func note(_ key: PublicKey, held: Int) {
        guard isEnabled, held > 0, key.curve == .p256 else { return }
        let uses = key.uses.add(held, ordering: .relaxed)
        // Exactly one thread crosses the line. While every place is taken, a key asks again after
        // as many uses more.
        let line = Limits.keyTableUses
        guard uses.oldValue / line != uses.newValue / line else { return }
        guard key.table == nil, tables < Limits.keyTables, !isBroken.load(ordering: .relaxed)
        else { return }
        pending.withLock { pending in
            guard pending.count < Limits.keyTables else { return }
            pending.append(PendingKey(key: key))
            pendingCount.store(pending.count, ordering: .relaxed)
        }
    }

    /// Builds the tables that are asked for, one after the other; some 16 to 30 ms each.
    ///
    /// - Returns: how many were built.
    @discardableResult
    package func buildPending() -> Int {
        var built = 0
        while let next = takePending() {
            // The chain may be gone by now, or the key have asked twice.
            guard let key = next.key, key.table == nil else { continue }
            guard let place = KeyTablePlace.take(of: count) else { continue }
            guard let table = build(key, place) else {
                isBroken.store(true, ordering: .relaxed)
                continue
            }
            key.adopt(table)
            built += 1
        }
        return built
    }

    private func takePending() -> PendingKey? {
        pending.withLock { pending in
            let next = pending.popLast()
            pendingCount.store(pending.count, ordering: .relaxed)
            return next
        }
    }
}

/// A key that waits for its table, and may go while it waits.
private struct PendingKey: Sendable {
    weak let key: PublicKey?
}
