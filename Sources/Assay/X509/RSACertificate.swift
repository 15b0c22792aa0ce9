extension Certificate {
    /// The RSA public key that OpenSSL verifies with; nil where it is no RSA key, or not of
    /// `smallestBits` to 4096 bits with a sound exponent.
    package func rsaKey(smallestBits: Int) -> RSAPublicKey? {
        guard case .rsa(let modulus, let exponent) = publicKey.kind else { return nil }
        return RSAPublicKey(
            modulus: der.span.extracting(modulus), exponent: der.span.extracting(exponent),
            smallestBits: smallestBits)
    }

    /// Whether that key made this certificate's signature, with RSA over SHA-1 or SHA-256.
    package func verifiesRSA(by key: RSAPublicKey) -> Bool {
        guard let digest = signatureAlgorithm.rsaDigest else { return false }
        return key.verifies(
            signature: der.span.extracting(signature), over: der.span.extracting(tbsCertificate),
            algorithm: digest)
    }
}
