extension PublicKey {
    /// Verifies an ES256 signature over a message (RFC 7518, section 3.4): r and s, 64 octets.
    package func verifiesES256(_ signature: Span<UInt8>, over message: Span<UInt8>) -> Bool {
        guard let signature = ES256Signature(signature) else { return false }
        var der = ES256DER()
        signature.encode(into: &der)
        return verifiesECDSA(der.bytes, over: message, digest: .sha256)
    }
}
