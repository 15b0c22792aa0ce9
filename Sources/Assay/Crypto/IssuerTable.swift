internal import AssayCurves

/// The multiples of a key that signs certificates, from which its signatures are verified in an
/// eighth of EVP's time or less. Immutable, so threads share it.
package final class IssuerTable: Sendable {
    private enum Multiples {
        case p256(P256Verification.Table)
        case p384(P384Verification.Table)
    }

    private let multiples: Multiples

    /// - Parameter engine: computes on P-256. P-384 has portable arithmetic only.
    /// - Returns: nil unless the point of the key is on its curve.
    init?(_ key: PublicKey, engine: SignatureEngine = .best) {
        let point = key.point
        switch key.curve {
        case .p256:
            let arithmetic = engine.arithmetic ?? .portable
            guard let table = P256Verification.table(uncompressed: point.span, for: arithmetic)
            else { return nil }
            multiples = .p256(table)
            // Built here, at the first key's table, and not during a verification.
            _ = P256Verification.generatorTable(for: arithmetic)
        case .p384:
            guard let table = P384Verification.table(uncompressed: point.span) else { return nil }
            multiples = .p384(table)
            P384Verification.buildGeneratorTable()
        }
    }

    /// Verifies a DER signature over a digest, of which the leftmost octets count where it is
    /// longer than the curve's order (SEC 1, section 4.1.4).
    ///
    /// - Returns: nil if EVP has to decide: the sum of points is one that the formulas do not
    ///   know.
    func verifies(_ signature: Span<UInt8>, overDigest digest: Span<UInt8>) -> Bool? {
        switch multiples {
        case .p256(let table):
            guard let (r, s) = ECDSASignature.numbers(signature, size: 32) else { return false }
            return P256Verification.verifies(table, digest: digest, r: r.span, s: s.span)
        case .p384(let table):
            guard let (r, s) = ECDSASignature.numbers(signature, size: 48) else { return false }
            return P384Verification.verifies(table, digest: digest, r: r.span, s: s.span)
        }
    }
}

extension PublicKey {
    /// Verifies a DER signature over a digest as a table of this key would, in a quarter to a
    /// third of EVP's time. The generator's table is needed, so the engine's self-test comes first.
    ///
    /// - Returns: nil if EVP has to decide: always on P-256, where it is as fast.
    func verifiesWithoutTable(
        _ signature: Span<UInt8>, overDigest digest: Span<UInt8>
    ) -> Bool? {
        guard curve == .p384 else { return nil }
        guard let (r, s) = ECDSASignature.numbers(signature, size: 48) else { return false }
        return P384Verification.verifies(key: point.span, digest: digest, r: r.span, s: s.span)
    }
}
