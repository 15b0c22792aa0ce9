import AssayBytes
import AssayLocks
internal import COpenSSL

/// The digests of RSA signatures on receipts and their certificates.
package enum DigestAlgorithm: Sendable, Equatable {
    /// Used by receipts before August 2023, and by some after.
    case sha1
    case sha256

    package var name: String { self == .sha1 ? "SHA-1" : "SHA-256" }
    package var octets: Int { self == .sha1 ? 20 : 32 }
}

/// The scheme of an RSA signature (RFC 8017, section 8).
package enum RSAScheme: Sendable, Equatable {
    /// RSASSA-PKCS1-v1_5.
    case pkcs1(DigestAlgorithm)
    /// RSASSA-PSS with SHA-256, MGF1 with SHA-256 and a salt of 32 octets, as Java's default is.
    case pss

    package var digestAlgorithm: DigestAlgorithm {
        switch self {
        case .pkcs1(let algorithm): algorithm
        case .pss: .sha256
        }
    }

    package var name: String {
        switch self {
        case .pkcs1(let algorithm): "RSASSA-PKCS1-v1_5 with " + algorithm.name
        case .pss: "RSASSA-PSS with SHA-256"
        }
    }

    package func digest(_ message: Span<UInt8>) -> [UInt8] {
        switch digestAlgorithm {
        case .sha1: SHA1.digest(message).octets.span.array
        case .sha256: SHA256.digest(message).octets.span.array
        }
    }
}

/// An RSA public key in OpenSSL's form (RFC 8017, section 8). Read-only after creation, so threads
/// share it.
@safe package final class RSAPublicKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// The modulus of a key with the exponent 65537; nil for others.
    private let modulus: [UInt8]?
    /// The length of the modulus in octets, and so of every signature.
    package let modulusOctets: Int
    package let bits: Int
    private let idle = Locked<[PreparedRSAKey]>([])

    /// Creates a key from big-endian magnitudes without leading zeros. Returns nil unless the
    /// modulus is odd and has `smallestBits` to 4096 bits, and the exponent is odd, at least
    /// 65537 and at most 64 bits long.
    package init?(modulus: Span<UInt8>, exponent: Span<UInt8>, smallestBits: Int) {
        guard modulus.count > 0, modulus[0] != 0, modulus[modulus.count - 1] & 1 == 1,
            (1...8).contains(exponent.count), exponent[0] != 0
        else { return nil }
        bits = modulus.count * 8 - modulus[0].leadingZeroBitCount
        modulusOctets = modulus.count
        var value: UInt64 = 0
        for index in exponent.indices { value = value << 8 | UInt64(exponent[index]) }
        guard (smallestBits...Limits.largestRSAKeyBits).contains(bits), value & 1 == 1,
            value >= Limits.smallestRSAExponent
        else { return nil }
        guard let key = unsafe Self.makeKey(modulus, exponent) else { return nil }
        unsafe self.key = key
        self.modulus = value == PowerOf65537.exponent ? modulus.array : nil
    }

    deinit { unsafe EVP_PKEY_free(key) }

    private static func makeKey(
        _ modulus: Span<UInt8>, _ exponent: Span<UInt8>
    ) -> OpaquePointer? {
        guard let n = unsafe bigNumber(modulus) else { outOfMemory() }
        defer { unsafe BN_free(n) }
        guard let e = unsafe bigNumber(exponent) else { outOfMemory() }
        defer { unsafe BN_free(e) }
        guard let builder = unsafe OSSL_PARAM_BLD_new() else { outOfMemory() }
        defer { unsafe OSSL_PARAM_BLD_free(builder) }
        unsafe precondition(OSSL_PARAM_BLD_push_BN(builder, name("n"), n) == 1)
        unsafe precondition(OSSL_PARAM_BLD_push_BN(builder, name("e"), e) == 1)
        guard let parameters = unsafe OSSL_PARAM_BLD_to_param(builder) else { outOfMemory() }
        defer { unsafe OSSL_PARAM_free(parameters) }
        guard let context = unsafe EVP_PKEY_CTX_new_from_name(nil, "RSA", nil) else {
            outOfMemory()
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        unsafe precondition(EVP_PKEY_fromdata_init(context) == 1)
        guard
            unsafe EVP_PKEY_fromdata(context, &key, Int32(assay_public_key_selection), parameters)
                == 1
        else {
            ERR_clear_error()
            return nil
        }
        return unsafe key
    }

    /// Returns a parameter name for the builder, which keeps the pointer: only a literal lives
    /// long enough.
    private static func name(_ literal: StaticString) -> UnsafePointer<CChar> {
        unsafe UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
    }

    private static func bigNumber(_ magnitude: Span<UInt8>) -> OpaquePointer? {
        unsafe magnitude.withUnsafeBufferPointer { buffer in
            unsafe BN_bin2bn(buffer.baseAddress, Int32(buffer.count), nil)
        }
    }

    /// Verifies a signature over a digest. Accepts only the one strict form of the encoded
    /// message: full padding, DigestInfo with NULL parameters, nothing after it.
    package func verifies(
        signature: Span<UInt8>, overDigest digest: Span<UInt8>, algorithm: DigestAlgorithm
    ) -> Bool {
        verifies(signature: signature, overDigest: digest, .pkcs1(algorithm))
    }

    /// Verifies a signature over a digest by a scheme. A signature by PSS has exactly the salt that
    /// `RSAScheme.pss` names.
    package func verifies(
        signature: Span<UInt8>, overDigest digest: Span<UInt8>, _ scheme: RSAScheme
    ) -> Bool {
        // RFC 8017, section 8.2.2, step 1: the signature is exactly as long as the modulus.
        guard signature.count == modulusOctets, digest.count == scheme.digestAlgorithm.octets
        else { return false }
        let prepared = prepared(for: scheme)
        let verifies = prepared.verifies(signature, overDigest: digest)
        idle.withLock { idle in
            if idle.count < Limits.idleRSAKeys { idle.append(prepared) }
        }
        return verifies
    }

    /// Returns an idle prepared key, or a new one. Preparing costs some microseconds, and a
    /// prepared key is not thread-safe.
    private func prepared(for scheme: RSAScheme) -> PreparedRSAKey {
        let found = idle.withLock { idle in
            idle.lastIndex { $0.scheme == scheme }.map { idle.remove(at: $0) }
        }
        return unsafe found ?? PreparedRSAKey(key, modulus, scheme)
    }

    /// The public operation over a signature: the encoded message that its signer padded. Nil if
    /// the signature is not below the modulus.
    func encodedMessage(of signature: Span<UInt8>) -> [UInt8]? {
        guard signature.count == modulusOctets else { return nil }
        guard let context = unsafe EVP_PKEY_CTX_new(key, nil) else { outOfMemory() }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        unsafe precondition(EVP_PKEY_verify_recover_init(context) == 1)
        unsafe precondition(EVP_PKEY_CTX_set_rsa_padding(context, RSA_NO_PADDING) == 1)
        var message = [UInt8](repeating: 0, count: modulusOctets)
        var count = modulusOctets
        let status = unsafe message.withUnsafeMutableBufferPointer { message in
            unsafe signature.withUnsafeBufferPointer { signature in
                unsafe EVP_PKEY_verify_recover(
                    context, message.baseAddress, &count, signature.baseAddress, signature.count)
            }
        }
        guard status == 1, count == modulusOctets else {
            ERR_clear_error()
            return nil
        }
        return message
    }

    /// Verifies a signature over a message.
    package func verifies(
        signature: Span<UInt8>, over message: Span<UInt8>, algorithm: DigestAlgorithm
    ) -> Bool {
        switch algorithm {
        case .sha1:
            verifies(
                signature: signature, overDigest: SHA1.digest(message).octets.span,
                algorithm: algorithm)
        case .sha256:
            verifies(
                signature: signature, overDigest: SHA256.digest(message).octets.span,
                algorithm: algorithm)
        }
    }
}

