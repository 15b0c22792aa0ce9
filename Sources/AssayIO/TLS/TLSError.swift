/// Why TLS failed. Replaces OpenSSL's error numbers; its texts are kept if they help.
public enum TLSError: Error, Hashable, Sendable {
    /// The file can't be read; the second value is the reason.
    case unreadable(String, String)
    /// The file has no PEM certificate.
    case noCertificate(String)
    /// The file has no PEM private key without a passphrase.
    case noKey(String)
    /// The key does not belong to the certificate.
    case keyMismatch(certificate: String, key: String)
    /// OpenSSL rejects the certificate or key, for example one with too few bits.
    case unusable(String, String)
    /// A certificate without its key, or a key without its certificate.
    case halfIdentity

    /// The peer's handshake passed its deadline.
    case timedOut
    /// The peer closed before the end of the handshake.
    case peerClosed
    /// Too many handshakes at a time; this was the oldest.
    case tooManyHandshakes
    /// The peer sent no certificate.
    case noPeerCertificate
    /// The peer's certificate is not trusted; the value is the reason.
    case untrustedPeer(String)
    /// The peer sent an alert; the value is its text.
    case refusedByPeer(String)
    /// The peer does not speak TLS.
    case noTLS
    /// The peer speaks no version or cipher accepted here, or breaks the protocol.
    case protocolFault(String)
    /// Out of memory.
    case outOfMemory
}

extension TLSError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let file, let reason): "\(file) can't be read: \(reason)"
        case .noCertificate(let file): "\(file) has no certificate in PEM"
        case .noKey(let file): "\(file) has no private key in PEM without a passphrase"
        case .keyMismatch(let certificate, let key):
            "the key in \(key) does not match the certificate in \(certificate)"
        case .unusable(let file, let reason): "\(file) can't be used: \(reason)"
        case .halfIdentity: "a certificate and its key belong together: name both files"
        case .timedOut: "the TLS handshake took too long"
        case .peerClosed: "the peer closed the connection during the TLS handshake"
        case .tooManyHandshakes: "too many simultaneous TLS handshakes"
        case .noPeerCertificate: "the peer sent no certificate"
        case .untrustedPeer(let reason): "the peer's certificate is not trusted: \(reason)"
        case .refusedByPeer(let reason): "the peer refused: \(reason)"
        case .noTLS: "the peer does not speak TLS"
        case .protocolFault(let reason): "TLS protocol error: \(reason)"
        case .outOfMemory: "out of memory"
        }
    }
}
