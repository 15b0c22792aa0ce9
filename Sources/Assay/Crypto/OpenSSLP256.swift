internal import COpenSSL

/// The constants of P-256 (SEC 2, section 2.4.2) in OpenSSL's form. Read-only, so threads share
/// them.
@safe final class OpenSSLP256: @unchecked Sendable {
    static let shared = OpenSSLP256()

    /// OpenSSL's own group, whose generator has a built-in table.
    let group: OpaquePointer
    /// n.
    let order: OpaquePointer
    /// p − n. Where r is smaller, x can also be r + n.
    let fieldMinusOrder: OpaquePointer
    let montgomeryOrder: OpaquePointer
    let montgomeryField: OpaquePointer
    /// R³ mod p, with R = 2²⁵⁶ of Montgomery. The product of r, R³, Z and Z is r·Z².
    let cubeOfR: OpaquePointer

    private init() {
        guard let context = unsafe BN_CTX_new(),
            let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1),
            let order = unsafe BN_dup(EC_GROUP_get0_order(group)),
            let montgomeryOrder = unsafe BN_MONT_CTX_new(),
            let montgomeryField = unsafe BN_MONT_CTX_new()
        else { outOfMemory() }
        defer { unsafe BN_CTX_free(context) }
        let field = unsafe Self.number()
        defer { unsafe BN_free(field) }
        unsafe precondition(EC_GROUP_get_curve(group, field, nil, nil, context) == 1)
        unsafe precondition(BN_MONT_CTX_set(montgomeryOrder, order, context) == 1)
        unsafe precondition(BN_MONT_CTX_set(montgomeryField, field, context) == 1)
        unsafe fieldMinusOrder = Self.number()
        unsafe precondition(BN_sub(fieldMinusOrder, field, order) == 1)
        unsafe cubeOfR = Self.number()
        unsafe precondition(BN_set_word(cubeOfR, 1) == 1)
        for _ in 0..<3 {
            unsafe precondition(
                BN_to_montgomery(cubeOfR, cubeOfR, montgomeryField, context) == 1)
        }
        unsafe self.group = group
        unsafe self.order = order
        unsafe self.montgomeryOrder = montgomeryOrder
        unsafe self.montgomeryField = montgomeryField
    }

    static func number() -> OpaquePointer {
        guard let number = unsafe BN_new() else { outOfMemory() }
        return unsafe number
    }

    func point() -> OpaquePointer {
        guard let point = unsafe EC_POINT_new(group) else { outOfMemory() }
        return unsafe point
    }

    /// Returns nil unless the octets are a point of the curve, `04 ‖ x ‖ y`.
    func point(_ octets: Span<UInt8>) -> OpaquePointer? {
        let point = unsafe point()
        let isPoint = unsafe octets.withUnsafeBufferPointer { octets in
            unsafe EC_POINT_oct2point(group, point, octets.baseAddress, octets.count, nil) == 1
        }
        guard isPoint else {
            unsafe EC_POINT_free(point)
            ERR_clear_error()
            return nil
        }
        return unsafe point
    }
}
