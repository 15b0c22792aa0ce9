/// The reason that a certificate cannot be pinned.
public struct TrustStoreError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// Neither DER nor PEM of one X.509 certificate.
        public static let notACertificate = Reason("notACertificate")
        /// A key type or size that no chain of Apple's shape uses.
        public static let unsupportedKey = Reason("unsupportedKey")
        /// Not a certificate authority, nor self-issued as Xcode's certificate is.
        public static let notACertificateAuthority = Reason("notACertificateAuthority")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }
}

extension TrustStoreError: CustomStringConvertible {
    public var description: String { message }
}

extension TrustStoreError {
    static func notACertificate(_ reason: String) -> Self {
        Self(.notACertificate, "it is not one X.509 certificate, PEM or DER: \(reason)")
    }

    package static let unsupportedKey = Self(
        .unsupportedKey, "its key is of another type than RSA, P-256 and P-384")
    package static let notACertificateAuthority = Self(
        .notACertificateAuthority,
        "it is not a certificate authority (CA is false), and another certificate issued it; name "
            + "the root at the top of its chain")
}
