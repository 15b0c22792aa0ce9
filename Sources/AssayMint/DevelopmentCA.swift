package import AssayKeys
public import AssayModels

/// A root, an intermediate and a leaf shaped like Apple's App Store chains, for development and
/// tests. Evidence that they sign passes only a verifier that pins this root.
///
/// As in Apple's chains: P-384 above a P-256 leaf, ECDSA with SHA-384, path length 0, the same
/// extensions in the same order, Apple's marker OIDs, and about the same sizes.
public struct DevelopmentCA: Sendable {
    /// DER. A trust store pins the root.
    public let rootCertificate: [UInt8]
    /// DER of the intermediate.
    public let intermediateCertificate: [UInt8]
    /// DER of the leaf, whose key signs evidence.
    public let leafCertificate: [UInt8]
    /// The root's key; nil if the source folder lacks it. Without it no intermediates can be
    /// issued.
    package let rootKey: SigningKey?
    /// The intermediate's key; nil if the source folder lacks it. Without it no leaves can be
    /// issued.
    package let intermediateKey: SigningKey?
    package let leafKey: SigningKey

    init(
        root: IssuedCertificate, intermediate: IssuedCertificate, leaf: IssuedCertificate
    ) {
        rootCertificate = root.der
        intermediateCertificate = intermediate.der
        leafCertificate = leaf.der
        rootKey = root.key
        intermediateKey = intermediate.key
        leafKey = leaf.key
    }

    init(
        certificates: [[UInt8]], rootKey: SigningKey?, intermediateKey: SigningKey?,
        leafKey: SigningKey
    ) {
        leafCertificate = certificates[0]
        intermediateCertificate = certificates[1]
        rootCertificate = certificates[2]
        self.rootKey = rootKey
        self.intermediateKey = intermediateKey
        self.leafKey = leafKey
    }

    /// Creates new keys and certificates. The leaf is valid for 760 days from one day before
    /// `now`, about as long as Apple's.
    public static func make(at now: Timestamp) throws(MintError) -> DevelopmentCA {
        let root = try makeRoot(validity: .around(now, days: 9131))
        let intermediate = try makeIntermediate(
            under: root, validity: .around(now, days: 5480)
        ) { _ in }
        let leaf = try makeLeaf(
            under: intermediate.key, validity: .around(now, days: 760)
        ) { _ in }
        return DevelopmentCA(root: root, intermediate: intermediate, leaf: leaf)
    }

    /// The chain that signs evidence: leaf, intermediate, root, and the leaf's key.
    public var chain: SigningChain {
        SigningChain(
            certificates: [leafCertificate, intermediateCertificate, rootCertificate], key: leafKey)
    }

    // MARK: More certificates

    /// Issues a chain with a new leaf and a new key, under this CA's intermediate or under
    /// another one of its root. `configure` changes the leaf before it is signed.
    package func issueChain(
        under intermediate: IssuedCertificate? = nil, validity: Validity,
        configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> SigningChain {
        guard let issuer = intermediate?.key ?? intermediateKey else {
            throw .missingIssuerKey(DevelopmentCA.chainFiles.intermediateKey)
        }
        let leaf = try DevelopmentCA.makeLeaf(
            under: issuer, validity: validity, configure: configure)
        let between = intermediate?.der ?? intermediateCertificate
        return SigningChain(certificates: [leaf.der, between, rootCertificate], key: leaf.key)
    }

    /// Issues a chain that signs evidence of Huawei's IAP Kit on HarmonyOS: its leaf has Huawei's
    /// marker.
    public func issueHarmonyChain(at now: Timestamp) throws(MintError) -> SigningChain {
        try issueChain(validity: .around(now, days: 760)) { leaf in
            leaf[CertificateExtension.leafMarkerOID] = .marker(
                CertificateExtension.harmonyMarkerOID)
        }
    }

    /// Issues another intermediate under this CA's root, with the same name and a new key.
    package func issueIntermediate(
        validity: Validity, key: SigningKey? = nil,
        configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> IssuedCertificate {
        guard let rootKey else { throw .missingIssuerKey(DevelopmentCA.chainFiles.rootKey) }
        let root = IssuedCertificate(der: rootCertificate, key: rootKey)
        return try DevelopmentCA.makeIntermediate(
            under: root, validity: validity, key: key, configure: configure)
    }

    // MARK: The three certificates

    package static func makeRoot(
        validity: Validity, key given: SigningKey? = nil,
        configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey(.p384) }
        var builder = try CertificateBuilder(
            subject: rootName, issuer: rootName, publicKeyOf: key, validity: validity,
            extensions: [
                .subjectKeyIdentifier(key.keyIdentifier),
                .basicConstraints(ca: true),
                .keyUsage([.keyCertSign, .cRLSign]),
            ])
        configure(&builder)
        return try builder.issue(for: key, signedBy: key)
    }

    package static func makeIntermediate(
        under root: IssuedCertificate, validity: Validity, key given: SigningKey? = nil,
        configure: (inout CertificateBuilder) -> Void
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey(.p384) }
        var builder = try CertificateBuilder(
            subject: intermediateName, issuer: rootName, publicKeyOf: key, validity: validity,
            extensions: [
                .basicConstraints(ca: true, pathLength: 0),
                .authorityKeyIdentifier(root.key.keyIdentifier),
                .authorityInfoAccess(ocsp: "http://ocsp.example.com/ocsp03-assayroot"),
                .crlDistributionPoints("http://crl.example.com/assayroot.crl"),
                .subjectKeyIdentifier(key.keyIdentifier),
                .keyUsage([.keyCertSign, .cRLSign]),
                .marker(CertificateExtension.intermediateMarkerOID),
            ])
        configure(&builder)
        return try builder.issue(for: key, signedBy: root.key)
    }

