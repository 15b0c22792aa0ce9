import AssayBytes
import AssayModels

// The rules for a chain of leaf, intermediate and pinned root, in the order of the checks (RFC
// 5280, section 6.1, narrowed to the shape of Apple's chains). Signatures are checked elsewhere;
// none of these rules costs a public-key operation.

/// The position of a certificate in the chain, for messages.
package enum ChainPosition: String, Sendable {
    case leaf
    case intermediate
    case root
}

/// The candidates that pass the check. If none passes, throws the first refusal. One unusable
/// anchor does not block the others.
func passing<Candidate>(
    _ candidates: [Candidate], _ check: (Candidate) throws(Refusal) -> Void
) throws(Refusal) -> [Candidate] {
    var passing: [Candidate] = []
    var first: Refusal?
    for candidate in candidates {
        do throws(Refusal) {
            try check(candidate)
            passing.append(candidate)
        } catch {
            first = first ?? error
        }
    }
    if let first, passing.isEmpty { throw first }
    return passing
}

extension Certificate {
    /// Parses one certificate of a chain.
    static func parse(_ der: [UInt8], as position: ChainPosition) throws(Refusal) -> Certificate {
        do throws(CertificateError) {
            return try Certificate(der: der)
        } catch {
            throw Refusal(
                .malformed,
                "the \(position.rawValue) certificate is not valid DER: "
                    + error.description)
        }
    }

    /// Checks the rules that leaf and intermediate share.
    func checkForm(as position: ChainPosition) throws(Refusal) {
        let name = position.rawValue
        guard version == 3 else {
            throw Refusal(.invalidChain, "the \(name) is an X.509 v\(version) certificate, not v3")
        }
        if case .contradictory = signatureAlgorithm {
            throw Refusal(
                .invalidChain,
                "the \(name) names one signature algorithm inside the signed part and another "
                    + "outside")
        }
        if let extensionName = extensions.unknownCritical {
            throw Refusal(
                .invalidChain, "the \(name) has the unknown critical extension \(extensionName)")
        }
    }

    /// Checks that this certificate is allowed to sign certificates (RFC 5280, section 6.1.4, k
    /// to n).
    func checkIssues(as position: ChainPosition, certificatesBelow: Int64) throws(Refusal) {
        let name = position.rawValue
        guard let constraints = extensions.basicConstraints, constraints.isCA else {
            throw Refusal(.invalidChain, "the \(name) is not a certificate authority")
        }
        if let usage = extensions.keyUsage, !usage.contains(.keyCertSign) {
            throw Refusal(.invalidChain, "the key usage of the \(name) lacks keyCertSign")
        }
        if let limit = constraints.pathLength, limit < certificatesBelow {
            throw Refusal(
                .invalidChain,
                "the path length \(limit) of the \(name) is too small for its position "
                    + "in the chain")
        }
    }

    /// Checks that this is an end-entity certificate that is allowed to sign messages.
    func checkSignsMessages() throws(Refusal) {
        guard extensions.basicConstraints?.isCA != true else {
            throw Refusal(.invalidChain, "the leaf is a certificate authority")
        }
        if let usage = extensions.keyUsage, !usage.contains(.digitalSignature) {
            throw Refusal(.invalidChain, "the key usage of the leaf lacks digitalSignature")
        }
    }

    /// Checks the purpose of this certificate by Apple's marker extension.
    func checkMarker(
        _ marker: CertificateExtensions.Markers, as position: ChainPosition
    ) throws(Refusal) {
        guard extensions.markers.contains(marker) else {
            throw Refusal(
                .wrongCertificatePurpose,
                "the \(position.rawValue) lacks "
                    + "\(marker == .harmonySigning ? "Huawei" : "Apple")'s extension \(marker.name)"
            )
        }
    }

    /// The digest of an ECDSA signature. StoreKit 2 chains allow no other algorithm.
    func ecdsaDigest(as position: ChainPosition) throws(Refusal) -> ECDSADigest {
        guard let digest = signatureAlgorithm.ecdsaDigest else {
            throw signatureAlgorithm.refusal(as: position)
        }
        return digest
    }

