import AssayCurves
import Synchronization

/// A table of multiples of one public key's point Q, which makes u₂·Q a sum of points of it.
///
/// Takes two milliseconds to build and 823 KB; OpenSSL's takes 30 ms and 150 KB. The table is
/// read-only after that, so threads share it.
package final class KeyTable: Sendable {
    enum Points: Sendable {
        case own(P256Verification.Table)
        case openssl(OpenSSLTable)
    }

    let points: Points
    /// The slot among `Limits.keyTables`; released with this table.
    private let place: KeyTablePlace

    /// Returns nil for a key of another curve.
    init?(_ key: PublicKey, engine: SignatureEngine, place: KeyTablePlace) {
        guard key.curve == .p256, let points = Points(key.point.span, engine) else { return nil }
        self.points = points
        self.place = place
    }
}

extension KeyTable.Points {
    /// - Parameter octets: the point, `04 ‖ x ‖ y`.
    fileprivate init?(_ octets: Span<UInt8>, _ engine: SignatureEngine) {
        guard let arithmetic = engine.arithmetic else {
            guard let table = OpenSSLTable(uncompressed: octets) else { return nil }
            self = .openssl(table)
            return
        }
        guard let table = P256Verification.table(uncompressed: octets, for: arithmetic) else {
            return nil
        }
        self = .own(table)
        // Built here, at the first key's table, and not during a verification.
        _ = P256Verification.generatorTable(for: arithmetic)
    }
}

/// One of the `Limits.keyTables` slots. Releases the slot on deinit.
package final class KeyTablePlace: Sendable {
    private let taken: KeyTableCount

    private init(_ taken: KeyTableCount) { self.taken = taken }

    /// Takes a slot; returns nil if all are taken.
    static func take(of count: KeyTableCount) -> KeyTablePlace? {
        guard count.value.add(1, ordering: .relaxed).newValue <= Limits.keyTables else {
            count.value.subtract(1, ordering: .relaxed)
            return nil
        }
        return KeyTablePlace(count)
    }

    deinit { taken.value.subtract(1, ordering: .relaxed) }
}

/// The shared count of tables that exist or are being built.
final class KeyTableCount: Sendable {
    let value = Atomic<Int>(0)
}
