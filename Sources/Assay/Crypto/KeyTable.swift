import AssayCurves
import Synchronization

/// A table of multiples of one public key's point Q, which makes u₂·Q a sum of points of it.
///
/// Takes two milliseconds to build and 823 KB. The table is read-only after that, so threads share
/// it.
package final class KeyTable: Sendable {
    let multiples: P256Verification.Table
    /// What the table was made for.
    let arithmetic: P256Verification.Arithmetic
    /// The slot among `Limits.keyTables`; released with this table.
    private let slot: KeyTableSlot

    /// Returns nil for a key of another curve, and for an engine without tables.
    init?(_ key: PublicKey, engine: SignatureEngine, slot: KeyTableSlot) {
        guard let arithmetic = engine.arithmetic, key.curve == .p256,
            let multiples = P256Verification.table(uncompressed: key.point.span, for: arithmetic)
        else { return nil }
        (self.multiples, self.arithmetic, self.slot) = (multiples, arithmetic, slot)
        // Built here, at the first key's table, and not during a verification.
        _ = P256Verification.generatorTable(for: arithmetic)
    }
}

/// One of the `Limits.keyTables` slots. Releases the slot on deinit.
package final class KeyTableSlot: Sendable {
    private let taken: KeyTableCount

    private init(_ taken: KeyTableCount) { self.taken = taken }

    /// Takes a slot; returns nil if all are taken.
    static func take(of count: KeyTableCount) -> KeyTableSlot? {
        guard count.value.add(1, ordering: .relaxed).newValue <= Limits.keyTables else {
            count.value.subtract(1, ordering: .relaxed)
            return nil
        }
        return KeyTableSlot(count)
    }

    deinit { taken.value.subtract(1, ordering: .relaxed) }
}

/// The shared count of tables that exist or are being built.
final class KeyTableCount: Sendable {
    let value = Atomic<Int>(0)
}
