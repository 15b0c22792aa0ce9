internal import COpenSSL

/// OpenSSL's table of multiples of one public key's point Q. It makes k·Q as fast as k·G.
///
/// OpenSSL has a table for a group's generator alone. So `group` is P-256 with Q as its generator,
/// and `EC_GROUP_precompute_mult` fills the table: 16 to 30 ms and 150 KB. It is read-only after
/// that, so threads share it.
@safe final class OpenSSLTable: @unchecked Sendable {
    let group: OpaquePointer

    /// Returns nil if OpenSSL builds no table, or one whose products differ from those without it.
    ///
    /// - Parameter octets: the point, `04 ‖ x ‖ y`.
    init?(uncompressed octets: Span<UInt8>) {
        let curve = OpenSSLP256.shared
        guard let context = unsafe BN_CTX_new() else { outOfMemory() }
        defer { unsafe BN_CTX_free(context) }
        guard let group = unsafe EC_GROUP_dup(curve.group) else { outOfMemory() }
        unsafe self.group = group
        guard let point = unsafe curve.point(octets) else { return nil }
        defer { unsafe EC_POINT_free(point) }
        guard unsafe EC_GROUP_set_generator(group, point, curve.order, BN_value_one()) == 1,
            unsafe EC_GROUP_precompute_mult(group, context) == 1,
            unsafe EC_GROUP_have_precompute_mult(group) == 1,
            multiplies(octets)
        else {
            ERR_clear_error()
            return nil
        }
    }

    deinit { unsafe EC_GROUP_free(group) }

    /// Whether products by the table are those of a point without a table. A wrong table must cost
    /// speed, not a verdict.
    ///
    /// - Parameter octets: the point, `04 ‖ x ‖ y`.
    func multiplies(_ octets: Span<UInt8>) -> Bool {
        let curve = OpenSSLP256.shared
        guard let point = unsafe curve.point(octets) else { return false }
        guard let context = unsafe BN_CTX_new() else { outOfMemory() }
        let scalar = unsafe OpenSSLP256.number()
        let (product, expected) = unsafe (curve.point(), curve.point())
        defer {
            unsafe BN_CTX_free(context)
            unsafe EC_POINT_free(point)
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
