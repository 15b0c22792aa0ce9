import AssayBytes
import AssayKeys
import AssayMint
import Testing

@testable import AssayStore

@Suite("Shapes of key files")
struct KeyTextTests {
    private static let pem = String(decoding: StoreFixture.shared.keyText, as: UTF8.self)
    private static let lines = pem.split(separator: "\n").map(String.init)
    private static let base64 = lines.dropFirst().dropLast().joined()

    private static func encoded(_ text: String) -> String {
        String(decoding: Base64.encode(Array(text.utf8).span), as: UTF8.self)
    }

    /// The reason of a refusal; nil for a key.
    private static func refusal(_ content: [UInt8]) -> String? {
        do throws(StoreError) {
            _ = try StoreKey(
                encoded: content, keyId: StoreFixture.keyId, issuerId: StoreFixture.issuerId)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("what is unambiguous is the key")
    func accepted() throws {
        let escaped = Self.pem.replacing("\n", with: "\\n")
        let one = Self.lines.joined()
        for (name, text) in [
            ("as it came", Self.pem), ("without the last line break", String(Self.pem.dropLast())),
            ("CRLF", Self.pem.replacing("\n", with: "\r\n")),
            ("CR", Self.pem.replacing("\n", with: "\r")),
            ("indented", Self.lines.map { "  " + $0 }.joined(separator: "\n")),
            ("a byte order mark", "\u{FEFF}" + Self.pem),
            ("space around", "\n\n " + Self.pem + " \n"),
            ("line breaks lost", one),
            ("spaces for line breaks", Self.lines.joined(separator: " ")),
            ("escaped line breaks", escaped),
            ("escaped CRLF", one.replacing("KEY-----", with: "KEY-----\\r\\n")),
            ("quoted", "\"" + Self.pem + "\""), ("quoted and escaped", "'" + escaped + "'"),
            ("Base64 of a PEM", Self.encoded(Self.pem)),
            ("Base64 of an escaped, quoted PEM", Self.encoded("\"" + escaped + "\"")),
            ("Base64 in lines", Self.encoded(Self.pem).replacing("A", with: "A\n")),
            ("the Base64 alone", Self.base64),
            ("text before it", "Bag Attributes\n    friendlyName: x\n" + Self.pem),
        ] {
            #expect(Self.refusal(Array(text.utf8)) == nil, "\(name)")
        }
        let der = try #require(PEM.decode(StoreFixture.shared.keyText, label: "PRIVATE KEY"))
        #expect(Self.refusal(der) == nil, "DER")
    }

    @Test("anything else has its cause, and no byte of the file")
    func refused() throws {
        let authority = StoreFixture.shared.authority
        let certificate = authority.rootCertificate
        let pemCertificate = String(
            decoding: PEM.encode(certificate, label: "CERTIFICATE"), as: UTF8.self)
        func label(_ text: String) -> String { Self.pem.replacing("PRIVATE KEY", with: text) }
        let body = Self.base64
        for (name, text, cause) in [
            ("empty", "", "it is empty"), ("space", " \n\t", "it is empty"),
            ("quotes around nothing", "\"\"", "it is empty"),
            ("encrypted", label("ENCRYPTED PRIVATE KEY"), "without a passphrase"),
            (
                "encrypted, old form",
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00"
                    + "\n\n\(body)\n-----END EC PRIVATE KEY-----\n", "without a passphrase"
            ),
            ("a certificate", pemCertificate, "is a certificate, which has no private key"),
            (
                "Base64 of a certificate",
                String(decoding: Base64.encode(certificate.span), as: UTF8.self),
                "is a certificate, a public key or an encrypted key"
            ),
            ("a public key", label("PUBLIC KEY"), "is a public key"),
            ("a request", label("CERTIFICATE REQUEST"), "is a certificate request"),
            ("another PEM", label("RSA PRIVATE KEY"), "a PEM of another kind"),
            ("HTML", "<!DOCTYPE html><html>Sign in</html>", "a page of HTML"),
            ("JSON", #"{"private_key":"x"}"#, "it is JSON"),
            ("no END line", Self.lines.dropLast().joined(separator: "\n"), "END line is missing"),
            ("half a first line", "-----BEGIN PRIV", "first line is cut off"),
            ("a changed letter", Self.pem.replacing(body.prefix(4), with: "M*GH"), "not Base64"),
            (
                "a lost line", ([Self.lines[0]] + Self.lines[2...]).joined(separator: "\n"),
                "not Base64"
            ),
            ("prose", "this is no key", "line BEGIN PRIVATE KEY"),
            (
                "encoded three times", Self.encoded(Self.encoded(Self.encoded(Self.pem))),
                "encoded more than once"
            ),
        ] as [(String, String, String)] {
            let reason = Self.refusal(Array(text.utf8)) ?? "accepted"
            #expect(reason.contains(cause), "\(name): \(reason)")
            for start in stride(from: 0, to: body.utf8.count - 8, by: 4) {
                #expect(!reason.contains(body.dropFirst(start).prefix(8)), "\(name)")
            }
        }
        #expect(Self.refusal(certificate)?.contains("is a certificate") == true)
        let wide = Self.pem.utf8.map { [$0, 0] }.joined()
        #expect(Self.refusal([0xFF, 0xFE] + wide)?.contains("UTF-16") == true)
        var damaged = try #require(PEM.decode(StoreFixture.shared.keyText, label: "PRIVATE KEY"))
        damaged[8] ^= 0xFF
        #expect(Self.refusal(damaged)?.contains("OpenSSL can read") == true)
    }
}
