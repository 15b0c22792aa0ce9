public import AssayModels

/// The pinned roots, and the development certificates, of one trust configuration.
public struct TrustStore: Sendable {
    public let anchors: [TrustAnchor]

    /// Apple Inc. Root, Apple Root CA – G2, Apple Root CA – G3.
    public static let apple = TrustStore(anchors: [])

    init(anchors: [TrustAnchor]) { self.anchors = anchors }

    /// This store and one more root or, where `development` is true, a root or a single
    /// self-signed certificate that never validates Production evidence.
    public func pinning(der: [UInt8], development: Bool) throws(TrustStoreError) -> TrustStore {
        fatalError()
    }
}

/// A certificate that is trusted because it was pinned.
public struct TrustAnchor: Sendable {
    /// The subject's common name.
    public var name: String
    /// SHA-256 of the DER, lower-case hexadecimal.
    public var fingerprint: String
    public var notBefore: Timestamp
    public var notAfter: Timestamp
    /// Never good for Production evidence.
    public var development: Bool
}

/// Why a certificate can't be pinned.
public enum TrustStoreError: Error, Equatable {
    /// Neither DER nor PEM of an X.509 certificate.
    case notACertificate(String)
    /// A certificate that may not sign others, pinned as a root.
    case notACertificateAuthority
    /// A key that no chain of Apple's shape can end in.
    case unsupportedKey
}
