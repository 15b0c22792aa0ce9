public import AssayModels

/// The pinned certificates of one trust configuration, and the certificates it denies.
///
/// Only this store provides trust anchors. A root certificate inside the evidence proves nothing.
public struct TrustStore: Sendable {
    /// The pinned certificates, in the order of pinning.
    public private(set) var anchors: [TrustAnchor]
    /// The pinned roots of Huawei's HarmonyOS. They are not good for Apple's evidence, nor Apple's
    /// roots for HarmonyOS.
    public private(set) var harmonyAnchors: [TrustAnchor] = []
    /// All pinned certificates, of whatever store.
    package var allAnchors: [TrustAnchor] { anchors + harmonyAnchors }
    /// Certificates and keys that are refused wherever they occur (CERTIFICATE_REVOKED): SHA-256
    /// of a certificate, of its TBSCertificate or of its SubjectPublicKeyInfo. A certificate's
    /// fingerprint matches both forms of its ECDSA signature.
    public private(set) var denied: Set<Fingerprint> = []
    /// Untrusted certificates that complete RSA chains.
    private(set) var intermediates: [Certificate]

    init(anchors: [TrustAnchor], intermediates: [Certificate] = []) {
        self.anchors = anchors
        self.intermediates = intermediates
    }

    /// Equal for two stores with the same trust, and different otherwise.
    package struct Identity: Hashable {
        struct Anchor: Hashable {
            let fingerprint: String
            let development: Bool

            init(_ anchor: TrustAnchor) {
                fingerprint = anchor.fingerprint
                development = anchor.development
            }
        }

        let anchors: [Anchor]
        let harmonyAnchors: [Anchor]
        let intermediates: [String]
        let denied: Set<Fingerprint>
    }

    package var identity: Identity {
        Identity(
            anchors: anchors.map(Identity.Anchor.init),
            harmonyAnchors: harmonyAnchors.map(Identity.Anchor.init),
            intermediates: intermediates.map(\.fingerprint.text), denied: denied)
    }

    /// Trusts nothing; the base to pin certificates into.
    public static let empty = TrustStore(anchors: [])

    /// Returns this store with one more pinned certificate, from DER or PEM text.
    ///
    /// A certificate authority becomes a root. A self-signed certificate, such as Xcode's for
    /// StoreKit testing, is valid alone in `x5c`, for `Xcode` and `LocalTesting` evidence. Any
    /// other certificate is refused: it is a leaf, whose root has to be pinned.
    ///
    /// - Parameters:
    ///   - certificate: one X.509 certificate.
    ///   - development: if true, the certificate never validates Production evidence.
    public func pinning(
        _ certificate: [UInt8], development: Bool
    ) throws(TrustStoreError) -> TrustStore {
        let anchor = try Self.anchor(certificate, development: development)
        // A leaf in place of its root would be accepted here, and every chain refused later.
        guard
            anchor.certificate.isAuthority
                || anchor.certificate.isIssued(inNameOf: anchor.certificate)
        else {
            throw .notACertificateAuthority
        }
        var store = self
        if !anchors.contains(where: { $0.fingerprint == anchor.fingerprint }) {
            store.anchors.append(anchor)
        }
        // Anchors with one name and key: a certificate pinned twice, or a renewed one. The
        // stricter setting applies to all, so the order of pinning does not matter.
        let renewals = store.anchors.indices.filter { store.anchors[$0].hasNameAndKey(of: anchor) }
        if development || renewals.contains(where: { store.anchors[$0].development }) {
            for index in renewals { store.anchors[index].development = true }
        }
        return store
    }

    /// Returns this store with one more pinned root of HarmonyOS, from DER or PEM text. Huawei's is
    /// "Huawei CBG Root CA G2"; the operator has to get it from Huawei.
    public func pinningHarmony(_ certificate: [UInt8]) throws(TrustStoreError) -> TrustStore {
        let anchor = try Self.anchor(certificate, development: false)
        guard anchor.certificate.isAuthority else { throw .notACertificateAuthority }
        var store = self
        if !harmonyAnchors.contains(where: { $0.fingerprint == anchor.fingerprint }) {
            store.harmonyAnchors.append(anchor)
        }
        return store
    }

    /// The trust in evidence of HarmonyOS alone.
    var harmony: TrustStore {
        var store = TrustStore(anchors: harmonyAnchors)
        store.denied = denied
        return store
    }

    private static func anchor(
        _ certificate: [UInt8], development: Bool
    ) throws(TrustStoreError) -> TrustAnchor {
        let parsed: Certificate
        do throws(CertificateError) {
            parsed = try Certificate(der: try PEMDocument.certificate(certificate))
        } catch {
            throw .notACertificate(error.description)
        }
        let anchor = TrustAnchor(parsed, development: development, isApple: false)
        guard anchor.hasUsableKey else { throw .unsupportedKey }
        return anchor
    }

    /// Returns this store with one more intermediate, from DER or PEM text, for receipts without
    /// their intermediate. The intermediate still needs a pinned root's signature.
    public func adding(intermediate certificate: [UInt8]) throws(TrustStoreError) -> TrustStore {
        let parsed: Certificate
        do throws(CertificateError) {
            parsed = try Certificate(der: try PEMDocument.certificate(certificate))
        } catch {
            throw .notACertificate(error.description)
        }
        guard parsed.isAuthority else { throw .notACertificateAuthority }
        guard parsed.rsaKey(smallestBits: Limits.smallestRSAKeyBits) != nil else {
            throw .unsupportedKey
        }
        var store = self
        if !store.intermediates.contains(where: { $0.der == parsed.der }) {
            store.intermediates.append(parsed)
        }
        return store
    }

    /// Returns this store with these fingerprints of certificates and keys added to the deny
    /// list.
    public func denying(_ fingerprints: Set<Fingerprint>) -> TrustStore {
        var store = self
        store.denied.formUnion(fingerprints)
        return store
    }
}

/// A certificate that is trusted because it is pinned.
public struct TrustAnchor: Sendable {
    /// The subject's common name.
    public let name: String
    /// SHA-256 of the DER, in lower-case hexadecimal.
    public let fingerprint: String
    /// The first second of the certificate's validity.
    public let notBefore: Timestamp
    /// The last second of the certificate's validity.
    public let notAfter: Timestamp
    /// Whether the anchor is for development only and never validates Production evidence.
    public internal(set) var development: Bool
    /// Whether this is one of Apple's built-in roots.
    public let isApple: Bool

    /// The detail of a valid verdict under this anchor.
    let acceptance: String
    let certificate: Certificate
    /// Computed once, because a receipt has a path to this anchor for each intermediate.
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

    /// Whether both verify the same certificates: they are the same root, or a renewed one.
    package func hasNameAndKey(of other: TrustAnchor) -> Bool {
        let (mine, others) = (certificate, other.certificate)
        return hasName(of: other)
            && mine.der[mine.publicKey.range] == others.der[others.publicKey.range]
    }

    package func hasName(of other: TrustAnchor) -> Bool {
        let (mine, others) = (certificate, other.certificate)
        return mine.der[mine.subject] == others.der[others.subject]
    }

    /// Whether its own key made its signature. A certificate without it can have any dates, and the
    /// name and key of a root that somebody else copied.
    package var isSelfSigned: Bool { certificate.isSigned(by: certificate) }

    var hasUsableKey: Bool {
        switch certificate.publicKey.kind {
        case .ec: ecKey != nil
        case .rsa: rsaKey != nil
        case .unsupported: false
        }
    }
}

extension Certificate {
    fileprivate var isAuthority: Bool { extensions.basicConstraints?.isCA == true }
}
