import AssayBytes
import AssayIO

/// The content of a key file, in the shapes that people and their tools make of a .p8 file.
///
/// What is unambiguous is accepted: a PEM whose line breaks were lost or written as `\\n`, quotes
/// around it, Base64 of a whole PEM, the Base64 of the key alone, DER. Anything else throws its
/// cause. No error contains a byte of the file.
enum KeyText {
    /// How often a file may be wrapped: Base64 of a quoted PEM has two wrappers.
    private static let wrappers = 3

    private static let begin = Array("-----BEGIN ".utf8)
    private static let end = Array("-----END ".utf8)
    private static let dashes = Array("-----".utf8)

    /// Returns the DER of a private key. The caller clears it.
    static func der(_ content: [UInt8]) throws(StoreError) -> [UInt8] {
        guard !isDER(content) else {
            guard isKey(content) else { throw unusable(publicDER) }
            return content
        }
        var text = content
        defer { PrivateFile.clear(&text) }
        for _ in 0..<wrappers {
            var inner = unwrapped(text)
            defer { PrivateFile.clear(&inner) }
            guard !inner.isEmpty else { throw unusable("it is empty: download the key again") }
            if let found = inner.firstRange(of: begin) {
                return try der(ofPEM: inner[found.lowerBound...])
            }
            try checkForeign(inner)
            // A Base64 text of a PEM, or of the key alone.
            guard var decoded = decoded(inner[...]) else {
                throw unusable(
                    "it has no private key: name the .p8 file of App Store Connect, with its line "
                        + "BEGIN PRIVATE KEY")
            }
            defer { PrivateFile.clear(&decoded) }
            guard !isDER(decoded) else {
                guard isKey(decoded) else { throw unusable(publicDER) }
                return decoded
            }
            text = decoded
        }
        throw unusable(
            "it is encoded more than once: name the .p8 file as App Store Connect gave it out")
    }

    // MARK: PEM

    /// Returns the DER of a PEM text that begins with its first line, whatever its line breaks
    /// are.
    private static func der(ofPEM text: ArraySlice<UInt8>) throws(StoreError) -> [UInt8] {
        let afterBegin = text.dropFirst(begin.count)
        guard let labelEnd = afterBegin.firstRange(of: dashes) else {
            throw unusable("its first line is cut off: download the key again")
        }
        try check(label: String(decoding: afterBegin[..<labelEnd.lowerBound], as: UTF8.self))
        let body = afterBegin[labelEnd.upperBound...]
        guard let bodyEnd = body.firstRange(of: end) else {
            throw unusable("its END line is missing, so it is cut off: download the key again")
        }
        let digits = body[..<bodyEnd.lowerBound]
        guard digits.firstRange(of: Array("ENCRYPTED".utf8)) == nil else {
            throw unusable(encrypted)
        }
        guard let der = decoded(digits), isDER(der) else {
            throw unusable(
                "the text between its BEGIN and END lines is not Base64 of a key: it was changed "
                    + "or cut, so download the key again")
        }
        return der
    }

    private static func check(label: String) throws(StoreError) {
        switch label {
        case "PRIVATE KEY", "EC PRIVATE KEY": return
        case "ENCRYPTED PRIVATE KEY": throw unusable(encrypted)
        case "CERTIFICATE", "TRUSTED CERTIFICATE": throw unusable(certificate)
        case "PUBLIC KEY":
            throw unusable("it is a public key, which can't sign: name the .p8 file")
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST":
            throw unusable("it is a certificate request, not a key: name the .p8 file")
        case "EC PARAMETERS":
            throw unusable(
                "it begins with the parameters of a curve: remove all before BEGIN EC PRIVATE KEY")
        default:
            throw unusable(
                "it is a PEM of another kind, not a PRIVATE KEY: name the .p8 file of App Store "
                    + "Connect")
        }
    }

    private static let encrypted =
        "the key is encrypted: write it without a passphrase (openssl pkcs8 -in FILE -out KEY.p8)"
    private static let publicDER =
        "it is a certificate, a public key or an encrypted key, none of which can sign: name the "
        + ".p8 file of App Store Connect"
    private static let certificate =
        "it is a certificate, which has no private key: name the .p8 file of App Store Connect"

    // MARK: Other files

    private static func checkForeign(_ text: [UInt8]) throws(StoreError) {
        if text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) {
            throw unusable("it is UTF-16 text: save it as UTF-8, or download the key again")
        }
        switch text[0] {
        case UInt8(ascii: "<"):
            throw unusable(
                "it is a page of HTML or XML, as a download without a sign-in gives: download the "
                    + "key in App Store Connect again")
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            throw unusable("it is JSON: name a file with the .p8 text alone")
        default: return
        }
    }

    /// SEQUENCE of a definite length that fills the file.
    private static func isDER(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 4, bytes[0] == 0x30 else { return false }
        switch bytes[1] {
        case 0x00..<0x80: return bytes.count == Int(bytes[1]) + 2
        case 0x81: return bytes.count == Int(bytes[2]) + 3
        case 0x82: return bytes.count == Int(bytes[2]) << 8 + Int(bytes[3]) + 4
        default: return false
        }
    }

    /// A private key begins with the INTEGER of its version; a certificate, a public key and an
    /// encrypted key with a SEQUENCE.
    private static func isKey(_ der: [UInt8]) -> Bool {
        let length = der[1] < 0x80 ? 2 : 2 + Int(der[1] & 0x7F)
        return der[length] == 0x02
    }

    // MARK: Wrappers

    /// The text without a byte order mark, white space and quotes around it, and with its line
    /// breaks where they were escaped.
    private static func unwrapped(_ text: [UInt8]) -> [UInt8] {
        var rest = text[...]
        if rest.starts(with: [0xEF, 0xBB, 0xBF]) { rest = rest.dropFirst(3) }
        rest = trimmed(rest)
        if let first = rest.first, first == UInt8(ascii: "\"") || first == UInt8(ascii: "'"),
            rest.count > 1, rest.last == first
        {
            rest = trimmed(rest.dropFirst().dropLast())
        }
        // Files do not grow: no copy of a key is left behind.
        var plain: [UInt8] = []
        plain.reserveCapacity(rest.count)
        var index = rest.startIndex
        while index < rest.endIndex {
            let next = index + 1
            if rest[index] == UInt8(ascii: "\\"), next < rest.endIndex,
                rest[next] == UInt8(ascii: "n") || rest[next] == UInt8(ascii: "r")
            {
                plain.append(0x0A)
                index += 2
            } else {
                plain.append(rest[index])
                index += 1
            }
        }
        return Array(trimmed(plain[...]))
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let trimmed = text.drop(while: isSpace)
        guard let last = trimmed.lastIndex(where: { !isSpace($0) }) else { return [] }
        return trimmed[...last]
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || (0x09...0x0D).contains(byte)
    }

    /// Decodes Base64 with any white space in it; nil for anything else.
    private static func decoded(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits = text.filter { !isSpace($0) }
        defer { PrivateFile.clear(&digits) }
        guard !digits.isEmpty else { return nil }
        return try? Base64.decode(digits.span)
    }

    private static func unusable(_ reason: String) -> StoreError { .unusableKey(reason) }
}
