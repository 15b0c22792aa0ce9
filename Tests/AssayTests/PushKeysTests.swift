import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// JWK Sets: what is used of them, and what is none.
@Suite struct PushKeysTests {
    /// The key of a set that has one.
    private static func only(_ set: [UInt8]) -> [UInt8] { Array(set.dropFirst(9).dropLast(2)) }

    private static func key(_ changes: KeyValuePairs<String, String?>) -> String {
        PushFixture.text(Fixture.change(only(PushFixture.minter.jwks), changes))
    }

    private static func set(_ keys: String...) -> [UInt8] {
        Array(#"{"keys":[\#(keys.joined(separator: ","))]}"#.utf8)
    }

    private static func sized(_ bits: Int, named name: String) -> String {
        let minter = StoreMinter(key: StoreFixture.signingKey(bits: bits))
        return PushFixture.text(only(StoreMinter.jwks([(name, minter)])))
    }

    @Test("members of a key, and neighbours that are not used")
    func members() throws {
        let other = Self.key(["kid": #""other""#])
        let cases: [(KeyValuePairs<String, String?>, isUsed: Bool)] = [
            ([:], true), (["use": nil], true), (["alg": nil], true), (["x5t": #""a""#], true),
            (["use": #""enc""#], false), (["alg": #""RS512""#], false), (["kty": #""EC""#], false),
            (["kty": nil], false), (["kid": nil], false), (["kid": #""""#], false),
            (["kid": "7"], false), (["n": nil], false), (["n": #""""#], false),
            (["n": #""AQAB""#], false), (["n": #""+/+/""#], false), (["e": #""Aw""#], false),
            (["e": #""AQAA""#], false), (["e": #""AAEAAQ""#], false), (["e": "65537"], false),
        ]
        for (changes, isUsed) in cases {
            let keys = try PushKeys(Self.set(other, Self.key(changes)))
            #expect(keys.names.count == (isUsed ? 2 : 1), "\(changes)")
        }
    }

    @Test("keys of 512, 1024 and 4096 bits: only the last is used, and the text says why")
    func sizes() throws {
        let cases: [(Int, Verdict, String)] = [
            (512, .unsupportedAlgorithm, "512 bits, at least 2048"),
            (1024, .unsupportedAlgorithm, "1024 bits, at least 2048"), (4096, .valid, ""),
        ]
        for (bits, verdict, part) in cases {
            let minter = StoreMinter(key: StoreFixture.signingKey(bits: bits))
            var policy = PushFixture.policy
            policy.googlePush.keys = try PushKeys(
                Self.set(Self.key([:]), PushFixture.text(Self.only(minter.jwks))))
            let token = try minter.token(PushFixture.claims.json)
            let answer = PushFixture.verify(
                StoreMinter.push(PushFixture.body(), token: token), policy: policy)
            #expect(answer.verdict == verdict, "\(bits): \(answer.detail)")
            #expect(answer.detail.contains(part), "\(bits): \(answer.detail)")
        }
    }

    @Test("texts that are no JWK Set, and sets that say nothing or too much")
    func refused() {
        let key = Self.key([:])
        let many = (0...Limits.pushKeys).map { Self.key(["kid": "\"\($0)\""]) }
        let cases: [([UInt8], String)] = [
            ([], "not a JWK Set"), (Array("{}".utf8), "not a JWK Set"),
            (Array(#"{"keys":{}}"#.utf8), "not a JWK Set"), (Array(key.utf8), "not a JWK Set"),
            (Array(#"{"a":"-----BEGIN CERTIFICATE-----"}"#.utf8), "oauth2/v3/certs"),
            (Self.set(key, key), "two keys"), (Self.set(), "no RSA key"),
            (Self.set(Self.sized(1024, named: "a")), "1024 bits"),
            (Self.set(Self.key(["d": #""AQAB""#])), "private"),
            (Self.set(#"{"kty":"oct","kid":"a","k":"AQAB"}"#), "private"),
            (Array(#"{"keys":[\#(many.joined(separator: ","))]}"#.utf8), "more than"),
            ([UInt8](repeating: 0x20, count: Limits.pushKeysBytes + 1), "not a JWK Set"),
        ]
        for (text, part) in cases {
            do throws(PushKeysError) {
                _ = try PushKeys(text)
                Issue.record("not refused: \(part)")
            } catch {
                #expect(error.description.contains(part), "\(error)")
            }
        }
    }

    @Test("another set counts at once, under the same policy; a bad one changes nothing")
    func replaced() throws {
        let keys = try PushKeys(PushFixture.minter.jwks)
        var policy = PushFixture.policy
        policy.googlePush.keys = keys
        let evidence = PushFixture.evidence()
        #expect(PushFixture.verify(evidence, policy: policy).verdict == .valid)
        #expect(throws: PushKeysError.self) { try keys.replace(Array("{}".utf8)) }
        #expect(PushFixture.verify(evidence, policy: policy).verdict == .valid)
        let next = try StoreMinter()
        try keys.replace(next.jwks)
        #expect(keys.names == [next.keyName])
        #expect(PushFixture.verify(evidence, policy: policy).verdict == .untrustedChain)
        let new = try next.push(PushFixture.body(), PushFixture.claims)
        #expect(PushFixture.verify(new, policy: policy).verdict == .valid)
    }
}
