internal import COpenSSL

/// Verifies batches of ES256 signatures of keys with tables by OpenSSL's arithmetic (SEC 1,
/// section 4.1.4). Its numbers and points are allocated once. Not thread-safe.
///
/// Both products of u₁·G + u₂·Q come from tables, one inversion of s serves the batch, and x is
/// compared without a division. `multiply(a, b)` is a·b·R⁻¹ mod n, with R = 2²⁵⁶ of Montgomery. All
/// values are public, so constant time is not needed.
@safe final class OpenSSLBatch {
    private let curve = OpenSSLP256.shared
    private let context: OpaquePointer
    /// The tables of the keys, by place.
    private var tables: [OpenSSLTable] = []
    private var outcomes: [Bool?] = []
    // The digests and signatures, by place.
    private let e: [OpaquePointer]
    private let r: [OpaquePointer]
    private let s: [OpaquePointer]
    /// The running products: s₀, s₀·s₁·R⁻¹, s₀·s₁·s₂·R⁻², and so on.
    private let products: [OpaquePointer]
    /// After the inversion: R divided by the product at the next place.
    private let inverse: OpaquePointer
    private let weight: OpaquePointer
    private let product: OpaquePointer
    private let x: OpaquePointer
    private let z: OpaquePointer
    private let u1G: OpaquePointer
    private let u2Q: OpaquePointer

    init(capacity: Int) {
        func numbers(_ count: Int) -> [OpaquePointer] {
            unsafe (0..<count).map { _ in unsafe OpenSSLP256.number() }
        }
        guard let context = unsafe BN_CTX_new() else { outOfMemory() }
        unsafe self.context = context
        unsafe e = numbers(capacity)
        unsafe r = numbers(capacity)
        unsafe s = numbers(capacity)
        unsafe products = numbers(capacity)
        unsafe inverse = OpenSSLP256.number()
        unsafe weight = OpenSSLP256.number()
        unsafe product = OpenSSLP256.number()
        unsafe x = OpenSSLP256.number()
        unsafe z = OpenSSLP256.number()
        unsafe u1G = curve.point()
        unsafe u2Q = curve.point()
    }

    deinit {
        unsafe (e + r + s + products).forEach { unsafe BN_free($0) }
        unsafe [inverse, weight, product, x, z].forEach { unsafe BN_free($0) }
        unsafe EC_POINT_free(u1G)
        unsafe EC_POINT_free(u2Q)
        unsafe BN_CTX_free(context)
    }

    /// Adds a signature.
    ///
    /// - Parameters:
    ///   - r: in 1 ..< n, as `s`.
    func append(_ table: OpenSSLTable, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>) {
        let place = tables.count
        unsafe set(e[place], digest)
        unsafe set(self.r[place], r)
        unsafe set(self.s[place], s)
        tables.append(table)
    }

    /// Verifies all signatures of the batch.
    func verify() {
        outcomes = Array(repeating: nil, count: tables.count)
        guard !tables.isEmpty else { return }
        guard invert() else { return ERR_clear_error() }
        for place in tables.indices.reversed() { outcomes[place] = holds(place) }
    }

    /// Whether a signature verifies. Nil if OpenSSL failed, so that another routine has to decide.
    func outcome(_ place: Int) -> Bool? { outcomes[place] }

    func removeAll() {
        tables.removeAll(keepingCapacity: true)
        outcomes.removeAll(keepingCapacity: true)
    }

    /// Inverts all s with one inversion (Montgomery's trick): inverts the product, from which
    /// `takeWeight` then removes one factor at a time. Returns false if OpenSSL failed.
    private func invert() -> Bool {
        guard unsafe BN_copy(products[0], s[0]) != nil else { return false }
        for place in tables.indices.dropFirst() {
            guard unsafe multiply(products[place], products[place - 1], s[place]) else {
                return false
            }
        }
        let last = unsafe products[tables.count - 1]
        return unsafe BN_mod_inverse(inverse, last, curve.order, context) != nil
            && BN_to_montgomery(inverse, inverse, curve.montgomeryOrder, context) == 1
    }

    /// Whether x of u₁·G + u₂·Q is r mod n. Call from the last place to the first.
    private func holds(_ place: Int) -> Bool? {
        let (e, r) = unsafe (e[place], r[place])
        if unsafe BN_ucmp(e, curve.order) >= 0 {
            guard unsafe BN_usub(e, e, curve.order) == 1 else { return failed() }
        }
        guard takeWeight(place),
            unsafe multiply(e, e, weight),  // u₁ = e / s
            unsafe multiply(weight, r, weight),  // u₂ = r / s
            unsafe EC_POINT_mul(curve.group, u1G, e, nil, nil, context) == 1,
            unsafe EC_POINT_mul(tables[place].group, u2Q, weight, nil, nil, context) == 1,
            unsafe EC_POINT_add(curve.group, u1G, u1G, u2Q, context) == 1
        else { return failed() }
        guard unsafe EC_POINT_is_at_infinity(curve.group, u1G) == 0 else { return false }
        return unsafe sumHasX(r)
    }

    /// Sets `weight` to R / s of this place, and moves `inverse` to the place before.
    private func takeWeight(_ place: Int) -> Bool {
        guard place > 0 else { return unsafe BN_copy(weight, inverse) != nil }
        return unsafe multiply(weight, inverse, products[place - 1])
            && multiply(inverse, inverse, s[place])
    }

    /// Whether the affine x of the sum, X/Z², is r, or r + n if that is below p.
    private func sumHasX(_ r: OpaquePointer) -> Bool? {
        guard
            unsafe EC_POINT_get_Jprojective_coordinates_GFp(
                curve.group, u1G, x, nil, z, context) == 1,
            let isR = unsafe isX(r)
        else { return failed() }
        guard !isR, unsafe BN_ucmp(r, curve.fieldMinusOrder) < 0 else { return isR }
        guard unsafe BN_uadd(r, r, curve.order) == 1 else { return failed() }
        return unsafe isX(r) ?? failed()
    }

    /// Whether candidate·Z² is X mod p.
    private func isX(_ candidate: OpaquePointer) -> Bool? {
        let field = unsafe curve.montgomeryField
        guard unsafe BN_mod_mul_montgomery(product, candidate, curve.cubeOfR, field, context) == 1,
            unsafe BN_mod_mul_montgomery(product, product, z, field, context) == 1,
            unsafe BN_mod_mul_montgomery(product, product, z, field, context) == 1
        else { return nil }
        return unsafe BN_ucmp(product, x) == 0
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
