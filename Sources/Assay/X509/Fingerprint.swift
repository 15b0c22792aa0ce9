import AssayBytes

/// SHA-256 of a certificate, of its TBSCertificate or of its subjectPublicKeyInfo. As text, it
/// has 64 hexadecimal digits of either case, with or without colons.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    private let octets: [UInt8]

    /// Lower-case, without colons.
    public var description: String { hexadecimal(octets.span) }

    /// Nil for malformed text, because a deny list that ignored it would deny less than intended.
    public init?(_ text: String) {
        var digits: [UInt8] = []
        for octet in text.utf8 where octet != UInt8(ascii: ":") {
            switch octet {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(octet - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                digits.append(octet - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                digits.append(octet - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        guard digits.count == 64 else { return nil }
        octets = stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    package init(_ digest: SHA256Digest) { octets = digest.octets.span.array }
}
