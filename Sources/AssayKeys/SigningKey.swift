import COpenSSL

/// A private key: of development certificates and evidence, and of calls to the App Store.
///
/// Owns one `EVP_PKEY`, which is immutable after `init`. OpenSSL allows concurrent signing with
/// one key, each call with its own context.
@safe
package final class SigningKey: @unchecked Sendable {
    private let key: OpaquePointer
    /// A context that is ready to sign with an EC key, and never signs itself: a copy of it costs
    /// less than a new one, for which OpenSSL searches its algorithms. Nil for RSA.
    private let prepared: OpaquePointer?
    /// The DER SubjectPublicKeyInfo (RFC 5280, 4.1).
    package let subjectPublicKeyInfo: [UInt8]
    /// The octets of subjectPublicKey: the uncompressed point, or the DER RSAPublicKey.
    package let publicKey: [UInt8]
    /// The octets of r (and of s) in a raw ECDSA signature; 0 for RSA.
    package let coordinateSize: Int

    /// The key type: a curve, or RSA with a modulus size.
    package enum Kind: Sendable, Hashable {
        case p256, p384, p521
        case rsa(bits: Int)

        fileprivate var groupName: String? {
            switch self {
            case .p256: "P-256"
            case .p384: "P-384"
            case .p521: "P-521"
            case .rsa: nil
            }
        }
    }

    /// The digest of a signature.
    package enum Digest: Sendable, Hashable, CaseIterable {
        case sha1, sha256, sha384, sha512

        fileprivate var algorithm: OpaquePointer {
            switch self {
            case .sha1: unsafe EVP_sha1()
            case .sha256: unsafe EVP_sha256()
            case .sha384: unsafe EVP_sha384()
            case .sha512: unsafe EVP_sha512()
            }
        }
    }

    /// Takes ownership of `key`.
    private init(owning key: OpaquePointer) throws(SigningKeyError) {
        unsafe self.key = key
        let encoded = unsafe SigningKey.publicKeyInfo(key)
        guard let encoded, let content = SigningKey.bitString(ofPublicKeyInfo: encoded) else {
            unsafe EVP_PKEY_free(key)
            throw .notAKey
        }
        subjectPublicKeyInfo = encoded
        publicKey = content
        let isEC = unsafe EVP_PKEY_get_base_id(key) == EVP_PKEY_EC
        unsafe prepared = isEC ? SigningKey.prepare(key) : nil
        let bits = unsafe Int(EVP_PKEY_get_bits(key))
        coordinateSize = isEC ? (bits + 7) / 8 : 0
    }

    deinit {
        unsafe EVP_PKEY_CTX_free(prepared)
        unsafe EVP_PKEY_free(key)
    }

    private static func prepare(_ key: OpaquePointer) -> OpaquePointer? {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        if unsafe EVP_PKEY_sign_init(context) == 1 { return unsafe context }
        unsafe EVP_PKEY_CTX_free(context)
        ERR_clear_error()
        return nil
    }

    /// Generates a random key.
    package convenience init(generating kind: Kind) throws(SigningKeyError) {
        let name = kind.groupName == nil ? "RSA" : "EC"
        let context = unsafe EVP_PKEY_CTX_new_from_name(nil, name, nil)
        defer { unsafe EVP_PKEY_CTX_free(context) }
        guard unsafe EVP_PKEY_keygen_init(context) == 1 else { throw .generationFailed }
        let configured =
            switch kind {
            case .rsa(let bits): unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, Int32(bits))
            default: unsafe EVP_PKEY_CTX_set_group_name(context, kind.groupName)
            }
        var made: OpaquePointer?
        guard configured == 1, unsafe EVP_PKEY_generate(context, &made) == 1,
            let key = unsafe made
        else {
            ERR_clear_error()
            throw .generationFailed
        }
        try unsafe self.init(owning: key)
    }

    /// Reads a key from unencrypted PKCS#8 (or SEC 1, PKCS#1), in PEM or DER.
    package convenience init(encoded: [UInt8]) throws(SigningKeyError) {
        var made: OpaquePointer?
        let selection = OSSL_KEYMGMT_SELECT_KEYPAIR | OSSL_KEYMGMT_SELECT_ALL_PARAMETERS
        let context = unsafe OSSL_DECODER_CTX_new_for_pkey(
            &made, nil, nil, nil, selection, nil, nil)
        defer { unsafe OSSL_DECODER_CTX_free(context) }
        // Never prompts for a passphrase on a terminal: rejects encrypted keys.
        _ = unsafe OSSL_DECODER_CTX_set_pem_password_cb(context, { _, _, _, _ in -1 }, nil)
        let decoded = unsafe encoded.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            var left = bytes.count
            return unsafe OSSL_DECODER_from_data(context, &next, &left)
        }
        guard decoded == 1, let key = unsafe made else {
            unsafe EVP_PKEY_free(made)
            ERR_clear_error()
            throw .notAKey
        }
        try unsafe self.init(owning: key)
    }

    /// Returns the unencrypted DER PrivateKeyInfo of PKCS#8 (RFC 5958).
    package func pkcs8() throws(SigningKeyError) -> [UInt8] {
        let info = unsafe EVP_PKEY2PKCS8(key)
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        var data: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PKCS8_PRIV_KEY_INFO(info, &data)
        guard let der = unsafe SigningKey.take(data, count) else { throw .notAKey }
        return der
    }

    /// The key identifier of RFC 5280, 4.2.1.2 (1): SHA-1 of the public key's octets.
    package var keyIdentifier: [UInt8] { SigningKey.hash(publicKey, .sha1) }

    /// Signs bytes. Returns an ECDSA signature in DER, or an RSA PKCS#1 v1.5 signature.
    package func sign(_ bytes: [UInt8], digest: Digest) throws(SigningKeyError) -> [UInt8] {
        try sign(bytes, digest: digest, salt: nil)
    }

    /// Signs bytes by RSASSA-PSS with SHA-256.
    ///
    /// - Parameter salt: the length of the salt; 32 octets is the usual one.
    package func signPSS(_ bytes: [UInt8], salt: Int32 = 32) throws(SigningKeyError) -> [UInt8] {
        try sign(bytes, digest: .sha256, salt: salt)
    }

    private func sign(
        _ bytes: [UInt8], digest: Digest, salt: Int32?
    ) throws(SigningKeyError) -> [UInt8] {
        let context = unsafe EVP_MD_CTX_new()
        defer { unsafe EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        var isReady =
            unsafe EVP_DigestSignInit(context, &keyContext, digest.algorithm, nil, key) == 1
        if let salt, isReady {
            let padding = unsafe EVP_PKEY_CTX_set_rsa_padding(keyContext, RSA_PKCS1_PSS_PADDING)
            isReady =
                unsafe padding == 1 && EVP_PKEY_CTX_set_rsa_pss_saltlen(keyContext, salt) == 1
        }
        guard isReady else {
            ERR_clear_error()
            throw .signingFailed
        }
        var status: Int32 = 0
        let capacity = unsafe Int(EVP_PKEY_get_size(key))
        let signature = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = capacity
            status = unsafe EVP_DigestSign(
                context, buffer.baseAddress, &count, bytes, bytes.count)
            if status != 1 { count = 0 }
        }
        guard status == 1 else {
            ERR_clear_error()
            throw .signingFailed
        }
        return signature
    }

    /// Signs bytes and returns an ECDSA signature in JWS form (RFC 7518, 3.4): r and s, each of
    /// the curve's size.
    package func signRaw(_ bytes: [UInt8], digest: Digest) throws(SigningKeyError) -> [UInt8] {
        try raw(sign(bytes, digest: digest))
    }

    /// Signs the SHA-256 of bytes, and returns an ECDSA signature in DER.
    package func signSHA256(_ bytes: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        let digest = unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            let status = unsafe EVP_Digest(
                bytes, bytes.count, buffer.baseAddress, nil, SigningKey.sha256, nil)
            count = status == 1 ? 32 : 0
        }
        return try sign(digest: digest.span)
    }

    /// Signs the SHA-256 of bytes, and returns an ECDSA signature in JWS form.
    package func signRawSHA256(_ bytes: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        try raw(signSHA256(bytes))
    }

    /// SHA-256, found once: `EVP_sha256()` is looked up in each use.
    private nonisolated(unsafe) static let sha256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    /// Signs a digest and returns an ECDSA signature in JWS form.
    package func signRaw(digest octets: Span<UInt8>) throws(SigningKeyError) -> [UInt8] {
        try raw(sign(digest: octets))
    }

    /// Signs a digest and returns an ECDSA signature in DER.
    private func sign(digest octets: Span<UInt8>) throws(SigningKeyError) -> [UInt8] {
        guard let prepared = unsafe prepared, octets.count > 0,
            let context = unsafe EVP_PKEY_CTX_dup(prepared)
        else {
            ERR_clear_error()
            throw .signingFailed
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        let capacity = unsafe Int(EVP_PKEY_get_size(key))
        let encoded = unsafe [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
            count = capacity
            let status = unsafe octets.withUnsafeBufferPointer { hash in
                unsafe EVP_PKEY_sign(
                    context, buffer.baseAddress, &count, hash.baseAddress, hash.count)
            }
            if status != 1 { count = 0 }
        }
        guard !encoded.isEmpty else {
            ERR_clear_error()
            throw .signingFailed
        }
        return encoded
    }

    /// Converts a DER ECDSA signature to r and s.
    private func raw(_ encoded: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        let size = coordinateSize
        let parsed: OpaquePointer? = unsafe encoded.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe d2i_ECDSA_SIG(nil, &next, buffer.count)
        }
        defer { unsafe ECDSA_SIG_free(parsed) }
        guard size > 0, let signature = unsafe parsed else {
            ERR_clear_error()
            throw .signingFailed
        }
        return unsafe [UInt8](unsafeUninitializedCapacity: 2 * size) { buffer, count in
            let start = buffer.baseAddress!
            unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, Int32(size))
            unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + size, Int32(size))
            count = 2 * size
        }
    }

    /// Returns the digest of bytes.
    package static func hash(_ bytes: [UInt8], _ digest: Digest) -> [UInt8] {
        let algorithm = unsafe digest.algorithm
        let size = unsafe Int(EVP_MD_get_size(algorithm))
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            let status = unsafe EVP_Digest(
                bytes, bytes.count, buffer.baseAddress, nil, algorithm, nil)
            count = status == 1 ? size : 0
        }
    }
}

