internal import COpenSSL

/// The big numbers and points of one `ES256BatchVerifier`, allocated once.
///
/// Uses Montgomery arithmetic: `multiply(a, b)` is a·b·R⁻¹ mod n, with R = 2²⁵⁶. All values are
/// public, so constant time is not needed.
@safe final class ES256Numbers {
    private let curve = P256.shared
    private let context: OpaquePointer
    /// The s values, by place.
    private let s: [OpaquePointer]
    /// The running products: s₀, s₀·s₁·R⁻¹, s₀·s₁·s₂·R⁻², and so on.
    private let products: [OpaquePointer]
    /// After the inversion: R divided by the product at the next place.
    private let inverse: OpaquePointer
    private let r: OpaquePointer
    private let e: OpaquePointer
    private let weight: OpaquePointer
    private let x: OpaquePointer
    private let z: OpaquePointer
    private let u1G: OpaquePointer
    private let u2Q: OpaquePointer

    init() {
        guard let context = unsafe BN_CTX_new() else { outOfMemory() }
        unsafe self.context = context
        unsafe s = (0..<Limits.signaturesPerInversion).map { _ in unsafe bigNumber() }
        unsafe products = (0..<Limits.signaturesPerInversion).map { _ in unsafe bigNumber() }
        unsafe inverse = bigNumber()
        unsafe r = bigNumber()
        unsafe e = bigNumber()
        unsafe weight = bigNumber()
        unsafe x = bigNumber()
        unsafe z = bigNumber()
        unsafe u1G = curve.point()
        unsafe u2Q = curve.point()
    }

    deinit {
        unsafe (s + products).forEach { unsafe BN_free($0) }
        unsafe [inverse, r, e, weight, x, z].forEach { unsafe BN_free($0) }
        unsafe EC_POINT_free(u1G)
        unsafe EC_POINT_free(u2Q)
        unsafe BN_CTX_free(context)
    }

    /// Stores the s of one signature.
    /// - Parameter s: In 1 ..< n.
    func enter(_ s: Span<UInt8>, at place: Int) {
        unsafe set(self.s[place], s)
    }

    /// Inverts all s with one inversion (Montgomery's trick): inverts the product, from which
    /// `takeWeight` then removes one factor at a time. Returns false if OpenSSL failed.
    func invert(count: Int) -> Bool {
        guard unsafe BN_copy(products[0], s[0]) != nil else { return false }
        for place in 1..<max(count, 1) {
            guard unsafe multiply(products[place], products[place - 1], s[place]) else {
                return false
            }
        }
        return unsafe BN_mod_inverse(inverse, products[count - 1], curve.order, context) != nil
            && BN_to_montgomery(inverse, inverse, curve.montgomeryOrder, context) == 1
    }

    /// Whether x of u₁·G + u₂·Q is r mod n. Call from the last place to the first. Returns nil if
    /// OpenSSL failed.
    func holds(
        r: Span<UInt8>, digest: Span<UInt8>, at place: Int, keyGroup: OpaquePointer
    ) -> Bool? {
        unsafe set(self.r, r)
        unsafe set(e, digest)
        if unsafe BN_ucmp(e, curve.order) >= 0 {
            guard unsafe BN_usub(e, e, curve.order) == 1 else { return failed() }
        }
        guard takeWeight(at: place),
            unsafe multiply(e, e, weight),  // u₁ = e / s
            unsafe multiply(weight, self.r, weight),  // u₂ = r / s
            unsafe EC_POINT_mul(curve.group, u1G, e, nil, nil, context) == 1,
            unsafe EC_POINT_mul(keyGroup, u2Q, weight, nil, nil, context) == 1,
            unsafe EC_POINT_add(curve.group, u1G, u1G, u2Q, context) == 1
        else { return failed() }
        guard unsafe EC_POINT_is_at_infinity(curve.group, u1G) == 0 else { return false }
        return hasX()
    }

    /// Sets `weight` to R / s of this place and moves `inverse` to the place before.
    private func takeWeight(at place: Int) -> Bool {
        guard place > 0 else { return unsafe BN_copy(weight, inverse) != nil }
        return unsafe multiply(weight, inverse, products[place - 1])
            && multiply(inverse, inverse, s[place])
    }

    /// Whether the affine x of the sum, X/Z², is r, or r + n if that is below p.
    private func hasX() -> Bool? {
        guard
            unsafe EC_POINT_get_Jprojective_coordinates_GFp(
                curve.group, u1G, x, nil, z, context) == 1
        else { return failed() }
        guard let isR = unsafe isX(r) else { return failed() }
        guard !isR, unsafe BN_ucmp(r, curve.fieldMinusOrder) < 0 else { return isR }
        guard unsafe BN_uadd(r, r, curve.order) == 1 else { return failed() }
        return unsafe isX(r) ?? failed()
    }

    /// Whether candidate·Z² is X mod p.
    private func isX(_ candidate: OpaquePointer) -> Bool? {
        let field = unsafe curve.montgomeryField
        guard unsafe BN_mod_mul_montgomery(e, candidate, curve.cubeOfR, field, context) == 1,
            unsafe BN_mod_mul_montgomery(e, e, z, field, context) == 1,
            unsafe BN_mod_mul_montgomery(e, e, z, field, context) == 1
        else { return nil }
        return unsafe BN_ucmp(e, x) == 0
    }

    /// Sets product = a·b·R⁻¹ mod n.
    private func multiply(
        _ product: OpaquePointer, _ a: OpaquePointer, _ b: OpaquePointer
    ) -> Bool {
        unsafe BN_mod_mul_montgomery(product, a, b, curve.montgomeryOrder, context) == 1
    }

    /// Sets a number from big-endian octets.
    private func set(_ number: OpaquePointer, _ octets: Span<UInt8>) {
        unsafe octets.withUnsafeBufferPointer { octets in
            guard unsafe BN_bin2bn(octets.baseAddress, Int32(octets.count), number) != nil
            else { outOfMemory() }
        }
    }

    private func failed() -> Bool? {
        ERR_clear_error()
        return nil
    }
}
