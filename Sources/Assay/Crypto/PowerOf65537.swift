import AssayBytes
internal import COpenSSL

/// Verifies RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2) for a key with the exponent 65537, by
/// libcrypto's arithmetic. The modulus stays in Montgomery's form, and no numbers are allocated: a
/// sixth faster than EVP. Not thread-safe.
@safe final class PowerOf65537 {
    /// The public exponent, which most keys have: 16 squarings and a multiplication.
    static let exponent: UInt64 = 65_537
    private static let squarings = 16

    private let context: OpaquePointer
    private let modulus: OpaquePointer
    private let montgomery: OpaquePointer
    private let signature: OpaquePointer
    private let power: OpaquePointer
    /// The encoded message up to the digest: `00 01 FF … 00`, then the head of DigestInfo.
    private let head: [UInt8]
    private var encoded: [UInt8]

    /// - Parameter modulus: an odd big-endian magnitude without leading zeros, longer than `head`
    ///   of any algorithm.
    init(modulus octets: Span<UInt8>, _ algorithm: DigestAlgorithm) {
        let size = Int32(octets.count)
        let modulus = unsafe octets.withUnsafeBufferPointer {
            unsafe BN_bin2bn($0.baseAddress, size, nil)
        }
        guard let modulus = unsafe modulus, let context = unsafe BN_CTX_new(),
            let montgomery = unsafe BN_MONT_CTX_new(), let signature = unsafe BN_new(),
            let power = unsafe BN_new()
        else { outOfMemory() }
        unsafe precondition(BN_MONT_CTX_set(montgomery, modulus, context) == 1)
        unsafe self.modulus = modulus
        unsafe self.context = context
        unsafe self.montgomery = montgomery
        unsafe self.signature = signature
        unsafe self.power = power
        let info = algorithm.digestInfoHead
        let padding = octets.count - 3 - info.count - algorithm.octets
        head = [0, 1] + [UInt8](repeating: 0xFF, count: padding) + [0] + info
        encoded = [UInt8](repeating: 0, count: octets.count)
    }

    deinit {
        unsafe BN_free(power)
        unsafe BN_free(signature)
        unsafe BN_MONT_CTX_free(montgomery)
        unsafe BN_free(modulus)
        unsafe BN_CTX_free(context)
    }

    /// Whether the signature's power is the one encoding of this digest. The signature is as long
    /// as the modulus.
    func verifies(_ octets: Span<UInt8>, overDigest digest: Span<UInt8>) -> Bool {
        precondition(octets.count == encoded.count)
        precondition(head.count + digest.count == encoded.count)
        let isInRange = unsafe octets.withUnsafeBufferPointer { octets in
            guard unsafe BN_bin2bn(octets.baseAddress, Int32(octets.count), signature) != nil else {
                outOfMemory()
            }
            return unsafe BN_ucmp(signature, modulus) < 0
        }
        guard isInRange else { return false }
        raise()
        let size = Int32(encoded.count)
        let isWhole = unsafe encoded.withUnsafeMutableBufferPointer { encoded in
            unsafe BN_bn2binpad(power, encoded.baseAddress, size) == size
        }
        guard isWhole else { return false }
        let (encoded, head) = (encoded, head)
        guard encoded.span.extracting(0..<head.count).equals(head.span) else { return false }
        return encoded.span.extracting(head.count...).equals(digest)
    }

    /// Sets `power` to the signature's power.
    private func raise() {
        var status = unsafe BN_to_montgomery(power, signature, montgomery, context)
        for _ in 0..<Self.squarings {
            status &= unsafe BN_mod_mul_montgomery(power, power, power, montgomery, context)
        }
        // The factor is not in Montgomery's form, so that the product is not either.
        status &= unsafe BN_mod_mul_montgomery(power, power, signature, montgomery, context)
        precondition(status == 1)
    }
}

extension DigestAlgorithm {
    /// The DER of DigestInfo before the digest, with NULL parameters (RFC 8017, section 9.2).
    var digestInfoHead: [UInt8] {
        switch self {
        case .sha1:
            [0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 5, 0, 4, 20]
        case .sha256:
            [
                0x30, 0x31, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1, 5, 0, 4,
                32,
            ]
        }
    }
}
