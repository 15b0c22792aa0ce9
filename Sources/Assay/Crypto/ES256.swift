import AssayBytes

/// An ES256 signature to verify (RFC 7518, section 3.4).
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

/// An ES256 signature: r ‖ s, each 32 octets big-endian, both in 1 ..< n.
package struct ES256Signature: Sendable {
    static let size = 64
    private let octets: [64 of UInt8]

    /// The order n of P-256 (SEC 2, section 2.4.2).
    private static let order: [4 of UInt64] = [
        0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xBCE6_FAAD_A717_9E84,
        0xF3B9_CAC2_FC63_2551,
    ]

    /// Returns nil unless there are 64 octets with r and s in range.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == Self.size, Self.isInRange(bytes, from: 0),
            Self.isInRange(bytes, from: 32)
        else { return nil }
        octets = [64 of UInt8] { bytes[$0] }
    }

    /// Whether the 32 octets from `start` are a number from 1 to n − 1.
    private static func isInRange(_ bytes: Span<UInt8>, from start: Int) -> Bool {
        var bits: UInt64 = 0
        var isBelow = false
        // From the lowest word: a higher one decides, unless it is that of the order.
        for index in (0..<4).reversed() {
            let word = bytes.word(at: start + index * 8)
            bits |= word
            isBelow = word < order[index] || (word == order[index] && isBelow)
        }
        return bits != 0 && isBelow
    }

    var r: Span<UInt8> { @_lifetime(borrow self) get { octets.span.extracting(0..<32) } }
    var s: Span<UInt8> { @_lifetime(borrow self) get { octets.span.extracting(32..<64) } }

    /// The signature as in a JWS: base64url.
    var text: String { String(decoding: Base64URL.encode(octets.span), as: UTF8.self) }

    /// Writes `SEQUENCE { r INTEGER, s INTEGER }`, the form that EVP expects.
    func encode(into der: inout ES256DER) {
        der.count = 2
        der.append(integer: r)
        der.append(integer: s)
        der.octets[0] = 0x30
        der.octets[1] = UInt8(der.count - 2)
    }
}

/// A DER signature in inline storage: at most two INTEGERs of 33 octets and three headers of two.
struct ES256DER {
    fileprivate(set) var octets = [72 of UInt8](repeating: 0)
    fileprivate(set) var count = 0

    var bytes: Span<UInt8> { @_lifetime(borrow self) get { octets.span.extracting(0..<count) } }

    /// - Parameter magnitude: Big-endian and not zero.
    fileprivate mutating func append(integer magnitude: Span<UInt8>) {
        var first = 0
        while magnitude[first] == 0 { first += 1 }
        let needsSign = magnitude[first] & 0x80 != 0
        append(Tag.integer.rawValue)
        append(UInt8(magnitude.count - first + (needsSign ? 1 : 0)))
        if needsSign { append(0) }
        for index in first..<magnitude.count { append(magnitude[index]) }
    }

    private mutating func append(_ octet: UInt8) {
        octets[count] = octet
        count += 1
    }
}
