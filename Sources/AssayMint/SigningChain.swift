package import AssayKeys
public import AssayModels

/// The certificates of a token's `x5c`, and the key that signs the token.
public struct SigningChain: Sendable {
    /// DER, the leaf first.
    public var certificates: [[UInt8]]
    package var key: SigningKey

    package init(certificates: [[UInt8]], key: SigningKey) {
        self.certificates = certificates
        self.key = key
    }

    /// Creates a self-signed certificate like the one that Xcode makes for StoreKit testing,
    /// alone in `x5c`: P-256, CA with path length 0, digitalSignature, no markers.
    public static func storeKitTesting(at now: Timestamp) throws(MintError) -> SigningChain {
        try storeKitTesting(validity: .around(now, days: 365)) { _ in }
    }

    package static func storeKitTesting(
        validity: Validity, configure: (inout CertificateBuilder) -> Void
    ) throws(MintError) -> SigningChain {
        let key = try DevelopmentCA.newKey(.p256)
        let common = "StoreKit Testing in Xcode"
        let name = DistinguishedName(commonName: common, organization: common, printable: true)
        var builder = try CertificateBuilder(
            subject: name, issuer: name, publicKeyOf: key, validity: validity,
            extensions: [
                .basicConstraints(ca: true, pathLength: 0),
                .subjectAltName(email: common),
                .keyUsage(.digitalSignature),
            ])
        builder.serial = [1]
        builder.setAlgorithm(.ecdsaWithSHA256)
        configure(&builder)
        let issued = try builder.issue(for: key, signedBy: key)
        return SigningChain(certificates: [issued.der], key: key)
    }
}
