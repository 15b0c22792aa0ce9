import AssayModels

/// The digests, certificates and signer of a SignedData. Parsed but unverified.
struct UnverifiedSignedData: Sendable {
    let digests: ContentDigests
    let certificates: [Certificate]
    let signer: SignerInfo
    /// These certificates, if a receipt had them before.
    private let known: KnownCertificateSet?

    /// - Parameter links: the certificates of validated chains, which need not be parsed again.
    init<Content>(
        _ reader: SignedDataReader<Content>, links: ValidatedLinks
    ) throws(Refusal) {
        digests = reader.digests
        signer = try SignerInfo(der: reader.signerInfo ?? [])
        try Self.check(
            version: reader.version, signer: signer, revocationLists: reader.hasRevocationLists)
        known = links.bags.find(reader.certificates)
        if let known {
            certificates = known.certificates
        } else {
            certificates = try Self.parse(reader.certificates, links)
        }
    }

    private static func parse(
        _ certificates: [[UInt8]], _ links: ValidatedLinks
    ) throws(Refusal) -> [Certificate] {
        var parsed: [Certificate] = []
        parsed.reserveCapacity(certificates.count)
        for der in certificates {
            do throws(CertificateError) {
                parsed.append(try links.certificate(der))
            } catch {
                throw Refusal(
                    .malformed,
                    "a certificate of the receipt is not valid DER: "
                        + error.description)
            }
        }
        return parsed
    }

    /// Checks the version by RFC 5652, section 5.1, for the contents of a receipt: X.509
    /// certificates only, content of the type id-data. Revocation lists in a format other than
    /// X.509's raise the version to 5; they are skipped like all revocation lists.
    private static func check(
        version: [UInt8], signer: SignerInfo, revocationLists: Bool
    ) throws(Refusal) {
        guard version == [signer.identifier.version] || version == [5] && revocationLists else {
            throw Refusal(
                .malformed,
                "the version of SignedData is not \(signer.identifier.version), as its contents "
                    + "demands")
        }
    }

    /// Checks algorithm, chain and signature, in this order, and returns the chain.
    func verify(
        _ chains: RSAChainBuilder, effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        let log = chains.log
        log?.begin(.signerAlgorithm, found: signer.algorithmText)
        let (algorithm, digest) = try contentDigest()
        log?.begin(.signerCertificate, found: "\(certificates.count) certificates")
        guard let leaf = certificates.firstIndex(where: { signer.isSigner($0) }) else {
            throw Refusal(.invalidChain, "the signer's certificate is not in the receipt")
        }
        let chain = try chain(ofLeafAt: leaf, chains, effectiveDate)
        return try chain.map { (chain) throws(Refusal) in
            log?.begin(.signature, found: algorithm.name, expected: chain.leaf.keyText)
            try check(digest, algorithm, key: chain.leafKey)
            return chain
        }
    }

    /// The digest of the content that the signer signed.
    func contentDigest() throws(Refusal) -> (algorithm: DigestAlgorithm, digest: [UInt8]) {
        let algorithm = try signer.checkedAlgorithm()
        guard let digest = digests.digest(algorithm) else {
            throw Refusal(
                .malformed, "digestAlgorithms does not announce the signer's \(algorithm.name)")
        }
        return (algorithm, digest)
    }

    private func chain(
        ofLeafAt leaf: Int, _ chains: RSAChainBuilder, _ effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        // An explanation shows each check of the chain.
        if chains.log == nil,
            let chain = known?.chain(
                ofLeafAt: leaf, chains.purpose, effectiveDate: effectiveDate)
        {
            return .validated(chain)
        }
        return try chains.validate(
            leaf: certificates[leaf], bag: certificates, effectiveDate: effectiveDate)
    }

    /// Checks the signature by RFC 5652, section 5.4: over the signed attributes if there are
    /// any, otherwise over the content.
    private func check(
        _ digest: [UInt8], _ algorithm: DigestAlgorithm, key: RSAPublicKey
    ) throws(Refusal) {
        let holds: Bool
        if let attributes = signer.signedAttributes {
            try attributes.check(contentDigest: digest)
            holds = key.verifies(
                signature: signer.signature.span, over: attributes.signedOctets.span,
                algorithm: algorithm)
        } else {
            holds = key.verifies(
                signature: signer.signature.span, overDigest: digest.span, algorithm: algorithm)
        }
        guard holds else {
            throw Refusal(
                .invalidSignature, "the signature does not verify with the leaf certificate's key")
        }
    }
}
