import Assay
import AssayBytes
import AssayIO
import AssayKeys
import AssayMint
import Foundation
import TestSupport
import Testing

@testable import AssayStore

@Suite("Key and tokens of the App Store Server API")
struct CredentialTests {
    private static let fixture = StoreFixture.shared

    /// Decodes one segment of a token.
    private static func segment(_ token: String, _ index: Int) throws -> [UInt8] {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        try #require(parts.count == 3)
        return try Base64URL.decode(Array(parts[index].utf8).span)
    }

    @Test("a token has Apple's header and claims, says it is a minute old, and ends in 19")
    func claims() throws {
        let source = StoreTokenSource(Self.fixture.key, bundleId: StoreFixture.bundleId)
        let token = try source.token(at: 1_768_435_200)
        let header = try JSONDocument.parse(Self.segment(token.text, 0)).members()
        #expect(
            header.pairs.map { [$0.name, $0.value.string ?? ""] } == [
                ["alg", "ES256"], ["kid", StoreFixture.keyId], ["typ", "JWT"],
            ])
        let claims = try JSONDocument.parse(Self.segment(token.text, 1)).members()
        #expect(claims.pairs.map(\.name) == ["iss", "iat", "exp", "aud", "bid"])
        #expect(claims["iss"]?.string == StoreFixture.issuerId)
        #expect(claims["iat"]?.int64 == 1_768_435_140)
        #expect(claims["exp"]?.int64 == 1_768_436_340)
        #expect(claims["aud"]?.string == "appstoreconnect-v1")
        #expect(claims["bid"]?.string == StoreFixture.bundleId)
    }

    @Test("openssl verifies a token's signature by the public key")
    func signature() throws {
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        let source = StoreTokenSource(Self.fixture.key, bundleId: StoreFixture.bundleId)
        let token = try source.token(at: 1_768_435_200).text
        let raw = try Self.segment(token, 2)
        #expect(raw.count == 64)
        let signed = Array(token.utf8.prefix { _ in true })
        let end = try #require(signed.lastIndex(of: UInt8(ascii: ".")))
        let key = try openssl.file("key.pem", Self.fixture.keyText)
        let message = try openssl.file("message", Array(signed[..<end]))
        let signature = try openssl.file("signature", Self.der(raw))
        let answer = try openssl.run(
            "dgst", "-sha256", "-prverify", key, "-signature", signature, message)
        #expect(answer.status == 0, "\(answer.output)")
        let other = try openssl.file("other", Array(signed[..<end]) + [0x20])
        let refused = try openssl.run(
            "dgst", "-sha256", "-prverify", key, "-signature", signature, other)
        #expect(refused.status == 1)
    }

    /// SEQUENCE { r, s } of 32 octets each.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        func integer(_ octets: ArraySlice<UInt8>) -> [UInt8] {
            var value = Array(octets.drop { $0 == 0 })
            if value[0] & 0x80 != 0 { value.insert(0, at: 0) }
            return [0x02, UInt8(value.count)] + value
        }
        let content = integer(raw.prefix(32)) + integer(raw.suffix(32))
        return [0x30, UInt8(content.count)] + content
    }

    @Test("a token is renewed a minute before its end, and after the clock was set back")
    func renewal() throws {
        let source = StoreTokenSource(Self.fixture.key, bundleId: StoreFixture.bundleId)
        let first = try source.token(at: 1000)
        #expect(try source.token(at: 1000 + 1079).madeAt == 1000)
        #expect(try source.token(at: 1000 + 1080).madeAt == 2080)
        #expect(try source.token(at: 2079).madeAt == 2079)
        source.discard(first)
        #expect(try source.token(at: 2500).madeAt == 2079, "another token than the current one")
        source.discard(try source.token(at: 2500))
        #expect(try source.token(at: 2500).madeAt == 2500)
    }

    // MARK: Files

    private static func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    private static func read(_ path: String) -> StoreError? {
        do throws(StoreError) {
            _ = try StoreKey(
                file: path, keyId: StoreFixture.keyId, issuerId: StoreFixture.issuerId)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "a key file that others may read is refused",
        arguments: [
            (0o600, nil), (0o400, nil), (0o700, nil), (0o640, "mode 640"), (0o604, "mode 604"),
            (0o660, "mode 660"), (0o644, "mode 644"), (0o602, "mode 602"), (0o601, "mode 601"),
        ] as [(Int, String?)])
    func permissions(mode: Int, reason: String?) throws {
        let folder = try ScratchFolder()
        try folder.write(Self.fixture.keyText, to: "key.p8")
        try Self.setMode(mode, of: folder("key.p8"))
        let error = Self.read(folder("key.p8"))?.description
        #expect((error == nil) == (reason == nil), "\(error ?? "accepted")")
        if let reason { #expect(error?.contains(reason) == true, "\(error ?? "")") }
    }

    @Test("the owner is the process's user, or root, which lets the group read")
    func owners() {
        func check(_ owner: UInt32, _ mode: UInt32, user: UInt32) -> PrivateFile.Failure? {
            do throws(PrivateFile.Failure) {
                try PrivateFile.check(owner: owner, mode: mode, user: user)
                return nil
            } catch {
                return error
            }
        }
        #expect(check(1000, 0o600, user: 1000) == nil)
        #expect(check(1000, 0o640, user: 1000) == .isOpenToOthers(mode: 0o640))
        #expect(check(0, 0o640, user: 1000) == nil)
        #expect(check(0, 0o440, user: 1000) == nil)
        #expect(check(0, 0o660, user: 1000) == .isOpenToOthers(mode: 0o660))
        #expect(check(0, 0o644, user: 1000) == .isOpenToOthers(mode: 0o644))
        #expect(check(0, 0o640, user: 0) == .isOpenToOthers(mode: 0o640))
        #expect(check(1001, 0o600, user: 1000) == .hasForeignOwner(user: 1001))
        #expect(check(1001, 0o600, user: 0) == .hasForeignOwner(user: 1001))
    }

    @Test("what is no key of App Store Connect is refused, and the message says why")
    func contents() throws {
        let folder = try ScratchFolder()
        func error(_ content: [UInt8]) throws -> String {
            let path = folder("key.p8")
            try? FileManager.default.removeItem(atPath: path)
            try folder.write(content, to: "key.p8")
            try Self.setMode(0o600, of: path)
            let text = Self.read(path)?.description ?? "accepted"
            if text != "accepted" { #expect(text.contains(path), "\(text)") }
            return text
        }
        func pem(_ kind: SigningKey.Kind) throws -> [UInt8] {
            PEM.encode(try SigningKey(generating: kind).pkcs8(), label: "PRIVATE KEY")
        }
        #expect(try error(Self.fixture.keyText) == "accepted")
        #expect(try error([]).contains("it is empty"))
        #expect(try error(Array("hello".utf8)).contains("BEGIN PRIVATE KEY"))
        #expect(try error(Array(Self.fixture.keyText.dropLast(60))).contains("END line is missing"))
        #expect(try error(pem(.p384)).contains("P-256"))
        #expect(try error(pem(.rsa(bits: 2048))).contains("P-256"))
        #expect(
            try error([UInt8](repeating: 0x20, count: 5000)).contains("longer than 4096 bytes"))
        #expect(Self.read(folder.path)?.description.contains("not a file") == true)
        #expect(Self.read(folder("none"))?.description.contains("no such file") == true)
    }

    @Test("the forms of a key id and of an issuer id are Apple's")
    func identifiers() {
        let (key, issuer) = (StoreFixture.keyId, StoreFixture.issuerId)
        for (keyId, issuerId, refusal) in [
            (key, issuer, nil), (key, issuer.uppercased(), nil), ("abcdefghij", issuer, nil),
            ("0123456789", issuer, nil),
            ("", issuer, "the key id"), ("2X9R4HXF3", issuer, "the key id"),
            ("2X9R4HXF345", issuer, "the key id"), ("2X9R4HXF3 ", issuer, "the key id"),
            ("2X9R4-XF34", issuer, "the key id"), ("2X9R4HXF\u{e9}", issuer, "the key id"),
            ("2X9R4HXF34\n", issuer, "the key id"), (issuer, key, "the key id"),
            (key, "", "the issuer id"), (key, key, "the issuer id"),
            (key, "69a6de70-03db-47e3-e053-5b8c7c11a4d", "the issuer id"),
            (key, issuer + " ", "the issuer id"), (key, "{\(issuer)}", "the issuer id"),
            (key, issuer.filter { $0 != "-" }, "the issuer id"),
        ] as [(String, String, String?)] {
            do throws(StoreError) {
                _ = try StoreKey(
                    encoded: Self.fixture.keyText, keyId: keyId, issuerId: issuerId)
                #expect(refusal == nil, "\(keyId) \(issuerId)")
            } catch {
                let text = refusal.map { $0 + " is not " } ?? "nothing"
                #expect(error.description.hasPrefix(text), "\(keyId) \(issuerId): \(error)")
            }
        }
    }

    // MARK: Secrets

    @Test("neither key nor token appear in a description, a dump, an error or a metric")
    func secrets() async throws {
        let key = Self.fixture.key
        let source = StoreTokenSource(key, bundleId: StoreFixture.bundleId)
        let token = try source.token(at: 1000)
        var texts = ["\(key)", "\(token)", "\(Self.fixture.configuration())"]
        for value in [key, token, Self.fixture.configuration()] as [any Sendable] {
            var text = ""
            dump(value, to: &text)
            texts += [text, String(reflecting: value), String(describing: value)]
        }
        let clock = FakeClock()
        let transport = ScriptedTransport { _, number in
            switch number {
            case 1: .status(401)
            case 2: .error(5_000_001, "again")
            default: .failure(.connectionLost("reset"))
            }
        }
        let client = try Self.fixture.client(nil, clock, transport)
        let early = try #require(await failure { try await client.answer(to: .transaction("1")) })
        let later = try #require(
            await failure {
                try await client.answer(to: .transaction("1"), timeout: .seconds(600))
            })
        texts += ["\(early)", String(reflecting: early)]
        texts += ["\(later)", String(reflecting: later), "\(client.metrics)", "\(client)"]
        let folder = try ScratchFolder()
        try folder.write(Self.fixture.keyText.dropLast(60) + [0x20], to: "key.p8")
        try Self.setMode(0o600, of: folder("key.p8"))
        let unread = try #require(Self.read(folder("key.p8")))
        texts.append("\(unread)")

        let secret = String(decoding: Self.fixture.keyText, as: UTF8.self).split(separator: "\n")
        let parts = token.text.split(separator: ".")
        #expect(transport.tokens.count > 2 && parts.count == 3)
        for text in texts {
            #expect(!text.isEmpty)
            for word in secret.dropFirst().dropLast() { #expect(!text.contains(word)) }
            for word in parts { #expect(!text.contains(word)) }
            for sent in transport.tokens { #expect(!text.contains(sent.suffix(20))) }
        }
    }
}
