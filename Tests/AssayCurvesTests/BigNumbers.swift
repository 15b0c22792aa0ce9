import AssayCurves
import COpenSSL

/// Arithmetic modulo a number by OpenSSL's BN, for comparison. Not thread-safe.
@safe final class BigNumbers {
    typealias Octets = [UInt8]

    let modulus: Octets
    private let size: Int
    private let context: OpaquePointer
    private let number: OpaquePointer

    init(modulus: Octets) {
        self.modulus = modulus
        size = modulus.count
        unsafe context = BN_CTX_new()!
        unsafe number = BN_bin2bn(modulus, Int32(modulus.count), nil)!
    }

    deinit {
        unsafe BN_free(number)
        unsafe BN_CTX_free(context)
    }

    func add(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_add($0, $1, $2, number, context) }
    }
    func subtract(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_sub($0, $1, $2, number, context) }
    }
    func multiply(_ a: Octets, _ b: Octets) -> Octets {
        unsafe compute(a, b) { unsafe BN_mod_mul($0, $1, $2, number, context) }
    }
    /// 1 / a, or zero for zero.
    func inverse(_ a: Octets) -> Octets {
        guard a.contains(where: { $0 != 0 }) else { return a }
        return unsafe compute(a, a) { result, a, _ in
            unsafe BN_mod_inverse(result, a, number, context) == nil ? 0 : 1
        }
    }
    /// 2^`bits` modulo the modulus.
    func power(ofTwo bits: Int) -> Octets {
        let one = Octets(repeating: 0, count: size - 1) + [1]
        return unsafe compute(one, one) { result, a, _ in
            unsafe BN_mod_lshift(result, a, Int32(bits), number, context)
        }
    }
    func reduce(_ a: Octets) -> Octets { add(a, Octets(repeating: 0, count: size)) }

    private func compute(
        _ a: Octets, _ b: Octets,
        _ operation: (OpaquePointer, OpaquePointer, OpaquePointer) -> Int32
    ) -> Octets {
        let (a, b) = unsafe (
            BN_bin2bn(a, Int32(a.count), nil)!, BN_bin2bn(b, Int32(b.count), nil)!
        )
        let result = unsafe BN_new()!
        defer { unsafe [a, b, result].forEach { unsafe BN_free($0) } }
        unsafe precondition(operation(result, a, b) == 1)
        var octets = Octets(repeating: 0, count: size)
        unsafe precondition(BN_bn2binpad(result, &octets, Int32(size)) == size)
        return octets
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
