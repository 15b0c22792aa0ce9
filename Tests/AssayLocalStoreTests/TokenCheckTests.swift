import Assay
import AssayBytes
import AssayKeys
import AssayMint
import Testing

@testable import AssayLocalStore

@Suite("local store: tokens")
struct TokenCheckTests {
    private static let now: Int64 = 1_800_000_000

    private static func token(
        _ key: SigningKey, header: String = #"{"alg":"ES256","kid":"KEY","typ":"JWT"}"#,
        claims: String? = nil
    ) throws -> [UInt8] {
        let usual = claims ?? self.claims()
        let head = Base64URL.encode(Array(header.utf8).span)
        let body = Base64URL.encode(Array(usual.utf8).span)
        let signed = head + [0x2E] + body
        let signature = try key.signRaw(signed, digest: .sha256)
        return Array("Bearer ".utf8) + signed + [0x2E] + Base64URL.encode(signature.span)
    }

    private static func claims(
        iss: String = #""ISS""#, iat: Int64? = now, exp: Int64? = now + 1200,
        aud: String = "appstoreconnect-v1", bid: String = "com.example.game"
    ) -> String {
        let times = (iat.map { ",\"iat\":\($0)" } ?? "") + (exp.map { ",\"exp\":\($0)" } ?? "")
        return "{\"iss\":\(iss),\"aud\":\"\(aud)\",\"bid\":\"\(bid)\"\(times)}"
    }

    @Test("a token of a registered key is accepted; its neighbours are refused with the reason")
    func table() throws {
        let key = try SigningKey(generating: .p256)
        let other = try SigningKey(generating: .p256)
        let pem = PEM.encode(key.subjectPublicKeyInfo, label: "PUBLIC KEY")
        let registered = try #require(APIKey(id: "KEY", pem: pem))
        let check = TokenCheck(keys: [registered], issuer: "ISS")
        let now = Self.now
        let cases: [([UInt8]?, TokenRefusal?)] = [
            (try Self.token(key), nil),
            (try Self.token(key, claims: Self.claims(iat: nil)), nil),
            (try Self.token(key, claims: Self.claims(iat: now + 1)), .notYet),
            (try Self.token(key, claims: Self.claims(iat: now, exp: now + 3600)), nil),
            (try Self.token(key, claims: Self.claims(iat: now - 100, exp: now - 59)), nil),
            (nil, .missing), (Array("Bearer".utf8), .missing),
            (Array("Basic abc".utf8), .missing),
            (Array("Bearer ".utf8) + [UInt8](repeating: 0x41, count: 9000), .missing),
            (Array("Bearer a.b".utf8), .malformed), (Array("Bearer a.b.c.d".utf8), .malformed),
            (try Self.token(key, header: "[]"), .malformed),
            (try Self.token(key, claims: "[]"), .malformed),
            (try Self.token(key, header: #"{"alg":"none","kid":"KEY"}"#), .algorithm),
            (try Self.token(key, header: #"{"alg":"HS256","kid":"KEY"}"#), .algorithm),
            (try Self.token(key, header: #"{"alg":"ES256"}"#), .noKeyId),
            (try Self.token(key, header: #"{"alg":"ES256","kid":"OTHER"}"#), .unknownKey),
            (try Self.token(other), .signature),
            (try Self.token(key).dropLast(2) + Array("AA".utf8), .signature),
            (try Self.token(key, claims: Self.claims(aud: "other")), .audience),
            (try Self.token(key, claims: Self.claims(iss: #""OTHER""#)), .issuer),
            (try Self.token(key, claims: Self.claims(iss: "5")), .issuer),
            (try Self.token(key, claims: Self.claims(exp: nil)), .expired),
            (try Self.token(key, claims: Self.claims(exp: now - 60)), .expired),
            (try Self.token(key, claims: Self.claims(iat: now + 61)), .notYet),
            (try Self.token(key, claims: Self.claims(iat: now, exp: now + 3601)), .tooLong),
            (try Self.token(key, claims: Self.claims(iat: nil, exp: now + 3661)), .tooLong),
            (try Self.token(key, claims: Self.claims(iat: .min, exp: .max)), .tooLong),
            (try Self.token(key, claims: Self.claims(bid: "")), .noBundle),
        ]
        for (index, (token, refusal)) in cases.enumerated() {
            do throws(TokenRefusal) {
                let bundle = try check.bundleId(of: token, now: now)
                #expect(refusal == nil && bundle == "com.example.game", "case \(index)")
            } catch {
                #expect(error == refusal, "case \(index): \(error.reason)")
            }
        }
    }

    @Test("without a registered key any key is accepted, and all else is checked")
    func anyKey() throws {
        let key = try SigningKey(generating: .p256)
        let check = TokenCheck(keys: [], issuer: nil)
        #expect(check.acceptsAnyKey)
        let bundle = try check.bundleId(of: Self.token(key), now: Self.now)
        #expect(bundle == "com.example.game")
        #expect(throws: TokenRefusal.expired) {
            try check.bundleId(of: Self.token(key), now: Self.now + 5000)
        }
        #expect(throws: TokenRefusal.signature) {
            try check.bundleId(of: Self.token(key).dropLast(6), now: Self.now)
        }
    }

    @Test("a key file is a .p8 or a public key of P-256")
    func files() throws {
        let key = try SigningKey(generating: .p256)
        let p8 = PEM.encode(try key.pkcs8(), label: "PRIVATE KEY")
        #expect(APIKey(id: "K", pem: p8) != nil)
        let large = try SigningKey(generating: .p384)
        #expect(APIKey(id: "K", pem: PEM.encode(try large.pkcs8(), label: "PRIVATE KEY")) == nil)
        let info = PEM.encode(large.subjectPublicKeyInfo, label: "PUBLIC KEY")
        #expect(APIKey(id: "K", pem: info) == nil)
        var off = key.subjectPublicKeyInfo
        off[off.count - 1] ^= 1
        #expect(APIKey(id: "K", pem: PEM.encode(off, label: "PUBLIC KEY")) == nil)
        #expect(APIKey(id: "K", pem: Array("nothing".utf8)) == nil)
    }
}
