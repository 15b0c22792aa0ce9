import AssayBytes
import AssayModels

// The fingerprints that deny lists match. The holder of a stolen key re-encodes its certificate
// where possible, so no match depends on an encoding that can change.

extension Certificate {
    /// SHA-256 of everything that identifies this certificate on a deny list: its key
    /// (SubjectPublicKeyInfo), its signed part (TBSCertificate), and the whole certificate in
    /// each form of its signature.
    var deniableFingerprints: [Fingerprint] {
        let parts = [der.span.array(publicKey.range), der.span.array(tbsCertificate), der]
        return (parts + twins).map { Fingerprint(SHA256.digest($0.span)) }
    }

    /// This certificate with the other form of its ECDSA signature. The issuer's curve is unknown
    /// here, so there is one twin for each curve; if this certificate is valid, one of the twins
    /// is too. An RSA signature has one form, and no twin.
    private var twins: [[UInt8]] {
        // signatureAlgorithm lies between tbsCertificate and the header of the BIT STRING.
        var reader = DERReader(der.span, range: tbsCertificate.upperBound..<der.count)
        guard let algorithm = try? reader.read(.sequence).whole else { return [] }
        let signed = Array(der[tbsCertificate.lowerBound..<algorithm.upperBound])
        return ECDSATwin.twins(of: der.span.extracting(signature)).map {
            Tag.sequence.encoding(signed + Tag.bitString.encoding([0] + $0))
        }
    }
}

extension TrustStore {
    func checkNotDenied(
        _ certificate: Certificate, as position: ChainPosition
    ) throws(Refusal) {
        guard !denied.isEmpty else { return }
        try check(certificate.deniableFingerprints, of: certificate, as: position)
    }

    func checkNotDenied(_ root: TrustAnchor) throws(Refusal) {
        try check(root.deniableFingerprints, of: root.certificate, as: .root)
    }

    private func check(
        _ fingerprints: [Fingerprint], of certificate: Certificate, as position: ChainPosition
    ) throws(Refusal) {
        guard denied.isDisjoint(with: fingerprints) else {
            throw Refusal(
                .certificateRevoked,
                "the \(position.rawValue), serial \(certificate.serialText), is on the deny list")
        }
    }
}
