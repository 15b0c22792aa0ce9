import AssayBytes

/// An answer of the signature engine that the audit compares with OpenSSL's: for a token or a
/// certificate.
public struct AuditedAnswer: Sendable {
    private let publicKey: PublicKey
    private let digestOctets: [UInt8]
    /// DER.
    private let encoded: [UInt8]
    /// Whether the signature verifies, by the engine; the client got this answer.
    public let holds: Bool
    /// The signature, in base64url: the third part of a token, or the DER form in a certificate.
    public let signature: String

    package init(_ check: ES256Check, holds: Bool) {
        var der = ES256DER()
        check.signature.encode(into: &der)
        publicKey = check.key
        digestOctets = check.digest.octets.span.array
        encoded = der.bytes.array
        self.holds = holds
        signature = check.signature.text
    }

    /// - Parameter signature: DER, from a certificate.
    init(_ key: PublicKey, _ signature: Span<UInt8>, overDigest digest: [UInt8], holds: Bool) {
        publicKey = key
        digestOctets = digest
        encoded = signature.array
        self.holds = holds
        self.signature = String(decoding: Base64URL.encode(signature), as: UTF8.self)
    }

    /// The digest of the signed bytes, in hexadecimal. It names the token or certificate.
    public var digest: String { hexadecimal(digestOctets.span) }
    /// The signer's public key: an uncompressed point, in hexadecimal.
    public var key: String { hexadecimal(publicKey.point.span) }

    /// Whether the signature verifies, by OpenSSL.
    var holdsByOpenSSL: Bool {
        PreparedKey(publicKey).verifies(encoded.span, overDigest: digestOctets.span)
    }
}

/// Chooses the answers of one thread that are audited: about one in `answersPerAudit`, at random
/// positions, so that nobody who sends tokens knows which.
struct AuditSample {
    private let answersPerAudit: Int
    /// Answers before the next one that is audited.
    private var remaining = 0

    init(answersPerAudit: Int = Limits.answersPerAudit) {
        self.answersPerAudit = answersPerAudit
        remaining = gap
    }

    private var gap: Int { Int.random(in: 0..<2 * answersPerAudit) }

    /// Counts the answers of a batch.
    ///
    /// - Returns: the index of the one to audit; nil for none.
    mutating func next(of count: Int) -> Int? {
        guard remaining < count else {
            remaining -= count
            return nil
        }
        defer { remaining = gap }
        return remaining
    }
}
