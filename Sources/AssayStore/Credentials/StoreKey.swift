import AssayBytes
import AssayIO
import AssayKeys

/// A key that signs requests to the App Store Server API, with its identifiers.
///
/// The private key never leaves OpenSSL: no description, error or log has it.
public struct StoreKey: Sendable {
    /// The key's identifier (`kid`), ten letters and digits.
    public let keyId: String
    /// The issuer of App Store Connect (`iss`), a UUID.
    public let issuerId: String
    private let key: SigningKey
    /// The first segment of its tokens, with the period behind it.
    private let header: [UInt8]

    /// Reads the .p8 file that App Store Connect gave out: a P-256 key, PKCS#8 in PEM.
    ///
    /// Refuses a file that others than the process's user may read. The group may, if root owns the
    /// file.
    ///
    /// - Throws: `unusableKey`.
    public init(file: String, keyId: String, issuerId: String) throws(StoreError) {
        // Before the file: its name in the error would point at the wrong mistake.
        try Self.check(keyId: keyId)
        try Self.check(issuerId: issuerId)
        var content: [UInt8]
        do throws(PrivateFile.Failure) {
            content = try PrivateFile.read(file, limit: StoreLimits.keyBytes)
        } catch {
            throw .unusableKey("can't use the key file \(file): \(error)")
        }
        defer { PrivateFile.clear(&content) }
        do throws(StoreError) {
            try self.init(encoded: content, keyId: keyId, issuerId: issuerId)
        } catch {
            guard error.reason == .unusableKey else { throw error }
            throw .unusableKey("can't use the key file \(file): \(error)")
        }
    }

    /// Reads a P-256 key from unencrypted PKCS#8, PEM or DER. A PEM that lost its line breaks, or
    /// that is quoted or encoded once more in Base64, is understood as well.
    ///
    /// - Throws: `unusableKey`.
    public init(encoded: [UInt8], keyId: String, issuerId: String) throws(StoreError) {
        try Self.check(keyId: keyId)
        try Self.check(issuerId: issuerId)
        var der = try KeyText.der(encoded)
        defer { PrivateFile.clear(&der) }
        do throws(SigningKeyError) {
            key = try SigningKey(encoded: der)
        } catch {
            throw .unusableKey(
                "it has no private key that OpenSSL can read: download the .p8 file again")
        }
        guard key.isP256 else {
            throw .unusableKey(
                "its key is not one of P-256, as those of App Store Connect are")
        }
        self.keyId = keyId
        self.issuerId = issuerId
        header = Self.header(keyId)
    }

    /// Makes a key that no App Store knows, for a local server that takes any.
    ///
    /// - Throws: `unusableKey`.
    package static func forLocalServer() throws(StoreError) -> StoreKey {
        do throws(SigningKeyError) {
            return StoreKey(try SigningKey(generating: .p256))
        } catch {
            throw .unusableKey("OpenSSL could not make a key for a local server")
        }
    }

    private init(_ key: SigningKey) {
        keyId = "LOCALSTORE"
        issuerId = "00000000-0000-0000-0000-000000000000"
        self.key = key
        header = Self.header(keyId)
    }

    /// Checks the form of a key id.
    ///
    /// - Throws: `unusableKey`.
    package static func check(keyId: String) throws(StoreError) {
        let isWord = keyId.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"):
                true
            default: false
            }
        }
        guard isWord, keyId.utf8.count == 10 else {
            throw .unusableKey(
                "the key id is not ten letters and digits, such as 2X9R4HXF34: copy it from App "
                    + "Store Connect")
        }
    }

    /// Checks the form of an issuer id.
    ///
    /// - Throws: `unusableKey`.
    package static func check(issuerId: String) throws(StoreError) {
        guard UUIDText.isValid(issuerId) else {
            throw .unusableKey(
                "the issuer id is not a UUID, such as 57246542-96fe-1a63-e053-0824d011072a: copy "
                    + "it from App Store Connect, above the list of keys")
        }
    }

    private static func header(_ keyId: String) -> [UInt8] {
        Base64URL.encode(StoreClaims.header(keyId: keyId).span) + [UInt8(ascii: ".")]
    }

    /// A compact JWS of claims, signed by ES256.
    func token(claims: [UInt8]) throws(StoreError) -> String {
        var text = header
        text += Base64URL.encode(claims.span)
        let signature: [UInt8]
        do throws(SigningKeyError) {
            signature = try key.signRawSHA256(text)
        } catch {
            throw signingFailed
        }
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(signature.span)
        return String(decoding: text, as: UTF8.self)
    }

    /// An ECDSA signature over SHA-256, in DER.
    func signDER(_ text: [UInt8]) throws(StoreError) -> [UInt8] {
        do throws(SigningKeyError) {
            return try key.signSHA256(text)
        } catch {
            throw signingFailed
        }
    }

    private var signingFailed: StoreError {
        .unusableKey("OpenSSL could not sign with the key \(keyId)")
    }
}

extension StoreKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "StoreKey(\(keyId))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["keyId": keyId]) }
}

extension SigningKey {
    /// Whether the AlgorithmIdentifier names P-256: other curves have 32 octets, too.
    fileprivate var isP256: Bool {
        let oid = OID.secp256r1
        let info = subjectPublicKeyInfo
        return coordinateSize == 32
            && info.indices.dropLast(oid.count).contains { start in
                start < 32 && info[start..<start + oid.count].elementsEqual(oid)
            }
    }
}
