import Synchronization

extension Certificate {
    /// The RSA public key for OpenSSL. Nil for another key type, for a size outside of
    /// `smallestBits` to 4096 bits, and for an unsafe exponent.
    package func rsaKey(smallestBits: Int) -> RSAPublicKey? {
        guard case .rsa(let modulus, let exponent) = publicKey.kind else { return nil }
        let key = keptKey.rsaKey { () -> RSAPublicKey? in
            RSAPublicKey(
                modulus: der.span.extracting(modulus), exponent: der.span.extracting(exponent),
                smallestBits: Limits.legacyRSAKeyBits)
        }
        guard let key, key.bits >= smallestBits else { return nil }
        return key
    }

    /// Whether `key` made this certificate's signature, with RSA over SHA-1 or SHA-256.
    package func verifiesRSA(by key: RSAPublicKey) -> Bool {
        guard let digest = signatureAlgorithm.rsaDigest else { return false }
        return key.verifies(
            signature: der.span.extracting(signature), over: der.span.extracting(tbsCertificate),
            algorithm: digest)
    }
}

/// The RSA key of a certificate, built on first use and shared by all copies of the certificate.
final class KeptRSAKey: Sendable {
    private let reference = AtomicLazyReference<RSAPublicKey>()

    /// - Parameter make: builds the key. Nil when OpenSSL cannot use it; the next call tries
    ///   again.
    func rsaKey(_ make: () -> RSAPublicKey?) -> RSAPublicKey? {
        if let key = reference.load() { return key }
        return make().map { reference.storeIfNil($0) }
    }
}
