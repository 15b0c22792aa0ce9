/// Why there is no TLS. OpenSSL's numbers end here; where its words help, they are kept.
public enum TLSError: Error, Hashable, Sendable {
    /// A file can't be read; why.
    case unreadable(String, String)
    /// No certificate, PEM, in the file.
    case noCertificate(String)
    /// No private key, PEM and without a passphrase, in the file.
    case noKey(String)
    case keyMismatch(certificate: String, key: String)
    /// A certificate or key that OpenSSL does not use, such as one of too few bits.
    case unusable(String, String)
    /// A certificate without its key, or the other way round.
    case halfIdentity

    /// The peer took too long for its handshake.
    case timedOut
    /// The peer went before the handshake's end.
    case peerClosed
    /// As many handshakes as may be, and this was the oldest.
    case crowdedOut
    case noPeerCertificate
    /// The peer's certificate is none that is trusted; why.
    case untrustedPeer(String)
    /// The peer has refused; its words.
    case refusedByPeer(String)
    /// What came is no TLS, or none that is spoken here.
    case protocolFault(String)
    case outOfMemory
}

extension TLSError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let file, let reason): "\(file) can't be read: \(reason)"
        case .noCertificate(let file): "\(file) has no certificate in PEM"
        case .noKey(let file): "\(file) has no private key in PEM without a passphrase"
        case .keyMismatch(let certificate, let key):
            "the key in \(key) is not the one of the certificate in \(certificate)"
        case .unusable(let file, let reason): "\(file) can't be used: \(reason)"
        case .halfIdentity: "a certificate and its key go together: name both files"
        case .timedOut: "the TLS handshake took too long"
        case .peerClosed: "the peer closed the connection within the TLS handshake"
        case .crowdedOut: "too many TLS handshakes at a time"
        case .noPeerCertificate: "the peer has shown no certificate"
        case .untrustedPeer(let reason): "the peer's certificate is not trusted: \(reason)"
        case .refusedByPeer(let reason): "the peer refused: \(reason)"
        case .protocolFault(let reason): "no TLS that is spoken here: \(reason)"
        case .outOfMemory: "out of memory"
        }
    }
}
