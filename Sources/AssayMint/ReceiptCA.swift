package import AssayKeys
public import AssayModels

/// A root, an intermediate and a leaf shaped like the chains of StoreKit 1 receipts: 2048-bit
/// RSA, Apple's marker OIDs. Receipts that they sign pass a verifier that pins this root.
///
/// Shares a folder with a `DevelopmentCA`, under file names of its own.
public struct ReceiptCA: Sendable {
    /// DER. A trust store pins the root.
    public let rootCertificate: [UInt8]
    /// DER of the intermediate.
    public let intermediateCertificate: [UInt8]
    /// DER of the leaf, whose key signs receipts.
    public let leafCertificate: [UInt8]
    /// Nil if the source folder lacks it.
    package let rootKey: SigningKey?
    /// Nil if the source folder lacks it.
    package let intermediateKey: SigningKey?
    package let leafKey: SigningKey

    /// Creates new keys and certificates. `digest` is the digest of each signature: SHA-1 as
    /// Apple's until 2022, or SHA-256.
    public static func make(
        at now: Timestamp, digest: ReceiptDigest = .sha256
    ) throws(MintError) -> ReceiptCA {
        let root = try makeRoot(validity: .around(now, days: 9131), digest: digest)
        let intermediate = try makeIntermediate(
            under: root, validity: .around(now, days: 5480), digest: digest)
        let leaf = try makeLeaf(
            under: intermediate, validity: .around(now, days: 760), digest: digest)
        return ReceiptCA(root: root, intermediate: intermediate, leaf: leaf)
    }

    package init(
        root: IssuedCertificate, intermediate: IssuedCertificate, leaf: IssuedCertificate
    ) {
        rootCertificate = root.der
        intermediateCertificate = intermediate.der
        leafCertificate = leaf.der
        rootKey = root.key
        intermediateKey = intermediate.key
        leafKey = leaf.key
    }

    /// The chain that signs receipts: leaf, intermediate, root, and the leaf's key.
    public var chain: SigningChain {
        SigningChain(
            certificates: [leafCertificate, intermediateCertificate, rootCertificate], key: leafKey)
    }
}

// MARK: The three certificates

extension ReceiptCA {
    package static func makeRoot(
        validity: Validity, digest: ReceiptDigest, key given: SigningKey? = nil,
        configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey() }
        return try DevelopmentCA.makeRoot(validity: validity, key: key) { builder in
            builder.subject = rootName
            builder.issuer = rootName
            builder.setAlgorithm(digest.withRSA)
            configure(&builder)
        }
    }

    package static func makeIntermediate(
        under root: IssuedCertificate, validity: Validity, digest: ReceiptDigest,
        key given: SigningKey? = nil, configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey() }
        return try DevelopmentCA.makeIntermediate(
            under: root, validity: validity, key: key
        ) { builder in
            builder.subject = intermediateName
            builder.issuer = rootName
            builder.setAlgorithm(digest.withRSA)
            configure(&builder)
        }
    }

    package static func makeLeaf(
        under intermediate: IssuedCertificate, validity: Validity, digest: ReceiptDigest,
        key given: SigningKey? = nil, configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> IssuedCertificate {
        let key = if let given { given } else { try newKey() }
        return try DevelopmentCA.makeLeaf(
            under: intermediate.key, validity: validity, key: key
        ) { builder in
            builder.subject = leafName
            builder.issuer = intermediateName
            builder.setAlgorithm(digest.withRSA)
            configure(&builder)
        }
    }

    /// Creates a self-signed certificate like the one with which Xcode's StoreKit testing signs
    /// receipts, and its key.
    package static func storeKitTesting(
        validity: Validity, configure: (inout CertificateBuilder) -> Void = { _ in }
    ) throws(MintError) -> SigningChain {
        let key = try newKey()
        let common = "StoreKit Testing in Xcode"
        let name = DistinguishedName(commonName: common, organization: common)
        var builder = try CertificateBuilder(
            subject: name, issuer: name, publicKeyOf: key, validity: validity,
            extensions: [.basicConstraints(ca: true, pathLength: 0), .keyUsage(.digitalSignature)])
        builder.setAlgorithm(.sha256WithRSA)
        configure(&builder)
        return SigningChain(
            certificates: [try builder.issue(for: key, signedBy: key).der], key: key)
    }

    /// The key size of Apple's certificates.
    private static let keyBits = 2048

    private static func newKey() throws(MintError) -> SigningKey {
        try DevelopmentCA.newKey(.rsa(bits: keyBits))
    }

    package static let rootName = DistinguishedName(
        commonName: "Assay Development Receipt Root CA", organizationalUnit: "Not a real authority",
        organization: "Assay Project", country: "US")
    package static let intermediateName = DistinguishedName(
        commonName: "Assay Development Receipt Relations Certification Authority",
        organizationalUnit: "G1", organization: "Assay Project", country: "US")
    package static let leafName = DistinguishedName(
        commonName: "Assay Development Receipt Signing",
        organizationalUnit: "Assay Development Receipt Relations",
        organization: "Assay Project", country: "US")
}

// MARK: Files

extension ReceiptCA {
    private static let chainFiles = ChainFiles(
        root: "receipt-root", intermediate: "receipt-intermediate", leaf: "receipt-leaf")

    /// The names of all files that `files` can return and `init(files:)` reads.
    public static let fileNames = chainFiles.names

    /// Returns the files of certificates and keys.
    public func files() throws(MintError) -> [DevelopmentCA.File] {
        try Self.chainFiles.write(
            certificates: [rootCertificate, intermediateCertificate, leafCertificate],
            keys: [rootKey, intermediateKey, leafKey])
    }

    /// Reads the result of `files`. The keys of root and intermediate are optional.
    public init(files: [DevelopmentCA.File]) throws(MintError) {
        let chain = try Self.chainFiles.read(
            files, subjects: [Self.rootName, Self.intermediateName, Self.leafName])
        rootCertificate = chain.certificates[0]
        intermediateCertificate = chain.certificates[1]
        leafCertificate = chain.certificates[2]
        rootKey = chain.rootKey
        intermediateKey = chain.intermediateKey
        leafKey = chain.leafKey
    }
}

/// The digest of a receipt's signature, and of its certificates' signatures.
public enum ReceiptDigest: String, Sendable, Hashable, CaseIterable {
    /// SHA-1.
    case sha1
    /// SHA-256.
    case sha256

    var signing: SigningKey.Digest { self == .sha1 ? .sha1 : .sha256 }
    package var withRSA: SigningAlgorithm { self == .sha1 ? .sha1WithRSA : .sha256WithRSA }
    /// The DER AlgorithmIdentifier of the digest.
    package var der: [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.oid(self == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1")
                $0.null()
            }
        }
    }
}
