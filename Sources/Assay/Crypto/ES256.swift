/// One ES256 signature to check: RFC 7518, section 3.4.
package struct ES256Check: Sendable {
    package var key: PublicKey
    package var digest: SHA256Digest
    package var signature: ES256Signature

    package init(key: PublicKey, digest: SHA256Digest, signature: ES256Signature) {
        self.key = key
        self.digest = digest
        self.signature = signature
    }
}

/// r ‖ s, each 32 octets big-endian, both in 1 ..< n.
package struct ES256Signature: Sendable {
    private let octets: [64 of UInt8]

    /// The order n of P-256 (SEC 2, section 2.4.2).
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0xFF, 0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63,
        0x25, 0x51,
    ]

    /// Nil unless 64 octets with r and s in range.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 64, Self.isInRange(bytes, from: 0), Self.isInRange(bytes, from: 32)
        else { return nil }
        octets = [64 of UInt8] { bytes[$0] }
    }

    private static func isInRange(_ bytes: Span<UInt8>, from start: Int) -> Bool {
        var isZero = true
        for index in 0..<32 where bytes[start + index] != 0 { isZero = false }
        guard !isZero else { return false }
        for index in 0..<32 where bytes[start + index] != order[index] {
            return bytes[start + index] < order[index]
        }
        return false
    }

    /// `SEQUENCE { r INTEGER, s INTEGER }`, as OpenSSL wants it.
    var der: [UInt8] {
        let r = Self.integer(octets.span, from: 0)
        let s = Self.integer(octets.span, from: 32)
        return [0x30, UInt8(r.count + s.count)] + r + s
    }

    private static func integer(_ bytes: Span<UInt8>, from start: Int) -> [UInt8] {
        var first = start
        while bytes[first] == 0 { first += 1 }
        let sign: [UInt8] = bytes[first] & 0x80 == 0 ? [] : [0]
        let magnitude = bytes.array(first..<start + 32)
        return [Tag.integer.rawValue, UInt8(sign.count + magnitude.count)] + sign + magnitude
    }
}

/// Checks the signatures of a batch, in the batch's order.
package enum ES256Batch {
    package static func verify(_ checks: [ES256Check]) -> [Bool] {
        checks.map { check in
            let signature = check.signature.der
            return check.key.verifiesECDSA(
                signature.span, overDigest: check.digest.octets.span)
        }
    }
}
