/// A key prepared for ECDSA verification by EVP. Preparing costs some microseconds; a prepared
/// key verifies any number of digests. Not thread-safe.
@safe final class PreparedKey {
    private let context: VerifyContext
    /// For comparison only. The context keeps the key alive, so its address is not reused.
    private let key: OpaquePointer

    init(_ publicKey: PublicKey) {
        unsafe context = VerifyContext(publicKey.key)
        unsafe key = publicKey.key
    }

    func isPrepared(for publicKey: PublicKey) -> Bool { unsafe key == publicKey.key }

    /// - Parameter signature: DER.
    func verifies(_ signature: Span<UInt8>, overDigest digest: Span<UInt8>) -> Bool {
        context.verifies(signature, overDigest: digest)
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