    package static func makeLeaf(
        under issuer: SigningKey, validity: Validity, key given: SigningKey? = nil,
        configure: (inout CertificateBuilder) -> Void
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey(.p256) }
        var builder = try CertificateBuilder(
            subject: leafName, issuer: intermediateName, publicKeyOf: key, validity: validity,
            extensions: [
                .basicConstraints(ca: false),
                .authorityKeyIdentifier(issuer.keyIdentifier),
                .authorityInfoAccess(
                    issuers: "http://certs.example.com/assaydev.der",
                    ocsp: "http://ocsp.example.com/ocsp03-assaydev02"),
                .certificatePolicies(
                    policy: "2.25.41973.1", notice: notice, cps: "http://www.example.com/assay/"),
                .subjectKeyIdentifier(key.keyIdentifier),
                .keyUsage(.digitalSignature),
                .marker(CertificateExtension.leafMarkerOID),
            ])
        configure(&builder)
        return try builder.issue(for: key, signedBy: issuer)
    }

    static func newKey(_ kind: SigningKey.Kind) throws(MintError) -> SigningKey {
        try minting { () throws(SigningKeyError) in try SigningKey(generating: kind) }
    }

    // MARK: Names

    package static let rootName = DistinguishedName(
        commonName: "Assay Development Root CA", organizationalUnit: "Not a real authority",
        organization: "Assay Project", country: "US")
    package static let intermediateName = DistinguishedName(
        commonName: "Assay Development Worldwide Relations Certification Authority",
        organizationalUnit: "G1", organization: "Assay Project", country: "US")
    package static let leafName = DistinguishedName(
        commonName: "Assay Development App Store Evidence Signing",
        organizationalUnit: "Assay Development Worldwide Relations",
        organization: "Assay Project", country: "US")

    /// As long as the notice in Apple's leaf certificates, so that tokens have the length of
    /// Apple's.
    private static let notice = """
        This certificate signs evidence for development and tests. It was made on the machine \
        of a developer, proves no purchase at all, and is trusted by nobody who did not pin the \
        root above it himself.
        """
}

/// The validity period of a certificate, both ends included.
package struct Validity: Sendable, Equatable {
    package var notBefore: Timestamp
    package var notAfter: Timestamp

    package init(notBefore: Timestamp, notAfter: Timestamp) {
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    private static let day: Int64 = 86_400_000

    /// Returns a period that begins one day before `now`, to tolerate a clock that is slightly
    /// behind.
    package static func around(_ now: Timestamp, days: Int64) -> Validity {
        Validity(
            notBefore: Timestamp(milliseconds: now.milliseconds - day),
            notAfter: Timestamp(milliseconds: now.milliseconds + (days - 1) * day))
    }
}

/// A certificate and the private key of its subject.
package struct IssuedCertificate: Sendable {
    /// DER.
    package var der: [UInt8]
    package var key: SigningKey

    package init(der: [UInt8], key: SigningKey) {
        self.der = der
        self.key = key
    }
}

extension CertificateBuilder {
    init(
        subject: DistinguishedName, issuer: DistinguishedName, publicKeyOf key: SigningKey,
        validity: Validity, extensions: [CertificateExtension]
    ) throws(MintError) {
        try self.init(
            subject: subject, issuer: issuer, publicKeyOf: key, notBefore: validity.notBefore,
            notAfter: validity.notAfter, extensions: extensions)
    }

    func issue(
        for key: SigningKey, signedBy issuer: SigningKey
    ) throws(MintError) -> IssuedCertificate {
        let der = try minting { () throws(SigningKeyError) in try signed(by: issuer) }
        return IssuedCertificate(der: der, key: key)
    }
}
