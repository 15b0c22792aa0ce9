import AssayLocks
import Synchronization

/// Decides which keys get a table, and when.
///
/// A key requests a table after `Limits.keyTableUses` valid signatures. Only keys of validated
/// chains verify anything. The caller of `buildPending` builds the tables; other threads verify
/// through EVP meanwhile. A table lives as long as its key, and so as long as the key's chain.
package final class KeyTables: Sendable {
    private let count = KeyTableCount()
    private let pending = Locked<[PendingKey]>([])
    /// Lets `hasPending` answer without a lock.
    private let pendingCount = Atomic<Int>(0)
    /// Set when a table could not be built. It would fail again.
    private let isBroken = Atomic<Bool>(false)
    package let engine: SignatureEngine
    private let isEnabled: Bool
    private let build: Builder

    /// Builds a table; returns nil if that is impossible.
    package typealias Builder = @Sendable (PublicKey, KeyTableSlot) -> KeyTable?

    /// - Parameter engine: with OpenSSL as the engine no key gets a table.
    package init(isEnabled: Bool, engine: SignatureEngine = .best, build: Builder? = nil) {
        self.engine = engine
        self.isEnabled = isEnabled && engine.arithmetic != nil
        self.build = build ?? { KeyTable($0, engine: engine, slot: $1) }
    }

    /// The number of tables that exist or are being built.
    package var tables: Int { count.value.load(ordering: .relaxed) }

    package var hasPending: Bool { pendingCount.load(ordering: .relaxed) > 0 }

    /// Counts valid signatures of a key without a table.
    package func note(_ key: PublicKey, held: Int) {
        // No count is written for a key that has its table: all threads use the frequent ones.
        guard isEnabled, held > 0, key.curve == .p256, key.table == nil else { return }
        let uses = key.countUses(held)
        // Exactly one thread crosses the line. While every slot is taken, the key asks again
        // after `keyTableUses` more signatures.
        let line = Limits.keyTableUses
        guard uses.oldValue / line != uses.newValue / line else { return }
        guard tables < Limits.keyTables, !isBroken.load(ordering: .relaxed) else { return }
        pending.withLock { pending in
            guard pending.count < Limits.keyTables else { return }
            pending.append(PendingKey(key: key.shared))
            pendingCount.store(pending.count, ordering: .relaxed)
        }
    }

    /// Builds the requested tables one after another; each takes 2 ms.
    ///
    /// - Returns: The number of tables built.
    @discardableResult
    package func buildPending() -> Int {
        var built = 0
        while let next = takePending() {
            // The chain can be gone by now, or the key queued twice.
            guard let key = next.key, key.table == nil else { continue }
            guard let slot = KeyTableSlot.take(of: count) else { continue }
            guard let table = build(key, slot) else {
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

/// A key queued for a table. The weak reference lets the key go in the meantime.
private struct PendingKey: Sendable {
    weak let key: PublicKey?
}
