import AssayBytes
import AssayModels

// Whether the issuer of a certificate, or a delegate, signed a statement about the certificate.

extension OCSPResponse {
    /// Checks the signature: the issuer made it, or a delegate whose certificate the issuer signed
    /// (RFC 6960, section 4.2.2.2).
    ///
    /// - Parameter issuer: the issuer of the certificate that the response is about.
    func checkSignature(by issuer: Certificate) throws(RevocationError) {
        if names(issuer), isSigned(by: issuer) { return }
        var first: RevocationError = names(issuer) ? .invalidSignature : .unknownSigner
        for range in certificates {
            guard let certificate = try? Certificate(der: Array(der[range])), names(certificate)
            else { continue }
            do throws(RevocationError) {
                try checkDelegate(certificate, of: issuer)
                guard isSigned(by: certificate) else { throw .invalidSignature }
                return
            } catch {
                if first == .unknownSigner { first = error }
            }
        }
        throw first
    }

    /// Whether the certificate is the one that ResponderID names.
    private func names(_ certificate: Certificate) -> Bool {
        switch responder {
        case .name(let name): der[name] == certificate.der[certificate.subject]
        case .key(let digest):
            der.span.extracting(digest).equals(
                SHA1.digest(certificate.der.span.extracting(certificate.keyOctets)).octets.span
                    .array)
        }
    }

    private func isSigned(by certificate: Certificate) -> Bool {
        certificate.verifies(
            der.span.extracting(signature), over: der.span.extracting(signedData),
            signatureAlgorithm)
    }

    private func checkDelegate(
        _ delegate: Certificate, of issuer: Certificate
    ) throws(RevocationError) {
        guard delegate.isIssued(inNameOf: issuer) else {
            throw .invalidDelegate("another authority issued it")
        }
        guard delegate.signsOCSPResponses else {
            throw .invalidDelegate("it lacks the extended key usage OCSPSigning")
        }
        if let usage = delegate.extensions.keyUsage, !usage.contains(.digitalSignature) {
            throw .invalidDelegate("its key usage lacks digitalSignature")
        }
        let unknown = delegate.extensionFields.first { field in
            let identifier = delegate.der.span.extracting(field.identifier)
            return field.isCritical
                && ![OID.basicConstraints, OID.keyUsage, OID.extendedKeyUsage]
                    .contains { identifier.equals($0) }
        }
        guard unknown == nil else {
            throw .invalidDelegate("it has an unknown critical extension")
        }
        // At the dates of the statements and not now: so an expired delegate signs no fresh one,
        // and an old response is still one.
        let dates = [producedAt] + singles.map(\.status.thisUpdate.seconds)
        guard dates.allSatisfy(delegate.contains) else {
            throw .invalidDelegate("its certificate was not valid at the date of the response")
        }
        guard delegate.isSigned(by: issuer) else {
            throw .invalidDelegate("the issuer did not sign its certificate")
        }
    }
}

extension RevocationList {
    /// Checks that the issuer signed this list.
    func checkSignature(by issuer: Certificate) throws(RevocationError) {
        if let usage = issuer.extensions.keyUsage, !usage.contains(.cRLSign) {
            throw .invalidDelegate("the issuer's key usage lacks cRLSign")
        }
        guard
            issuer.verifies(
                der.span.extracting(signature), over: der.span.extracting(signedData),
                signatureAlgorithm)
        else { throw .invalidSignature }
    }
}

extension Certificate {
    /// Whether the issuer's key made this certificate's signature.
    func isSigned(by issuer: Certificate) -> Bool {
        issuer.verifies(
            der.span.extracting(signature), over: der.span.extracting(tbsCertificate),
            signatureAlgorithm)
    }

    /// Whether this certificate's key made the signature. The algorithms and key sizes are those
    /// of Apple's chains.
    fileprivate func verifies(
        _ signature: Span<UInt8>, over message: Span<UInt8>, _ algorithm: SignatureAlgorithm
    ) -> Bool {
        if let digest = algorithm.ecdsaDigest {
            return ecKey?.verifiesECDSA(signature, over: message, digest: digest) ?? false
        }
        guard let digest = algorithm.rsaDigest else { return false }
        return rsaKey(smallestBits: Limits.smallestRSAKeyBits)?
            .verifies(signature: signature, over: message, algorithm: digest) ?? false
    }
}
