internal import COpenSSL

/// A context of EVP that verifies any number of digests with one key. Not thread-safe.
@safe final class VerifyContext {
    private let context: OpaquePointer

    /// - Parameter configure: sets what the key's algorithm needs, such as a padding.
    init(_ key: OpaquePointer, configure: (OpaquePointer) -> Void = { _ in }) {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { outOfMemory() }
        unsafe precondition(EVP_PKEY_verify_init(context) == 1)
        unsafe configure(context)
        unsafe self.context = context
    }

    deinit { unsafe EVP_PKEY_CTX_free(context) }

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
