extension Certificate {
    /// The RSA public key that OpenSSL verifies with; nil where it is no RSA key, or not of
    /// `smallestBits` to 4096 bits with a sound exponent.
    package func rsaKey(smallestBits: Int) -> RSAPublicKey? {
        guard case .rsa(let modulus, let exponent) = publicKey.kind else { return nil }
        return RSAPublicKey(
            modulus: der.span.extracting(modulus), exponent: der.span.extracting(exponent),
            smallestBits: smallestBits)
    }

    /// The digest of an RSA link; nil for other algorithms.
    package var rsaDigest: DigestAlgorithm? {
        switch signatureAlgorithm {
        case .sha1WithRSAEncryption: .sha1
        case .sha256WithRSAEncryption: .sha256
        case .ecdsaWithSHA256, .ecdsaWithSHA384, .other, .contradictory: nil
        }
    }

    /// Whether that key made this certificate's signature, with RSA over SHA-1 or SHA-256.
    package func verifiesRSA(by key: RSAPublicKey) -> Bool {
        guard let rsaDigest else { return false }
        return key.verifies(
            signature: der.span.extracting(signature), over: der.span.extracting(tbsCertificate),
            algorithm: rsaDigest)
    }
}