/// The errors of creating, reading or using a private key.
package enum SigningKeyError: Error, Equatable {
    /// OpenSSL does not support the curve or key size.
    case generationFailed
    /// Not an unencrypted private key in PEM or DER.
    case notAKey
    /// The key is too small for the digest, or is RSA where a raw signature was requested.
    case signingFailed
}

/// Returns bytes of OpenSSL's random generator, or an empty array if the system has no
/// randomness.
package func randomBytes(_ count: Int) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        let status = unsafe RAND_bytes(buffer.baseAddress, Int32(count))
        filled = status == 1 ? count : 0
    }
}

extension SigningKey {
    private static func publicKeyInfo(_ key: OpaquePointer) -> [UInt8]? {
        var data: UnsafeMutablePointer<UInt8>?
        let count = unsafe i2d_PUBKEY(key, &data)
        return unsafe take(data, count)
    }

    /// Copies octets that an `i2d_` function allocated, then clears and frees them: they can be
    /// private.
    private static func take(_ data: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> [UInt8]? {
        guard count > 0, let data = unsafe data else {
            ERR_clear_error()
            return nil
        }
        defer { unsafe CRYPTO_clear_free(data, Int(count), nil, 0) }
        return unsafe [UInt8](UnsafeBufferPointer(start: data, count: Int(count)))
    }

    /// Returns the BIT STRING's octets of SEQUENCE { AlgorithmIdentifier, BIT STRING } as OpenSSL
    /// writes it.
    private static func bitString(ofPublicKeyInfo der: [UInt8]) -> [UInt8]? {
        func content(at start: Int) -> Range<Int>? {
            guard start + 2 <= der.count else { return nil }
            let first = Int(der[start + 1])
            let octets = first < 0x80 ? 0 : first & 0x7F
            guard start + 2 + octets <= der.count, octets <= 2 else { return nil }
            let long = der[(start + 2)..<(start + 2 + octets)].reduce(0) { $0 << 8 | Int($1) }
            let from = start + 2 + octets
            let to = from + (octets == 0 ? first : long)
            return to <= der.count ? from..<to : nil
        }
        guard let outer = content(at: 0), let algorithm = content(at: outer.lowerBound),
            let bits = content(at: algorithm.upperBound), bits.count > 1
        else { return nil }
        return Array(der[bits.dropFirst()])
    }
}