/// A key prepared for verification with one scheme. Not thread-safe.
@safe private final class PreparedRSAKey: @unchecked Sendable {
    private enum Method {
        case evp(VerifyContext)
        case power(PowerOf65537)
    }

    private let method: Method
    let scheme: RSAScheme

    /// - Parameter modulus: that of a key with the exponent 65537.
    init(_ key: OpaquePointer, _ modulus: [UInt8]?, _ scheme: RSAScheme) {
        self.scheme = scheme
        if case .pkcs1(let algorithm) = scheme, let modulus {
            method = .power(PowerOf65537(modulus: modulus.span, algorithm))
        } else {
            method = unsafe .evp(Self.context(key, scheme))
        }
    }

    private static func context(_ key: OpaquePointer, _ scheme: RSAScheme) -> VerifyContext {
        let method = unsafe scheme.digestAlgorithm == .sha1 ? RSAMethods.sha1 : RSAMethods.sha256
        let padding = scheme == .pss ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING
        return unsafe VerifyContext(key) { context in
            unsafe precondition(EVP_PKEY_CTX_set_rsa_padding(context, padding) == 1)
            unsafe precondition(EVP_PKEY_CTX_set_signature_md(context, method) == 1)
            guard scheme == .pss else { return }
            unsafe precondition(EVP_PKEY_CTX_set_rsa_mgf1_md(context, method) == 1)
            unsafe precondition(
                EVP_PKEY_CTX_set_rsa_pss_saltlen(context, Int32(RSA_PSS_SALTLEN_DIGEST)) == 1)
        }
    }

    func verifies(_ signature: Span<UInt8>, overDigest digest: Span<UInt8>) -> Bool {
        switch method {
        case .evp(let context): context.verifies(signature, overDigest: digest)
        case .power(let power): power.verifies(signature, overDigest: digest)
        }
    }
}

/// Digest methods, fetched once as for ECDSA.
private enum RSAMethods {
    nonisolated(unsafe) static let sha1 = unsafe EVP_MD_fetch(nil, "SHA1", nil)
    nonisolated(unsafe) static let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)
}
