/// Why TLS failed. Replaces OpenSSL's error numbers; its texts are kept if they help.
public struct TLSError: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// A file can't be read.
        public static let unreadable = Reason("unreadable")
        /// A file has no PEM certificate.
        public static let noCertificate = Reason("noCertificate")
        /// A file has no PEM private key without a passphrase.
        public static let noKey = Reason("noKey")
        /// The key does not belong to the certificate.
        public static let keyMismatch = Reason("keyMismatch")
        /// OpenSSL rejects a certificate or key, for example one with too few bits.
        public static let unusable = Reason("unusable")
        /// A certificate without its key, or a key without its certificate.
        public static let halfIdentity = Reason("halfIdentity")
        /// Out of memory.
        public static let outOfMemory = Reason("outOfMemory")

        // Of a handshake.
        /// The peer's handshake passed its deadline.
        package static let timedOut = Reason("timedOut")
        /// The peer closed before the end of the handshake.
        package static let peerClosed = Reason("peerClosed")
        /// Too many handshakes at a time; this was the oldest.
        package static let tooManyHandshakes = Reason("tooManyHandshakes")
        /// The peer sent no certificate.
        package static let noPeerCertificate = Reason("noPeerCertificate")
        /// The peer's certificate is not trusted.
        package static let untrustedPeer = Reason("untrustedPeer")
        /// The peer sent an alert.
        package static let refusedByPeer = Reason("refusedByPeer")
        /// The peer does not speak TLS.
        package static let noTLS = Reason("noTLS")
        /// The peer speaks no version or cipher accepted here, or breaks the protocol.
        package static let protocolFault = Reason("protocolFault")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String
    /// The file that the reason is about; nil for other reasons.
    public let file: String?

    private init(_ reason: Reason, _ message: String, of file: String? = nil) {
        self.reason = reason
        self.message = message
        self.file = file
    }
}

extension TLSError: CustomStringConvertible {
    public var description: String { message }
}

extension TLSError {
    static func unreadable(_ file: String, _ reason: String) -> Self {
        Self(.unreadable, "\(file) can't be read: \(reason)", of: file)
    }

    static func noCertificate(_ file: String) -> Self {
        Self(.noCertificate, "\(file) has no certificate in PEM", of: file)
    }

    static func noKey(_ file: String) -> Self {
        Self(.noKey, "\(file) has no private key in PEM without a passphrase", of: file)
    }

    static func keyMismatch(certificate: String, key: String) -> Self {
        Self(
            .keyMismatch, "the key in \(key) does not match the certificate in \(certificate)",
            of: key)
    }

    static func unusable(_ file: String, _ reason: String) -> Self {
        Self(.unusable, "\(file) can't be used: \(reason)", of: file)
    }

    static let halfIdentity = Self(
        .halfIdentity, "a certificate and its key belong together: name both files")
    static let outOfMemory = Self(.outOfMemory, "out of memory")
}

// Of a handshake.
extension TLSError {
    package static let timedOut = Self(.timedOut, "the TLS handshake took too long")
    package static let peerClosed = Self(
        .peerClosed, "the peer closed the connection during the TLS handshake")
    package static let tooManyHandshakes = Self(
        .tooManyHandshakes, "too many simultaneous TLS handshakes")
    package static let noPeerCertificate = Self(
        .noPeerCertificate, "the peer sent no certificate")

    package static func untrustedPeer(_ reason: String) -> Self {
        Self(.untrustedPeer, "the peer's certificate is not trusted: \(reason)")
    }

    package static func refusedByPeer(_ reason: String) -> Self {
        Self(.refusedByPeer, "the peer refused: \(reason)")
    }

    package static let noTLS = Self(.noTLS, "the peer does not speak TLS")

    package static func protocolFault(_ reason: String) -> Self {
        Self(.protocolFault, "TLS protocol error: \(reason)")
    }
}
