/// SHA-256 of a certificate, or of its subjectPublicKeyInfo, as people write it: 64 hexadecimal
/// digits of either case, with or without colons.
public struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
    /// Lower-case, without colons.
    public let description: String

    /// Nil: it is none, and a list with it would deny less than its owner believes.
    public init?(_ text: String) {
        var digits: [UInt8] = []
        for octet in text.utf8 where octet != UInt8(ascii: ":") {
            switch octet {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                digits.append(octet)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(octet | 0x20)
            default: return nil
            }
        }
        guard digits.count == 64 else { return nil }
        description = String(decoding: digits, as: UTF8.self)
    }

    package init(_ digest: SHA256Digest) { description = digest.text }
}
