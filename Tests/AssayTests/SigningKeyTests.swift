import Assay
import AssayKeys
import AssayMint
import TestSupport
import Testing

@Suite struct SigningKeyTests {
    @Test(arguments: [
        (SigningKey.Kind.p256, 91, 65, 32), (.p384, 120, 97, 48), (.p521, 158, 133, 66),
        (.rsa(bits: 1024), 162, 140, 0), (.rsa(bits: 2048), 294, 270, 0),
    ])
    func sizes(kind: SigningKey.Kind, info: Int, point: Int, coordinate: Int) throws {
        let key = try SigningKey(generating: kind)
        #expect(key.subjectPublicKeyInfo.count == info)
        #expect(key.publicKey.count == point)
        #expect(key.coordinateSize == coordinate)
        #expect(key.keyIdentifier.count == 20)
        let der = try key.pkcs8()
        for encoded in [der, PEM.encode(der, label: "PRIVATE KEY")] {
            let again = try SigningKey(encoded: encoded)
            #expect(again.subjectPublicKeyInfo == key.subjectPublicKeyInfo)
        }
    }

    @Test func noKeys() {
        #expect(throws: SigningKeyError.generationFailed) {
            try SigningKey(generating: .rsa(bits: 1))
        }
        for text in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            #expect(throws: SigningKeyError.notAKey) { try SigningKey(encoded: Array(text.utf8)) }
        }
    }

    /// All copies of the prepared context sign, also at the same time.
    @Test func concurrentSignaturesVerify() async throws {
        let key = try SigningKey(generating: .p256)
        let results = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let text = Array("\(number)".utf8)
                    let point = key.publicKey
                    guard let der = try? key.signSHA256(text),
                        let raw = try? key.signRawSHA256(text),
                        let publicKey = PublicKey.ec(.p256, point: point.span)
                    else { return false }
                    return publicKey.verifiesECDSA(der.span, over: text.span, digest: .sha256)
                        && publicKey.verifiesES256(raw.span, over: text.span)
                        && !publicKey.verifiesES256(raw.span, over: (text + [0]).span)
                }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(results.count == 200 && results.allSatisfy { $0 })
    }

    @Test func noRawSignatureByRSA() throws {
        let key = try SigningKey(generating: .rsa(bits: 1024))
        #expect(throws: SigningKeyError.signingFailed) { try key.signSHA256([1]) }
        #expect(throws: SigningKeyError.signingFailed) { try key.signRawSHA256([1]) }
    }

    /// A public key alone cannot sign.
    @Test func publicKeyIsNotAPrivateKey() throws {
        let key = try SigningKey(generating: .p256)
        let pem = PEM.encode(key.subjectPublicKeyInfo, label: "PUBLIC KEY")
        #expect(throws: SigningKeyError.notAKey) { try SigningKey(encoded: pem) }
    }

    @Test(arguments: [
        SigningKey.Kind.p256, .p384, .p521, .rsa(bits: 1024), .rsa(bits: 2048),
    ])
    func signaturesVerify(kind: SigningKey.Kind) throws {
        guard let tool = try OpenSSLTool() else { return }
        defer { tool.cleanUp() }
        let key = try SigningKey(generating: kind)
        let text = Array("signed".utf8)
        let publicKey = try tool.file(
            "key.pem", PEM.encode(key.subjectPublicKeyInfo, label: "PUBLIC KEY"))
        let data = try tool.file("data", text)
        let other = try tool.file("other", text + [0])
        for (digest, name) in [
            (SigningKey.Digest.sha1, "-sha1"), (.sha256, "-sha256"), (.sha384, "-sha384"),
            (.sha512, "-sha512"),
        ] {
            let signature = try tool.file("signature", key.sign(text, digest: digest))
            func verify(_ path: String) throws -> Int32 {
                try tool.run(
                    "dgst", name, "-verify", publicKey, "-signature", signature, path
                ).status
            }
            #expect(try verify(data) == 0)
            #expect(try verify(other) != 0)
        }
    }

    /// r and s keep their leading zeros: one in 128 signatures is shorter in DER.
    @Test func rawSignaturesAreOfOneSize() throws {
        for (kind, size) in [(SigningKey.Kind.p256, 64), (.p384, 96), (.p521, 132)] {
            let key = try SigningKey(generating: kind)
            for index in 0..<64 {
                #expect(try key.signRaw([UInt8(index)], digest: .sha256).count == size)
            }
        }
        let rsa = try SigningKey(generating: .rsa(bits: 1024))
        #expect(throws: SigningKeyError.signingFailed) { try rsa.signRaw([], digest: .sha256) }
    }

    @Test func randomness() {
        #expect(randomBytes(0).isEmpty)
        #expect(randomBytes(32).count == 32)
        #expect(randomBytes(32) != randomBytes(32))
    }
}
