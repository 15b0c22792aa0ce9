import Assay
import AssayBytes
import COpenSSL

/// A key, P-256 by default, that signs digests. Verifies with EVP as `openssl speed` measures it.
@safe final class Signer {
    private let key: OpaquePointer
    private let verifying: OpaquePointer
    let publicKey: PublicKey
    /// `04 ‖ x ‖ y`.
    let point: [UInt8]
    private let digestBytes: Int

    init(_ curve: SubjectPublicKey.Curve = .p256) {
        digestBytes = curve == .p256 ? 32 : 48
        let generator = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { unsafe EVP_PKEY_CTX_free(generator) }
        var made: OpaquePointer?
        unsafe precondition(EVP_PKEY_keygen_init(generator) == 1)
        let number = curve == .p256 ? NID_X9_62_prime256v1 : NID_secp384r1
        unsafe precondition(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(generator, number) == 1)
        unsafe precondition(EVP_PKEY_generate(generator, &made) == 1)
        unsafe key = made!
        unsafe verifying = EVP_PKEY_CTX_new_from_pkey(nil, made, nil)!
        unsafe precondition(EVP_PKEY_verify_init(verifying) == 1)
        var octets: UnsafeMutablePointer<UInt8>?
        let count = unsafe EVP_PKEY_get1_encoded_public_key(made, &octets)
        let point = unsafe Array(UnsafeBufferPointer(start: octets, count: count))
        unsafe CRYPTO_free(octets, nil, 0)
        publicKey = PublicKey.ec(curve, point: point.span)!
        self.point = point
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(verifying)
        unsafe EVP_PKEY_free(key)
    }

    /// Signs a digest derived from the number.
    func sign(_ number: Int) -> (check: ES256Check, der: [UInt8]) {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
        let digest = SHA256.digest(message.span)
        let der = sign(digest.octets.span.array)
        let check = ES256Check(
            key: publicKey, digest: digest, signature: ES256Signature(Self.raw(der).span)!)
        return (check, der)
    }

    /// Signs a fixed digest of the curve's size.
    func signature() -> (digest: [UInt8], der: [UInt8]) {
        let digest = [UInt8](repeating: 0x5A, count: digestBytes)
        return (digest, sign(digest))
    }

    func sign(_ octets: [UInt8]) -> [UInt8] {
        let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var der = [UInt8](repeating: 0, count: 128)
        var count = der.count
        unsafe precondition(EVP_PKEY_sign_init(context) == 1)
        unsafe precondition(EVP_PKEY_sign(context, &der, &count, octets, octets.count) == 1)
        der.removeLast(der.count - count)
        return der
    }

    func evpVerifies(_ signed: (digest: [UInt8], der: [UInt8])) -> Bool {
        unsafe EVP_PKEY_verify(
            verifying, signed.der, signed.der.count, signed.digest, signed.digest.count) == 1
    }

    func evpVerifies(_ der: [UInt8], _ digest: SHA256Digest) -> Bool {
        unsafe digest.octets.span.withUnsafeBufferPointer { digest in
            unsafe EVP_PKEY_verify(
                verifying, der, der.count, digest.baseAddress, digest.count) == 1
        }
    }

    /// Returns r ‖ s.
    private static func raw(_ der: [UInt8]) -> [UInt8] {
        let signature = unsafe der.withUnsafeBufferPointer { der in
            var next = der.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &next, der.count)
        }
        defer { unsafe ECDSA_SIG_free(signature) }
        var octets = [UInt8](repeating: 0, count: 64)
        unsafe octets.withUnsafeMutableBufferPointer { octets in
            let start = octets.baseAddress!
            unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32)
            unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32)
        }
        return octets
    }
}
