public import AssayModels

/// The pinned certificates of one trust configuration, and the certificates it denies.
///
/// An anchor of a chain comes from here alone; a root that a chain brings along proves nothing.
public struct TrustStore: Sendable {
    public private(set) var anchors: [TrustAnchor]
    /// Certificates, or keys, that are refused wherever they occur (CERTIFICATE_REVOKED): SHA-256
    /// of a certificate, of its TBSCertificate or of its SubjectPublicKeyInfo. The fingerprint of a
    /// certificate stands for both forms of its ECDSA signature.
    public private(set) var denied: Set<Fingerprint> = []
    /// Certificates that may complete a chain of RSA; they are trusted in nothing.
    private(set) var intermediates: [Certificate]

    init(anchors: [TrustAnchor], intermediates: [Certificate] = []) {
        self.anchors = anchors
        self.intermediates = intermediates
    }

    /// What two stores of the same trust have in common, and others have not.
    package struct Identity: Hashable {
        struct Anchor: Hashable {
            let fingerprint: String
            let development: Bool
        }

        let anchors: [Anchor]
        let intermediates: [String]
        let denied: Set<Fingerprint>
    }

    package var identity: Identity {
        Identity(
            anchors: anchors.map {
                Identity.Anchor(fingerprint: $0.fingerprint, development: $0.development)
            },
            intermediates: intermediates.map(\.fingerprint.text), denied: denied)
    }

    /// Trusts nothing; a store to pin into.
    public static let empty = TrustStore(anchors: [])

    /// This store and one more certificate, as DER or PEM text.
    ///
    /// A certificate authority becomes a root. A self-signed certificate, such as Xcode's
    /// StoreKit testing one, is good alone in `x5c`, for `Xcode` and `LocalTesting` evidence.
    /// - Parameter development: true: it never validates Production evidence.
    public func pinning(
        _ certificate: [UInt8], development: Bool
    ) throws(TrustStoreError) -> TrustStore {
        let parsed: Certificate
        do throws(CertificateError) {
            parsed = try Certificate(der: try PEM.certificate(certificate))
        } catch {
            throw .notACertificate(error.description)
        }
        let anchor = TrustAnchor(parsed, development: development, isApple: false)
        guard anchor.hasUsableKey else { throw .unsupportedKey }
        var store = self
        if !anchors.contains(where: { $0.fingerprint == anchor.fingerprint }) {
            store.anchors.append(anchor)
        }
        // One name and key pinned twice, the same certificate or a renewed one: the stricter
        // reading stands for all, so that their order decides nothing.
        let renewals = store.anchors.indices.filter { store.anchors[$0].hasNameAndKey(of: anchor) }
        if development || renewals.contains(where: { store.anchors[$0].development }) {
            for index in renewals { store.anchors[index].development = true }
        }
        return store
    }

    /// This store and one more intermediate, as DER or PEM text, for receipts that do not bring
    /// theirs along. It needs a pinned root's signature like any other.
    public func adding(intermediate certificate: [UInt8]) throws(TrustStoreError) -> TrustStore {
        let parsed: Certificate
        do throws(CertificateError) {
            parsed = try Certificate(der: try PEM.certificate(certificate))
        } catch {
            throw .notACertificate(error.description)
        }
        guard parsed.extensions.basicConstraints?.isCA == true else {
            throw .notACertificateAuthority
        }
        guard parsed.rsaKey(smallestBits: Limits.smallestRSAKeyBits) != nil else {
            throw .unsupportedKey
        }
        var store = self
        if !store.intermediates.contains(where: { $0.der == parsed.der }) {
            store.intermediates.append(parsed)
        }
        return store
    }

    /// This store, refusing certificates (or keys) of these fingerprints.
    public func denying(_ fingerprints: Set<Fingerprint>) -> TrustStore {
        var store = self
        store.denied.formUnion(fingerprints)
        return store
    }
}

/// A certificate that is trusted because it was pinned.
public struct TrustAnchor: Sendable {
    /// The subject's common name.
    public let name: String
    /// SHA-256 of the DER, lower-case hexadecimal.
    public let fingerprint: String
    public let notBefore: Timestamp
    public let notAfter: Timestamp
    /// Never good for Production evidence.
    public internal(set) var development: Bool
    /// One of Apple's, built in.
    public let isApple: Bool

    /// The detail of evidence that is valid under it.
    let acceptance: String
    let certificate: Certificate
    /// Computed once: a receipt has a path to it for each intermediate.
    let deniableFingerprints: [Fingerprint]
    let ecKey: PublicKey?
    let rsaKey: RSAPublicKey?

    init(_ certificate: Certificate, development: Bool, isApple: Bool) {
        name = certificate.subjectCommonName
        acceptance = "signed under \(name), within policy and expectations"
        fingerprint = certificate.fingerprint.text
        notBefore = Timestamp(milliseconds: certificate.notBefore * 1000)
        notAfter = Timestamp(milliseconds: certificate.notAfter * 1000)
        self.development = development
        self.isApple = isApple
        self.certificate = certificate
        deniableFingerprints = certificate.deniableFingerprints
        ecKey = certificate.ecKey
        rsaKey = certificate.rsaKey(smallestBits: Limits.smallestRSAKeyBits)
    }

    /// Whether it verifies what that one verifies: the same root, or one that was renewed.
    func hasNameAndKey(of other: TrustAnchor) -> Bool {
        let (mine, others) = (certificate, other.certificate)
        return mine.der[mine.subject] == others.der[others.subject]
            && mine.der[mine.publicKey.range] == others.der[others.publicKey.range]
    }

    var hasUsableKey: Bool {
        switch certificate.publicKey.kind {
        case .ec: ecKey != nil
        case .rsa: rsaKey != nil
        case .unsupported: false
        }
    }
}

/// Why a certificate can't be pinned.
public enum TrustStoreError: Error, Equatable {
    /// Neither DER nor PEM of one X.509 certificate; why.
    case notACertificate(String)
    /// A key that no chain of Apple's shape can end in.
    case unsupportedKey
    /// An intermediate that may not issue certificates.
    case notACertificateAuthority
}
