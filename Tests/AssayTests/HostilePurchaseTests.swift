import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Forged, damaged and oversized purchases of other stores.
@Suite struct HostilePurchaseTests {
    typealias Store = StoreFixture

    /// DigestInfo of SHA-1 before the digest (RFC 8017, section 9.2).
    private static let sha1Info: [UInt8] = [
        0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x05, 0x00, 0x04, 0x14,
    ]

    private static func block(
        type: UInt8 = 1, padding: [UInt8]? = nil, info: [UInt8] = sha1Info, digest: [UInt8],
        tail: [UInt8] = [], separator: [UInt8] = [0], size: Int = 256
    ) -> [UInt8] {
        let rest = separator + info + digest + tail
        let fill = padding ?? [UInt8](repeating: 0xFF, count: size - 2 - rest.count)
        let block = [0, type] + fill + rest
        return block + [UInt8](repeating: 0, count: max(0, size - block.count))
    }

    @Test("forged PKCS #1 v1.5: the one encoding that holds, and nine kinds that do not")
    func forgedPadding() {
        let text = Store.google()
        let digest = SHA1.digest(text.span).octets.span.array
        let info = Self.sha1Info
        let noNull: [UInt8] = [
            0x30, 0x1F, 0x30, 0x07, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x04, 0x14,
        ]
        let sha256Info: [UInt8] = [
            0x30, 0x25, 0x30, 0x0D, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02,
            0x01, 0x05, 0x00, 0x04, 0x14,
        ]
        var longLength = info
        longLength.replaceSubrange(0..<2, with: [0x30, 0x81, 0x21])
        let garbage = [UInt8](repeating: 0xA5, count: 200)
        var holed = [UInt8](repeating: 0xFF, count: 256 - 3 - info.count - digest.count)
        holed[100] = 0xFE
        let forged: [(String, [UInt8])] = [
            (
                "short padding, garbage after the digest",
                Self.block(
                    padding: [UInt8](repeating: 0xFF, count: 8), digest: digest, tail: garbage)
            ),
            ("no padding", Self.block(padding: [], digest: digest, tail: garbage)),
            (
                "zeros after the digest",
                Self.block(padding: [UInt8](repeating: 0xFF, count: 210), digest: digest)
            ),
            ("another octet in the padding", Self.block(padding: holed, digest: digest)),
            ("block type 2", Self.block(type: 2, digest: digest)),
            ("block type 0", Self.block(type: 0, digest: digest)),
            ("the OID of SHA-256", Self.block(info: sha256Info, digest: digest)),
            ("DigestInfo without NULL", Self.block(info: noNull, digest: digest)),
            ("a length in its long form", Self.block(info: longLength, digest: digest)),
            ("the digest alone", Self.block(info: [], digest: digest)),
            ("a digest cut off", Self.block(digest: Array(digest.dropLast()))),
            ("no separator", Self.block(digest: digest, separator: [0xFF])),
            (
                "garbage inside the DigestInfo",
                Self.block(
                    info: Array(info.dropLast(2)) + [0x05, 0x00, 0x04, 0x14], digest: digest)
            ),
        ]
        let key = Store.minter.key
        let genuine = Store.rawSignature(Self.block(digest: digest), key)
        #expect(Store.verify(Store.evidence(text, genuine)).verdict == .valid)
        for (name, block) in forged {
            #expect(block.count == 256, "\(name)")
            let signature = Store.rawSignature(Array(block.prefix(256)), key)
            #expect(
                Store.verify(Store.evidence(text, signature)).verdict == .invalidSignature,
                "\(name)")
        }
    }

    @Test("a key with the exponent 3, for which anybody can forge, is refused before use")
    func smallExponent() throws {
        // SubjectPublicKeyInfo with the exponent 3 in the place of 65537, lengths corrected.
        var der = Store.minter.key.subjectPublicKeyInfo
        #expect(der.suffix(5) == [0x02, 0x03, 0x01, 0x00, 0x01])
        der.replaceSubrange(der.count - 5..<der.count, with: [0x02, 0x01, 0x03])
        // Three lengths of two octets each: SEQUENCE, BIT STRING, SEQUENCE.
        for offset in [2, 21, 26] {
            let length = Int(der[offset]) << 8 | Int(der[offset + 1])
            (der[offset], der[offset + 1]) = (UInt8((length - 2) >> 8), UInt8((length - 2) & 0xFF))
        }
        #expect(throws: PurchaseKeyError.unsupportedSize(bits: 2048)) { try PurchaseKey(der) }
    }

    @Test("PSS holds with a salt of 32 octets alone")
    func pssSalts() throws {
        let text = Store.huawei()
        for salt: Int32 in [0, 20, 31, 32, 33, 64, 222] {
            let signature = try Store.minter.key.signPSS(text, salt: salt)
            let evidence = Store.evidence(text, signature, algorithm: "SHA256WithRSA/PSS")
            let answer = Store.verify(evidence, as: .huaweiPurchase)
            #expect(answer.verdict == (salt == 32 ? .valid : .invalidSignature), "\(salt)")
        }
    }

    @Test("one changed byte of each class: text, signature, and a signature of another size")
    func changedBytes() throws {
        let text = Store.google()
        let signature = try Store.minter.key.sign(text, digest: .sha1)
        for index in text.indices {
            var changed = text
            changed[index] ^= 0x01
            let verdict = Store.verify(Store.evidence(changed, signature)).verdict
            #expect([.invalidSignature, .malformed].contains(verdict), "byte \(index)")
        }
        for index in stride(from: 0, to: signature.count, by: 5) {
            var changed = signature
            changed[index] ^= 0x80
            #expect(Store.verify(Store.evidence(text, changed)).verdict == .invalidSignature)
        }
        for changed in [Array(signature.dropLast()), signature + [0], [0] + signature, [1]] {
            let answer = Store.verify(Store.evidence(text, changed))
            #expect(answer.verdict == .invalidSignature)
            #expect(answer.detail.contains("octets"))
        }
    }

    @Test("one changed byte of a purchase of Huawei, by both schemes")
    func changedBytesOfHuawei() throws {
        let text = Store.huawei()
        let schemes: [(String?, [UInt8])] = [
            (nil, try Store.minter.key.sign(text, digest: .sha256)),
            ("SHA256WithRSA/PSS", try Store.minter.key.signPSS(text)),
        ]
        func verify(_ text: [UInt8], _ signature: [UInt8], _ algorithm: String?) -> Verdict {
            Store.verify(
                Store.evidence(text, signature, algorithm: algorithm), as: .huaweiPurchase
            ).verdict
        }
        for (algorithm, signature) in schemes {
            #expect(verify(text, signature, algorithm) == .valid)
            for index in text.indices {
                var changed = text
                changed[index] ^= 0x01
                let verdict = verify(changed, signature, algorithm)
                #expect([.invalidSignature, .malformed].contains(verdict), "byte \(index)")
            }
            for index in stride(from: 0, to: signature.count, by: 5) {
                var changed = signature
                changed[index] ^= 0x80
                #expect(verify(text, changed, algorithm) == .invalidSignature)
            }
        }
    }

    @Test("keys of 1024 to 4096 bits, each good for its own signatures alone; none of 512")
    func keySizes() throws {
        let sizes = [1024, 2048, 3072, 4096]
        for bits in sizes {
            let minter = StoreMinter(key: Store.signingKey(bits: bits))
            let key = try PurchaseKey(minter.publicKey, allowsLegacySize: true)
            #expect(key.bits == bits)
            var policy = Store.policy
            policy.google.keys = [key]
            policy.huawei.keys = [key]
            let cases: [(EvidenceKind, [UInt8], StoreMinter.Scheme)] = [
                (.googlePurchase, Store.google(), .google),
                (.huaweiPurchase, Store.huawei(), .huawei),
                (.huaweiPurchase, Store.huawei(), .huaweiPSS),
            ]
            for (kind, text, scheme) in cases {
                let own = try minter.sign(text, scheme)
                #expect(Store.verify(own, as: kind, policy: policy).verdict == .valid, "\(bits)")
                let foreign = Store.verify(Store.sign(text, scheme), as: kind, policy: policy)
                #expect(foreign.verdict == .invalidSignature, "\(bits)")
            }
            if bits == 1024 {
                #expect(throws: PurchaseKeyError.unsupportedSize(bits: 1024)) {
                    try PurchaseKey(minter.publicKey)
                }
            }
        }
        let small = StoreMinter(key: Store.signingKey(bits: 512))
        let answer = Store.verify(try small.sign(Store.google(), .google))
        #expect(answer.verdict == .invalidSignature && answer.detail.contains("64 octets"))
    }

    @Test("texts around and inside the signature, and what the refusal says")
    func texts() throws {
        let text = Store.google()
        let base64 = String(decoding: try Store.minter.signature(of: text, .google), as: UTF8.self)
        let plus = base64.contains("+") ? base64.replacingAll("+", " ") : base64 + " "
        let cases: [(String, Verdict, String)] = [
            (base64, .valid, ""), (base64 + "\\n", .valid, ""),
            (" " + base64.prefix(76) + "\\r\\n\\t" + base64.dropFirst(76), .valid, ""),
            ("", .invalidSignature, "the signature is empty"),
            ("====", .malformed, "not base64"), ("not base64!", .malformed, ""),
            (String(base64.dropLast(3)), .malformed, "not base64"),
            (base64 + "=", .malformed, "not base64"),
            (base64.contains("+") ? plus : "A" + base64.dropFirst() + " ", .malformed, ""),
        ]
        for (signature, verdict, part) in cases {
            let data = JSONWriter.quoted(text)
            let evidence = Array(#"{"data":\#(data),"signature":"\#(signature)"}"#.utf8)
            let answer = Store.verify(evidence)
            if verdict == .malformed {
                #expect([.malformed, .invalidSignature].contains(answer.verdict))
            } else {
                #expect(answer.verdict == verdict, "\(signature.prefix(20)): \(answer.detail)")
            }
            #expect(answer.detail.contains(part), "\(answer.detail)")
        }
    }

    @Test("the refusal says what the opened signature shows")
    func opened() throws {
        let text = Store.google()
        let other = Store.google(index: 2)
        let key = Store.minter.key
        let foreign = Store.signingKey(bits: 2048)
        let huawei = Store.huawei()
        let cases: [([UInt8], [UInt8], EvidenceKind, has: String, hasNot: String)] = [
            (
                text, try key.sign(other, digest: .sha1), .googlePurchase, "text was changed",
                "another app"
            ),
            (
                text, try key.sign(text, digest: .sha256), .googlePurchase,
                "with SHA-256, not with RSASSA-PKCS1-v1_5 with SHA-1", "another text"
            ),
            (
                text, try key.sign(other, digest: .sha256), .googlePurchase, "and another text",
                "another app"
            ),
            (text, try key.signPSS(text), .googlePurchase, "RSASSA-PSS", "another app"),
            (
                text, try foreign.sign(text, digest: .sha1), .googlePurchase, "another app",
                "text was changed"
            ),
            (
                huawei, try key.sign(huawei, digest: .sha1), .huaweiPurchase, "with SHA-1",
                "another text"
            ),
            (
                huawei, try key.signPSS(huawei, salt: 20), .huaweiPurchase, "RSASSA-PSS",
                "another app"
            ),
        ]
        for (text, signature, kind, has, hasNot) in cases {
            let answer = Store.verify(Store.evidence(text, signature), as: kind)
            #expect(answer.verdict == .invalidSignature)
            #expect(answer.detail.contains(has), "\(answer.detail)")
            #expect(!answer.detail.contains(hasNot), "\(answer.detail)")
        }
    }

    @Test("a signature that was encoded once more, and a token in its place, are named")
    func wrapped() throws {
        let text = Store.google()
        let base64 = String(decoding: try Store.minter.signature(of: text, .google), as: UTF8.self)
        let token = try #require(try JSONDocument.parse(text).root["purchaseToken"]?.string)
        let percent = base64.replacingAll("=", "%3D").replacingAll("+", "%2B")
        let cases = [
            (percent, "percent-encoded"), (percent.lowercased() + "%3d", "percent-encoded"),
            (base64.replacingAll("=", #"\\u003d"#), "escapes of JSON"), (token, "purchaseToken"),
        ]
        for (signature, part) in cases {
            let data = JSONWriter.quoted(text)
            let text = #"{"data":\#(data),"signature":"\#(signature)"}"#
            let answer = Store.verify(Array(text.utf8))
            #expect(answer.verdict == .malformed, "\(answer.detail)")
            #expect(answer.detail.contains(part), "\(answer.detail)")
        }
    }

    @Test("a plus sign that became a space is named")
    func spaces() throws {
        for index in 1...20 {
            let text = Store.google(index: index)
            let base64 = String(
                decoding: try Store.minter.signature(of: text, .google), as: UTF8.self)
            guard base64.contains("+") else { continue }
            let data = JSONWriter.quoted(text)
            let spaced = base64.replacingAll("+", " ")
            let evidence = Array(#"{"data":\#(data),"signature":"\#(spaced)"}"#.utf8)
            let answer = Store.verify(evidence)
            #expect(answer.verdict != .valid)
            #expect(answer.detail.contains("form decoder turned + into spaces"))
        }
    }

    @Test("a text that was parsed and written again is refused, and the refusal says so")
    func rewritten() throws {
        let text = String(decoding: Store.google(), as: UTF8.self)
        let signature = try Store.minter.key.sign(Array(text.utf8), digest: .sha1)
        for changed in [
            text.replacingAll(":", ": "), text.replacingAll("{", "{ "),
            text.replacingAll("gold", "go\\/ld"),
            text.replacingAll("purchaseTime", "-").replacingAll("purchaseState", "purchaseTime")
                .replacingAll("-\"", "purchaseState\""),
        ] {
            let answer = Store.verify(Store.evidence(Array(changed.utf8), signature))
            #expect(answer.verdict == .invalidSignature)
            #expect(answer.detail.contains("written again"), "\(changed): \(answer.detail)")
        }
        for end in ["\n", "\r\n", " "] {
            let answer = Store.verify(Store.evidence(Array((text + end).utf8), signature))
            #expect(answer.verdict == .invalidSignature)
            #expect(answer.detail.contains("white space follows the text"))
        }
    }

    @Test("a static test product, which Google does not sign, is named")
    func staticProduct() {
        let text = Store.google(changing: ["productId": #""android.test.purchased""#])
        let answer = Store.verify(Store.evidence(text, []))
        #expect(answer.verdict == .invalidSignature)
        #expect(answer.detail.contains("static test product"))
    }

    @Test("signed texts that are no JSON object, or have a member twice")
    func malformedTexts() {
        let texts = [
            "", "{", "[]", "null", "0|1234|com.example|1", #"{"a":1,"a":1}"#,
            #"{"packageName":"a","packageName":"b"}"#, "{}{}", "\u{FEFF}{}",
        ]
        for text in texts {
            let answer = Store.verify(Store.sign(Array(text.utf8)))
            #expect(answer.verdict == .malformed, "\(text): \(answer.detail)")
        }
        #expect(Store.verify(Store.sign(Array("{}".utf8))).verdict == .wrongKind)
    }

    @Test("sizes: the longest text and envelope, and one byte more")
    func sizes() {
        func padded(_ size: Int) -> [UInt8] {
            let base = Store.google(changing: ["developerPayload": #""""#])
            let fill = String(repeating: "x", count: size - base.count)
            return Store.google(changing: ["developerPayload": "\"\(fill)\""])
        }
        #expect(Store.verify(Store.sign(padded(Limits.purchaseBytes))).verdict == .valid)
        let long = Store.verify(Store.sign(padded(Limits.purchaseBytes + 1)))
        #expect(long.verdict == .malformed && long.detail.contains("limit"))
        let evidence = Store.sign(Store.google())
        func spaced(_ size: Int) -> [UInt8] {
            evidence + [UInt8](repeating: 0x20, count: size - evidence.count)
        }
        #expect(Store.verify(spaced(Limits.purchaseEnvelopeBytes)).verdict == .valid)
        #expect(Store.verify(spaced(Limits.purchaseEnvelopeBytes + 1)).verdict == .malformed)
        for empty in [[], Array("{}".utf8), Array("null".utf8), Array(#"{"data":""}"#.utf8)] {
            #expect(Store.verify(empty).verdict == .malformed)
        }
    }
}

extension String {
    func replacingAll(_ text: String, _ other: String) -> String {
        split(separator: text, omittingEmptySubsequences: false).joined(separator: other)
    }
}

extension JSONWriter {
    /// A text as a JSON string.
    static func quoted(_ text: [UInt8]) -> String {
        var writer = JSONWriter()
        writer.value(String(decoding: text, as: UTF8.self))
        return String(decoding: writer.text, as: UTF8.self)
    }
}
