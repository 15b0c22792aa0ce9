import Assay
import AssayLocks
import COpenSSL

/// The attacker's side of ECDSA, over P-256 by default: signs with chosen nonces and finds keys
/// that fit a chosen signature. For tests only: nothing here is constant time.
@safe final class P256Forge {
    private let group: OpaquePointer
    private let context = unsafe BN_CTX_new()!
    /// Octets of a coordinate.
    let size: Int

    init(_ curve: SubjectPublicKey.Curve = .p256) {
        size = curve == .p256 ? 32 : 48
        unsafe group = EC_GROUP_new_by_curve_name(
            curve == .p256 ? NID_X9_62_prime256v1 : NID_secp384r1)!
    }

    deinit {
        unsafe EC_GROUP_free(group)
        unsafe BN_CTX_free(context)
    }

    /// A number mod n or a coordinate: `size` octets, big-endian.
    typealias Octets = [UInt8]

    static let order = octets(
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    static let field = octets(
        "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")

    static func octets(_ hex: String) -> Octets {
        var digits: [UInt8] = hex.utf8.map { digit in digit < 58 ? digit - 48 : digit - 87 }
        if digits.count % 2 != 0 { digits.insert(0, at: 0) }
        return stride(from: 0, to: digits.count, by: 2).map { (index: Int) -> UInt8 in
            digits[index] << 4 | digits[index + 1]
        }
    }

    static func number(_ value: UInt64) -> Octets {
        (0..<32).map { (index: UInt64) -> UInt8 in
            index < 24 ? 0 : UInt8(truncatingIfNeeded: value >> (248 - 8 * index))
        }
    }

    /// Returns a random number in 1 ..< n.
    func random(_ generator: inout some RandomNumberGenerator) -> Octets {
        var octets = Octets((0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) })
        // Less than n, whose first 32 bits are all ones, and never zero.
        octets[0] &= 0x7F
        octets[size - 1] |= 1
        return octets
    }

    func add(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_add($0, $1, $2, $3, $4) }
    }
    func subtract(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_sub($0, $1, $2, $3, $4) }
    }
    func multiply(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_mul($0, $1, $2, $3, $4) }
    }
    func divide(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { result, a, b, n, context in
            unsafe BN_mod_inverse(result, b, n, context) == nil
                ? 0 : BN_mod_mul(result, result, a, n, context)
        }
    }
    func negate(_ a: Octets) -> Octets { subtract(Self.number(0), a) }
    /// Adds without reduction mod n.
    func plain(_ a: Octets, plus b: UInt64) -> Octets {
        unsafe withNumbers(a, Self.number(b)) { a, b in
            let sum = unsafe BN_new()!
            unsafe BN_add(sum, a, b)
            return unsafe sum
        }
    }

    /// Returns the uncompressed point d·G.
    func publicKey(_ d: Octets) -> Octets {
        let point = unsafe EC_POINT_new(group)!
        defer { unsafe EC_POINT_free(point) }
        let d = unsafe bigNumber(d)
        defer { unsafe BN_free(d) }
        unsafe EC_POINT_mul(group, point, d, nil, nil, context)
        return unsafe encode(point)
    }

    /// Returns x of k·G, mod n.
    func r(_ k: Octets) -> Octets { add(Octets(publicKey(k)[1...size]), Self.number(0)) }

    /// Returns the signature r ‖ s over a digest taken as the number e.
    func sign(_ e: Octets, d: Octets, k: Octets) -> Octets {
        let r = r(k)
        return r + divide(add(e, multiply(r, d)), k)
    }

    /// Returns the key, as a point, for which `r ‖ s` is valid over e when x of u₁·G + u₂·Q is
    /// `x`: Q = r⁻¹·(s·R − e·G). Returns nil when no point has that x.
    func publicKey(x: Octets, r: Octets, s: Octets, e: Octets) -> Octets? {
        let (point, base) = unsafe (EC_POINT_new(group)!, EC_POINT_new(group)!)
        let compressed = [0x02] + x
        let scalars = unsafe [divide(negate(e), r), divide(s, r)].map { unsafe bigNumber($0) }
        defer {
            unsafe EC_POINT_free(point)
            unsafe EC_POINT_free(base)
            unsafe scalars.forEach { unsafe BN_free($0) }
        }
        guard
            unsafe EC_POINT_oct2point(group, base, compressed, compressed.count, context) == 1
        else {
            ERR_clear_error()
            return nil
        }
        unsafe EC_POINT_mul(group, point, scalars[0], base, scalars[1], context)
        return unsafe encode(point)
    }

    /// Whether EVP accepts the signature. `r` and `s` can be any numbers.
    static func evpVerifies(point: Octets, digest: Octets, r: Octets, s: Octets) -> Bool {
        let ecKey = unsafe EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)!
        unsafe EC_KEY_oct2key(ecKey, point, point.count, nil)
        let key = unsafe EVP_PKEY_new()!
        unsafe EVP_PKEY_set1_EC_KEY(key, ecKey)
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)!
        let signature = unsafe ECDSA_SIG_new()!
        unsafe ECDSA_SIG_set0(
            signature, BN_bin2bn(r, Int32(r.count), nil), BN_bin2bn(s, Int32(s.count), nil))
        var der: UnsafeMutablePointer<UInt8>?
        let count = unsafe Int(i2d_ECDSA_SIG(signature, &der))
        defer {
            unsafe EC_KEY_free(ecKey)
            unsafe EVP_PKEY_free(key)
            unsafe EVP_PKEY_CTX_free(context)
            unsafe ECDSA_SIG_free(signature)
            unsafe CRYPTO_free(der, nil, 0)
            ERR_clear_error()
        }
        unsafe EVP_PKEY_verify_init(context)
        return unsafe EVP_PKEY_verify(context, der, count, digest, digest.count) == 1
    }

    private func compute(
        _ a: Octets, _ b: Octets,
        _ operation: (
            OpaquePointer, OpaquePointer, OpaquePointer, OpaquePointer?, OpaquePointer
        ) -> Int32
    ) -> Octets {
        unsafe withNumbers(a, b) { a, b in
            let result = unsafe BN_new()!
            let status = unsafe operation(result, a, b, EC_GROUP_get0_order(group), context)
            precondition(status == 1)
            return unsafe result
        }
    }

    private func withNumbers(
        _ a: Octets, _ b: Octets, _ body: (OpaquePointer, OpaquePointer) -> OpaquePointer
    ) -> Octets {
        let (a, b) = unsafe (bigNumber(a), bigNumber(b))
        let result = unsafe body(a, b)
        defer { unsafe [a, b, result].forEach { unsafe BN_free($0) } }
        var octets = Octets(repeating: 0, count: size)
        unsafe precondition(BN_bn2binpad(result, &octets, Int32(size)) == size)
        return octets
    }

    private func bigNumber(_ octets: Octets) -> OpaquePointer {
        unsafe BN_bin2bn(octets, Int32(octets.count), nil)!
    }

    private func encode(_ point: OpaquePointer) -> Octets {
        var octets = Octets(repeating: 0, count: 2 * size + 1)
        let count = unsafe EC_POINT_point2oct(
            group, point, POINT_CONVERSION_UNCOMPRESSED, &octets, octets.count, context)
        return Octets(octets.prefix(count))
    }
}