    /// The digest of an RSA signature. Receipt chains allow no other algorithm.
    @discardableResult
    func rsaDigest(as position: ChainPosition) throws(Refusal) -> DigestAlgorithm {
        guard let digest = signatureAlgorithm.rsaDigest else {
            throw signatureAlgorithm.refusal(as: position)
        }
        return digest
    }

    func checkKey(_ position: ChainPosition, isOn curves: [SubjectPublicKey.Curve])
        throws(Refusal)
    {
        switch publicKey.kind {
        case .ec(let curve, _) where curves.contains(curve): return
        case .ec(let curve, _):
            throw Refusal(
                .unsupportedAlgorithm, "the \(position.rawValue) key is on \(curve.name)")
        case .rsa:
            throw Refusal(.unsupportedAlgorithm, "the \(position.rawValue) key is an RSA key")
        case .unsupported(let what):
            throw Refusal(.unsupportedAlgorithm, "the \(position.rawValue) key is \(what)")
        }
    }

    var window: CertificateWindow {
        CertificateWindow(notBefore: notBefore, notAfter: notAfter)
    }

    func checkValidity(at seconds: Int64, as position: ChainPosition) throws(Refusal) {
        try window.check(at: seconds, as: position)
    }

    /// The public key for OpenSSL, or nil for other key types and for points off the curve.
    var ecKey: PublicKey? {
        guard case .ec(let curve, let point) = publicKey.kind else { return nil }
        return .ec(curve, point: der.span.extracting(point))
    }

    /// Whether `key` made this certificate's signature.
    func isSigned(
        by key: PublicKey, digest: ECDSADigest, tables: IssuerTables = .none
    ) -> Bool {
        tables.verifies(
            der.span.extracting(signature), over: der.span.extracting(tbsCertificate),
            digest: digest, by: key)
    }

    var fingerprint: SHA256Digest { SHA256.digest(der.span) }
}

extension SignatureAlgorithm {
    var ecdsaDigest: ECDSADigest? {
        switch self {
        case .ecdsaWithSHA256: .sha256
        case .ecdsaWithSHA384: .sha384
        default: nil
        }
    }

    var rsaDigest: DigestAlgorithm? {
        switch self {
        case .sha1WithRSAEncryption: .sha1
        case .sha256WithRSAEncryption: .sha256
        default: nil
        }
    }

    /// The refusal of a signature with the wrong key type.
    fileprivate func refusal(as position: ChainPosition) -> Refusal {
        let name = position.rawValue
        return switch self {
        case .ecdsaWithSHA256, .ecdsaWithSHA384:
            Refusal(.unsupportedAlgorithm, "the \(name) is signed with ECDSA, not RSA")
        case .sha1WithRSAEncryption, .sha256WithRSAEncryption:
            Refusal(.unsupportedAlgorithm, "the \(name) is signed with RSA, not ECDSA")
        case .other(let oid):
            Refusal(.unsupportedAlgorithm, "the \(name) is signed with \(oid)")
        case .contradictory:
            Refusal(.invalidChain, "the \(name) has contradictory signature algorithms")
        }
    }
}

/// The validity period of a certificate, in seconds since 1970.
struct CertificateWindow: Sendable {
    let notBefore: Int64
    let notAfter: Int64

    func contains(_ seconds: Int64) -> Bool { seconds >= notBefore && seconds <= notAfter }

    /// Checks validity at the effective date, to the second and inclusive (RFC 5280, section
    /// 4.1.2.5).
    func check(at seconds: Int64, as position: ChainPosition) throws(Refusal) {
        guard contains(seconds) else {
            func text(_ seconds: Int64) -> String {
                CivilTime(secondsSince1970: seconds).rfc3339
            }
            throw Refusal(
                .certificateExpired,
                "the \(position.rawValue) is valid from \(text(notBefore)) to \(text(notAfter)), "
                    + "not at the effective date \(text(seconds))")
        }
    }
}
