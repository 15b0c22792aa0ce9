import AssayBytes

/// A public key with which a store signs the purchases of one app: Google Play's licence key, or
/// Huawei's key of an app.
public struct PurchaseKey: Sendable, Equatable {
    /// SHA-256 of the DER SubjectPublicKeyInfo, in lower-case hexadecimal.
    public let fingerprint: String
    /// Bits of the modulus.
    public let bits: Int
    let key: RSAPublicKey
    /// The detail of a valid verdict under this key.
    let acceptance: String

    /// Reads a key as the stores' consoles show it: base64 of a SubjectPublicKeyInfo, with or
    /// without line breaks. PEM and DER are read as well, and a byte order mark is skipped.
    ///
    /// - Parameters:
    ///   - text: the key.
    ///   - allowsLegacySize: whether keys of 1024 bits are accepted.
    public init(_ text: [UInt8], allowsLegacySize: Bool = false) throws(PurchaseKeyError) {
        let der = try Self.der(text)
        let info: SubjectPublicKey
        do throws(DERError) {
            var reader = DERReader(der.span)
            info = try SubjectPublicKey(from: &reader)
            try reader.atEnd()
        } catch {
            throw .notAKey(Self.otherForm(text) ?? error.description)
        }
        guard case .rsa(let modulus, let exponent) = info.kind else { throw .notRSA }
        let smallest = allowsLegacySize ? Limits.legacyRSAKeyBits : Limits.smallestRSAKeyBits
        guard
            let key = RSAPublicKey(
                modulus: der.span.extracting(modulus), exponent: der.span.extracting(exponent),
                smallestBits: smallest)
        else {
            let first = der[modulus].first ?? 0
            throw .unsupportedSize(bits: modulus.count * 8 - first.leadingZeroBitCount)
        }
        self.key = key
        bits = key.bits
        fingerprint = SHA256.digest(der.span).text
        acceptance =
            "signed with the app's key \(fingerprint.prefix(8)), within policy and expectations; "
            + "what happened since is not in it"
    }

    /// The beginning of the fingerprint, for messages.
    var name: String { String(fingerprint.prefix(8)) }

    private static func der(_ text: [UInt8]) throws(PurchaseKeyError) -> [UInt8] {
        // The base64 of a SEQUENCE begins with another character.
        if text.first == Tag.sequence.rawValue { return text }
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let digits = withoutMarks(text.starts(with: mark) ? Array(text.dropFirst(3)) : text)
        guard digits.contains(where: { !$0.isWhiteSpace }) else { throw .notAKey("it is empty") }
        do throws(Base64Error) {
            return try Base64.decodeLenient(digits.span)
        } catch {
            throw .notAKey(otherForm(text) ?? "it is not base64: \(error)")
        }
    }

    /// Names a text that has a key in another form, or another thing.
    private static func otherForm(_ text: [UInt8]) -> String? {
        let head = String(decoding: text.prefix(4096), as: UTF8.self)
        let forms = [
            ("PRIVATE KEY-----", "it is a private key, which has to stay secret"),
            ("BEGIN CERTIFICATE-----", "it is a certificate"),
            (
                "BEGIN RSA PUBLIC KEY-----",
                "it is a key of PKCS #1; openssl rsa -RSAPublicKey_in -pubout converts it"
            ),
            ("<RSAKeyValue>", "it is a key in XML"),
            ("\\n", "it has \\n for its line breaks"),
        ]
        return forms.first { head.contains($0.0) }?.1
    }

    /// A copy without PEM's marks, which need not be lines of their own.
    private static func withoutMarks(_ text: [UInt8]) -> [UInt8] {
        let dashes = Array("-----".utf8)
        var (digits, isMark, index) = ([UInt8](), false, 0)
        while index < text.count {
            if text[index...].starts(with: dashes) {
                isMark.toggle()
                index += dashes.count
            } else {
                if !isMark { digits.append(text[index]) }
                index += 1
            }
        }
        return digits
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.fingerprint == right.fingerprint
    }
}

/// The purchases of another store than Apple's that an operator accepts for one app.
public struct PurchasePolicy: Sendable, Equatable {
    /// The keys, one of which has to have signed. Empty: no purchase is accepted.
    public var keys: [PurchaseKey]
    /// The accepted package names, compared byte for byte. Empty: the policy's bundle id.
    public var packageNames: [String]

    /// Creates a policy. By default it accepts no purchase.
    public init(keys: [PurchaseKey] = [], packageNames: [String] = []) {
        self.keys = keys
        self.packageNames = packageNames
    }
}