/// SplitMix64: the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// Keys with and without tables, and batches of their signatures.
enum Batches {
    /// The keys with tables that were made last. A table takes much longer in a debug build.
    private static let tabled = Locked<[TabledKey: PublicKey]>([:])

    private struct TabledKey: Hashable {
        var point: [UInt8]
        var engine: SignatureEngine
    }

    /// The engines with tables that this processor supports.
    static let engines = SignatureEngine.allCases.filter { $0.isSupported && $0 != .openssl }

    /// A key with a table for the engine.
    ///
    /// - Parameter engine: nil for a key without a table.
    static func key(_ point: [UInt8], engine: SignatureEngine?) -> PublicKey {
        guard let engine else { return PublicKey.ec(.p256, point: point.span)! }
        let name = TabledKey(point: point, engine: engine)
        if let key = tabled.withLock({ $0[name] }) { return key }
        let key = PublicKey.ec(.p256, point: point.span)!
        build(for: key, in: KeyTables(isEnabled: true, engine: engine))
        tabled.withLock { tabled in
            if tabled.count == 16 { tabled.removeAll() }
            tabled[name] = key
        }
        return key
    }

    /// Builds a table as the service does: after enough uses.
    static func build(
        for key: PublicKey,
        in tables: KeyTables = KeyTables(isEnabled: true, engine: .bestWithTables)
    ) {
        tables.note(key, held: Limits.keyTableUses)
        precondition(tables.buildPending() == 1)
    }

    static func check(_ key: PublicKey, _ digest: [UInt8], _ signature: [UInt8]) -> ES256Check? {
        ES256Signature(signature.span).map {
            ES256Check(
                key: key, digest: SHA256Digest(octets: .init { digest[$0] }), signature: $0)
        }
    }

    static func holds(
        _ checks: [ES256Check], by verifier: ES256BatchVerifier = verifier()
    ) -> [Bool] {
        verifier.clear()
        verifier.checks = checks
        verifier.verify()
        return verifier.holds
    }

    static func verifier(_ engine: SignatureEngine = .best) -> ES256BatchVerifier {
        ES256BatchVerifier(tables: KeyTables(isEnabled: false, engine: engine))
    }
}

extension SignatureEngine {
    /// The default engine, or one with tables of issuers where the tests run with OpenSSL's.
    static var bestWithTables: SignatureEngine { best == .openssl ? .portable : best }
}
