internal import COpenSSL
import Synchronization

/// A table of multiples of one public key's point Q. It reduces the cost of k·Q to a sixth.
///
/// OpenSSL uses such a table only for a group's generator. So `group` is P-256 with Q as its
/// generator, and OpenSSL's own `EC_GROUP_precompute_mult` fills the table: 16 to 30 ms and 150
/// KB. The table is read-only after that, so threads share it.
@safe package final class KeyTable: @unchecked Sendable {
    let group: OpaquePointer
    /// The slot among `Limits.keyTables`; released with this table.
    private let place: KeyTablePlace

    /// Returns nil if OpenSSL builds no table, or if the table's products differ from OpenSSL's
    /// own.
    init?(_ key: PublicKey, place: KeyTablePlace) {
        let curve = P256.shared
        guard key.curve == .p256, let context = unsafe BN_CTX_new() else { return nil }
        defer { unsafe BN_CTX_free(context) }
        guard let group = unsafe EC_GROUP_dup(curve.group) else { outOfMemory() }
        unsafe self.group = group
        self.place = place
        let point = unsafe curve.point()
        defer { unsafe EC_POINT_free(point) }
        let octets = key.point
        guard unsafe EC_POINT_oct2point(group, point, octets, octets.count, context) == 1,
            unsafe EC_GROUP_set_generator(group, point, curve.order, BN_value_one()) == 1,
            unsafe EC_GROUP_precompute_mult(group, context) == 1,
            unsafe EC_GROUP_have_precompute_mult(group) == 1,
            unsafe multiplies(asWithoutTable: point, context)
        else {
            ERR_clear_error()
            return nil
        }
    }

    deinit { unsafe EC_GROUP_free(group) }

    /// Compares products with and without the table: a wrong table must cost speed, never a
    /// verdict.
    private func multiplies(asWithoutTable point: OpaquePointer, _ context: OpaquePointer) -> Bool {
        let curve = P256.shared
        let scalar = unsafe bigNumber()
        let (product, expected) = unsafe (curve.point(), curve.point())
        defer {
            unsafe BN_free(scalar)
            unsafe EC_POINT_free(product)
            unsafe EC_POINT_free(expected)
        }
        // n − 1 and its halves use every window of the table, with both signs.
        unsafe precondition(BN_sub(scalar, curve.order, BN_value_one()) == 1)
        for _ in 0..<8 {
            guard unsafe EC_POINT_mul(group, product, scalar, nil, nil, context) == 1,
                unsafe EC_POINT_mul(curve.group, expected, nil, point, scalar, context) == 1,
                unsafe EC_POINT_cmp(curve.group, product, expected, context) == 0
            else { return false }
            unsafe precondition(BN_rshift1(scalar, scalar) == 1)
        }
        return true
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
