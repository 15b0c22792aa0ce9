import AssayBytes

/// What a key's public operation yields for a signature that does not verify. It decides nothing:
/// it says which mistake was made.
enum OpenedSignature: Equatable {
    /// Well-formed PKCS #1 v1.5: this key signed a text, with this digest. The digest is nil if it
    /// is by an algorithm that no store uses.
    case pkcs1(DigestAlgorithm?, digest: [UInt8])
    /// Well-formed PSS: this key signed a text.
    case pss
    /// No known form: another key signed, or the signature was changed.
    case unknown

    /// - Parameter bits: the size of the modulus.
    init(_ message: [UInt8], bits: Int) {
        if let info = Self.digestInfo(message) {
            for algorithm in [DigestAlgorithm.sha1, .sha256]
            where info.count == algorithm.digestInfoHead.count + algorithm.octets
                && info.starts(with: algorithm.digestInfoHead)
            {
                self = .pkcs1(algorithm, digest: Array(info.suffix(algorithm.octets)))
                return
            }
            self = .pkcs1(nil, digest: [])
            return
        }
        self = Self.isPSS(message, bits: bits) ? .pss : .unknown
    }

    /// What follows full padding (RFC 8017, section 9.2), and begins like DER.
    private static func digestInfo(_ message: [UInt8]) -> ArraySlice<UInt8>? {
        guard message.starts(with: [0, 1]) else { return nil }
        let rest = message.dropFirst(2).drop { $0 == 0xFF }
        guard rest.startIndex >= 2 + shortestPadding, rest.first == 0 else { return nil }
        let info = rest.dropFirst()
        return info.first == Tag.sequence.rawValue ? info : nil
    }

    /// RFC 8017, section 9.2: eight octets at least.
    private static let shortestPadding = 8

    /// Whether the masked block of PSS with SHA-256 is one (RFC 8017, section 9.1.2, steps 4 to
    /// 10), with a salt of any length.
    private static func isPSS(_ message: [UInt8], bits: Int) -> Bool {
        let size = DigestAlgorithm.sha256.octets
        guard bits % 8 == 0, message.count > size + 2, message.last == 0xBC,
            message[0] & 0x80 == 0
        else { return false }
        let masked = message[..<(message.count - size - 1)]
        let seed = Array(message[masked.endIndex...].prefix(size))
        var block = zip(masked, mask(seed, count: masked.count)).map { $0 ^ $1 }
        block[0] &= 0x7F
        return block.first { $0 != 0 } == 1
            && block.prefix { $0 == 0 }.count >= shortestZeros
    }

    /// A random block passes with a probability of 2^-72.
    private static let shortestZeros = 8

    /// MGF1 with SHA-256 (RFC 8017, appendix B.2.1).
    private static func mask(_ seed: [UInt8], count: Int) -> [UInt8] {
        var mask: [UInt8] = []
        var counter: UInt32 = 0
        while mask.count < count {
            let number = (0..<4).map { UInt8(truncatingIfNeeded: counter >> (24 - 8 * $0)) }
            mask += SHA256.digest((seed + number).span).octets.span.array
            counter += 1
        }
        return Array(mask.prefix(count))
    }
}

extension RSAPublicKey {
    /// What this key makes of a signature that does not verify.
    func opened(_ signature: Span<UInt8>) -> OpenedSignature {
        encodedMessage(of: signature).map { OpenedSignature($0, bits: bits) } ?? .unknown
    }
}
