import AssayModels

// What a deny list is compared with. The holder of a stolen key re-encodes its certificate where
// that is possible: so nothing that can be re-encoded may decide.

extension Certificate {
    /// SHA-256 of all that names this certificate on a deny list: its key (SubjectPublicKeyInfo),
    /// what its issuer signed (TBSCertificate), and the whole certificate in each form that its
    /// signature can be written in.
    var deniableFingerprints: [Fingerprint] {
        let parts = [der.span.array(publicKey.range), der.span.array(tbsCertificate), der]
        return (parts + twins).map { Fingerprint(SHA256.digest($0.span)) }
    }

    /// This certificate with the other form of its ECDSA signature. The issuer's curve is not known
    /// here, so there is one for each curve; one of them is valid where this certificate is. An RSA
    /// signature has one form, and no twin.
    private var twins: [[UInt8]] {
        // signatureAlgorithm stands between tbsCertificate and the header of the BIT STRING.
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
                "the \(position.rawValue) of serial \(certificate.serialText) is on the deny list")
        }
    }
}
