internal import COpenSSL

/// A key prepared for ECDSA verification by EVP. Preparing costs some microseconds; a prepared
/// key verifies any number of digests. Not thread-safe.
@safe final class PreparedKey {
    private let context: OpaquePointer
    /// For comparison only. The context keeps the key alive, so its address is not reused.
    private let key: OpaquePointer

    init(_ publicKey: PublicKey) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, publicKey.key, nil)
        else { outOfMemory() }
        unsafe precondition(EVP_PKEY_verify_init(context) == 1)
        unsafe self.context = context
        unsafe key = publicKey.key
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

    func isPrepared(for publicKey: PublicKey) -> Bool { unsafe key == publicKey.key }

    /// - Parameter signature: DER.
    func verifies(_ signature: Span<UInt8>, overDigest digest: Span<UInt8>) -> Bool {
        let verifies = unsafe signature.withUnsafeBufferPointer { signature in
            unsafe digest.withUnsafeBufferPointer { digest in
                unsafe EVP_PKEY_verify(
                    context, signature.baseAddress, signature.count,
                    digest.baseAddress, digest.count) == 1
            }
        }
        if !verifies { ERR_clear_error() }
        return verifies
    }
}

/// The keys that one thread used last, prepared.
struct PreparedKeys {
    private var keys: [PreparedKey] = []
    private var oldest = 0

    mutating func prepared(for key: PublicKey) -> PreparedKey {
        for candidate in keys where candidate.isPrepared(for: key) { return candidate }
        let prepared = PreparedKey(key)
        if keys.count < Limits.preparedKeys {
            keys.append(prepared)
        } else {
            keys[oldest] = prepared
            oldest = (oldest + 1) % Limits.preparedKeys
        }
        return prepared
    }
}
