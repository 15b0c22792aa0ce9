import AssayModels

/// What a SignedData holds beside its content, all of it read and none of it believed.
struct UnverifiedSignedData: Sendable {
    let digests: ContentDigests
    let certificates: [Certificate]
    let signer: SignerInfo

    /// - Parameters:
    ///   - certificates: the bag, each as it came.
    ///   - signerInfo: the one SignerInfo.
    ///   - links: has certificates of validated chains, which need not be parsed again.
    init(
        digests: ContentDigests, certificates: [[UInt8]], signerInfo: [UInt8],
        links: ValidatedLinks
    ) throws(Refusal) {
        self.digests = digests
        signer = try SignerInfo(der: signerInfo)
        var parsed: [Certificate] = []
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
        self.certificates = parsed
    }

    /// Checks algorithm, chain and signature, in this order, and gives the chain.
    func verify(
        _ chains: RSAChainBuilder, effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        let algorithm = try signer.checkedAlgorithm()
        guard let digest = digests.digest(algorithm) else {
            throw Refusal(
                .malformed, "digestAlgorithms does not announce the signer's \(algorithm.name)")
        }
        guard let leaf = certificates.first(where: { signer.isSigner($0) }) else {
            throw Refusal(.invalidChain, "the signer's certificate is not in the receipt")
        }
        let chain = try chains.validate(
            leaf: leaf, bag: certificates, effectiveDate: effectiveDate)
        return try chain.map { (chain) throws(Refusal) in
            try check(digest, algorithm, key: chain.leafKey)
            return chain
        }
    }

    /// RFC 5652, section 5.4: over the signed attributes where there are any, over the content
    /// where there are none.
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
