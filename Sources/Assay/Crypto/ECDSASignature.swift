import AssayBytes

/// An ECDSA signature of a certificate (RFC 3279, section 2.2.3): `SEQUENCE { r INTEGER, s
/// INTEGER }` in DER, with positions in the bytes that it was read from.
struct ECDSASignature {
    let r: DERElement
    let s: DERElement

    /// Reads what EVP reads: DER alone, without octets after it.
    init(_ der: Span<UInt8>) throws(DERError) {
        var outer = DERReader(der)
        var numbers = try outer.readInside(.sequence)
        try outer.atEnd()
        r = try numbers.readIntegerOctets()
        s = try numbers.readIntegerOctets()
        try numbers.atEnd()
    }

    /// Returns r and s of a signature, each of `size` octets. Nil if the signature cannot hold: it
    /// is not DER, or a number is negative or needs more octets.
    static func numbers(_ der: Span<UInt8>, size: Int) -> (r: [UInt8], s: [UInt8])? {
        guard let numbers = try? Self(der), let r = numbers.r.unsignedOctets(in: der, size: size),
            let s = numbers.s.unsignedOctets(in: der, size: size)
        else { return nil }
        return (r, s)
    }
}

extension DERElement {
    /// The big-endian octets of a non-negative INTEGER, with zeros in front up to `size`. Nil for
    /// a negative one, and for one that needs more octets.
    func unsignedOctets(in der: Span<UInt8>, size: Int) -> [UInt8]? {
        let octets = der.extracting(content)
        guard octets[0] & 0x80 == 0 else { return nil }
        let first = octets[0] == 0 ? 1 : 0
        let count = octets.count - first
        guard count <= size else { return nil }
        return [UInt8](repeating: 0, count: size - count)
            + octets.array(first..<octets.count)
    }
}
