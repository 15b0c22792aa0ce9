import AssayBytes

/// SHA-256 of a certificate, of its TBSCertificate or of its subjectPublicKeyInfo. As text, it
/// has 64 hexadecimal digits of either case, with or without colons.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    private let octets: [UInt8]

    /// Lower-case, without colons.
    public var description: String { hexadecimal(octets.span) }

    /// Nil for malformed text, because a deny list that ignored it would deny less than intended.
    public init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") }
        guard digits.count == 64, let octets = [UInt8](hexadecimal: digits.span) else { return nil }
        self.octets = octets
    }

    package init(_ digest: SHA256Digest) { octets = digest.octets.span.array }
}
