import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Lines 1 to 13 of the catalogue of hostile input: the JWS envelope.
@Suite struct HostileEnvelopeTests: HostileTokens {
    @Test("line 1: alg none in any case, or absent, with any signature")
    func algNone() {
        expect(Fixture.token(), .valid)
        for alg in ["none", "None", "NONE", "nOnE", "", "es256", "ES256 ", nil] {
            let token = Fixture.token(header: { $0.alg = alg })
            let unsigned = Fixture.token(header: { $0.alg = alg }, signature: { $0 = [] })
            expect(token, .unsupportedAlgorithm, comment: alg ?? "absent")
            expect(unsigned, .unsupportedAlgorithm, comment: alg ?? "absent")
        }
        for alg in ["null", "[\"ES256\"]", "true", "256", "{}"] {
            let token = Fixture.token(header: {
                $0.alg = nil
                $0.extraMembers = [("alg", alg)]
            })
            expect(token, .unsupportedAlgorithm, comment: alg)
        }
    }

    @Test("line 2: HS256 keyed by the leaf's public key")
    func algHS256() throws {
        // A library with one `verify(token, key)` would take the leaf's key as the MAC key. Here
        // the algorithm is refused before any MAC is compared, so these bytes do not matter.
        for alg in ["HS256", "HS384", "HS512", "RS256", "PS256", "EdDSA", "ES256K"] {
            for size in [32, 48, 64, 256] {
                let token = Fixture.token(
                    header: { $0.alg = alg }, signature: { $0 = [UInt8](repeating: 7, count: size) }
                )
                expect(token, .unsupportedAlgorithm, comment: alg)
            }
        }
    }

    @Test("line 3: ES384, and ES256 over a leaf of another key type")
    func otherKeys() throws {
        for kind in [SigningKey.Kind.p384, .p521, .rsa(bits: 2048)] {
            let key = try SigningKey(generating: kind)
            let issuer = try #require(Fixture.ca.intermediateKey)
            let leaf = try DevelopmentCA.makeLeaf(
                under: issuer, validity: Fixture.validity, key: key
            ) { _ in }
            let certificates = [
                leaf.der, Fixture.ca.intermediateCertificate, Fixture.ca.rootCertificate,
            ]
            let signer = kind == .rsa(bits: 2048) ? Fixture.ca.leafKey : key
            let chain = SigningChain(certificates: certificates, key: signer)
            expect(
                Fixture.token(Fixture.payload(), chain), .unsupportedAlgorithm, comment: "\(kind)")
            let other = Fixture.token(Fixture.payload(), chain, header: { $0.alg = "ES384" })
            expect(other, .unsupportedAlgorithm, comment: "\(kind)")
        }
        expect(Fixture.token(header: { $0.alg = "ES384" }), .unsupportedAlgorithm)
    }

    @Test("line 4: jwk, jku, x5u, kid, x5t are ignored, and a jwk's key signs nothing")
    func embeddedKeys() throws {
        let members = [
            ("jwk", #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#),
            ("jku", "\"https://example.com/keys\""), ("x5u", "\"file:///etc/passwd\""),
            ("kid", "\"https://example.com/key\""), ("x5t", "\"AAAA\""), ("x5t#S256", "1"),
            ("typ", "\"JWT\""), ("unknown", "[{}]"),
        ]
        expect(Fixture.token(header: { $0.extraMembers = members.map { ($0, $1) } }), .valid)

        let key = try SigningKey(generating: .p256)
        let point = key.publicKey
        let (first, second) = (Array(point[1..<33]), Array(point[33..<65]))
        let x = Fixture.text(Base64URL.encode(first.span))
        let y = Fixture.text(Base64URL.encode(second.span))
        let jwk = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#
        var header = MintedJWSHeader(certificates: Fixture.ca.chain.certificates)
        header.extraMembers = [("jwk", jwk)]
        expect(try Minter(key: key, header: header).sign(Fixture.payload()), .invalidSignature)
        header.x5c = nil
        expect(try Minter(key: key, header: header).sign(Fixture.payload()), .invalidChain)
    }

    @Test("line 5: crit, b64 and zip are refused")
    func criticalMembers() {
        let refused = [
            ("crit", "[\"exp\"]"), ("crit", "[]"), ("crit", "null"), ("b64", "false"),
            ("b64", "true"), ("zip", "\"DEF\""),
        ]
        for (name, json) in refused {
            let token = Fixture.token(header: { $0.extraMembers = [(name, json)] })
            expect(token, .malformed, comment: "\(name) \(json)")
        }
        for name in ["Crit", "critical", "B64"] {
            expect(
                Fixture.token(header: { $0.extraMembers = [(name, "1")] }), .valid, comment: name)
        }
    }

    @Test("line 6: duplicate members in the header, escapes resolved")
    func duplicateHeaderMembers() {
        let refused = [
            ("alg", "\"ES256\""), ("alg", "\"none\""), (#"\u0061lg"#, "\"ES256\""),
            ("x5c", "[]"), (#"x\u0035c"#, "[]"), (#"\u0078\u0035\u0063"#, "[]"),
        ]
        for (name, json) in refused {
            let token = Fixture.token(header: { $0.extraMembers = [(name, json)] })
            expect(token, .malformed, comment: name)
        }
        // The escaped name alone counts as `alg`.
        let escaped = Fixture.token(header: {
            $0.alg = nil
            $0.extraMembers = [(#"\u0061lg"#, "\"ES256\"")]
        })
        expect(escaped, .valid)
    }

    @Test("line 7: duplicate members in the payload, nested ones too")
    func duplicatePayloadMembers() {
        let payload = Fixture.text(Fixture.payload())
        let refused = [
            #""bundleId":"com.example.app""#, #""bundle\u0049d":"com.example.app""#,
            #""environment":"Production""#, #""transactionId":"1""#,
            #""extra":{"a":1,"a":1}"#, #""extra":[[{"a":1,"\u0061":2}]]"#,
        ]
        for member in refused {
            let token = Fixture.token(Array((payload.dropLast() + "," + member + "}").utf8))
            expect(token, .malformed, comment: member)
        }
        let distinct = payload.dropLast() + #","extra":[{"a":1},{"a":1}],"bundleid":""}"#
        expect(Fixture.token(Array(distinct.utf8)), .valid)

        let notification = Fixture.text(Fixture.payload(.notification))
        let twice = notification.replacing("\"data\":{", with: "\"data\":{\"bundleId\":\"a\",")
        expect(Fixture.token(Array(twice.utf8)), .malformed, as: .notification)
    }

    @Test("line 8: any other number of segments, empty ones, dots alone", .timeLimit(.minutes(1)))
    func segments() {
        let parts = Fixture.segments(Fixture.token())
        let (header, payload, signature) = (parts[0], parts[1], parts[2])
        let refused: [[[UInt8]]] = [
            [], [header], [header, payload], [header, payload, signature, []],
            [[], header, payload, signature], [header, payload, signature, signature],
            [header, payload, signature, signature, signature], [[], payload, signature],
            [header, [], signature], [[], [], []], [header, payload, [], signature],
        ]
        for (index, segments) in refused.enumerated() {
            expect(Fixture.join(segments), .malformed, comment: "\(index)")
        }
        // Three segments, but the signature is empty.
        expect(Fixture.join([header, payload, []]), .invalidSignature)
        for count in [1, 2, 3, 4, 65_536, 4 << 20] {
            let dots = [UInt8](repeating: UInt8(ascii: "."), count: count)
            expect(dots, .malformed, comment: "\(count) dots")
            expect(dots, .malformed, as: .notification, comment: "\(count) dots")
        }
    }

    @Test("line 8: the size limit, one byte below and above it")
    func sizeLimit() {
        // The limit is 64 KiB per JWS. An unknown member pads the payload.
        func token(padding: Int) -> [UInt8] {
            let padding = String(repeating: "x", count: padding)
            return Fixture.token(Fixture.payload(changing: ["padding": "\"\(padding)\""]))
        }
        let empty = token(padding: 0).count
        var padding = (Limits.jwsBytes - empty) / 4 * 3
        while token(padding: padding + 1).count <= Limits.jwsBytes { padding += 1 }
        expect(token(padding: padding), .valid)
        expect(token(padding: padding + 1), .malformed)
    }

    @Test("line 9: only canonical base64url")
    func base64url() {
        let parts = Fixture.segments(Fixture.token())
        let inserted: [[UInt8]] = [
            "+", "/", "=", "==", " ", "\t", "\r\n", "\n", "\0", "А", "ａ", "%3D", "\u{200B}",
            "\u{FEFF}",
        ].map { Array($0.utf8) }
        for index in 0..<3 {
            for extra in inserted {
                for offset in [0, parts[index].count / 2, parts[index].count] {
                    var changed = parts
                    changed[index].insert(contentsOf: extra, at: offset)
                    // One line break can follow the token.
                    let isLineBreak = index == 2 && offset == parts[2].count && extra.last == 0x0A
                    expect(
                        Fixture.join(changed), isLineBreak ? .valid : .malformed,
                        comment: "\(index) \(extra) \(offset)")
                }
            }
            // A single digit in the last group encodes no byte.
            var changed = parts
            while changed[index].count % 4 != 1 { changed[index].append(UInt8(ascii: "A")) }
            expect(Fixture.join(changed), .malformed, comment: "segment \(index)")
        }
        // 64 octets end in a digit whose last four bits belong to no octet.
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var changed = parts
        let last = alphabet.firstIndex(of: parts[2][85]) ?? 0
        for bits in 1..<16 {
            changed[2][85] = alphabet[last + bits]
            expect(Fixture.join(changed), .malformed, comment: "trailing bits \(bits)")
        }
        for (text, before, after) in [
            (" ", Verdict.malformed, Verdict.malformed), ("\n", .malformed, .valid),
            ("\n\n", .malformed, .malformed), ("", .valid, .valid),
        ] {
            expect(Array(text.utf8) + Fixture.token(), before)
            expect(Fixture.token() + Array(text.utf8), after)
        }
    }

    @Test("line 10: the digits - and _ in header and payload pass")
    func urlDigits() {
        let text = "\"??>>~~üÿÿ?>~?>~>?\""
        let token = Fixture.token(
            Fixture.payload(changing: ["note": text]),
            header: { $0.extraMembers = [("kid", text), ("a", text)] })
        let parts = Fixture.segments(token)
        for part in parts[..<2] {
            #expect(part.contains(UInt8(ascii: "-")) && part.contains(UInt8(ascii: "_")))
        }
        expect(token, .valid)
    }

    private func base64(_ bytes: [UInt8]) -> String {
        Fixture.text(Base64.encode(bytes.span))
    }

    @Test(
        "line 11: x5c is standard base64 with padding, of DER without trailing bytes",
        arguments: 0..<3)
    func x5cEncoding(position: Int) throws {
        let der = Fixture.ca.chain.certificates[position]
        let plain = base64(der)
        // With one byte more, padding is tested even where the certificate's size needs none.
        let padded = base64(der + [0])
        let texts = [
            plain.replacing("+", with: "-").replacing("/", with: "_"), plain + "=", plain + "====",
            " " + plain, plain + " ", String(plain.dropLast()),
            plain.prefix(64) + "\\n" + plain.dropFirst(64), plain.prefix(64) + "\\r\\n",
            "-----BEGIN CERTIFICATE-----\\n" + plain + "\\n-----END CERTIFICATE-----",
            padded, base64(der + der),
            base64(der.dropLast()), "", "abc", "YWJj", plain + "a",
        ]
        for text in texts where text != plain {
            let token = Fixture.token(header: { $0.x5c?[position] = text })
            expect(token, .malformed, comment: text)
        }
        let slashes = plain.replacing("/", with: "\\/")
        expect(Fixture.token(header: { $0.x5c?[position] = slashes }), .valid)
    }

    @Test("line 11: an entry of x5c has at most 4 KiB")
    func x5cEntrySize() {
        // The third entry must be one element and is otherwise not trusted. The limit applies to
        // the Base64 text, in groups of four digits.
        for (size, verdict) in [(4095, Verdict.valid), (4096, .valid), (4099, .malformed)] {
            let der = DERWriter.build {
                $0.element(tag: 0x30, content: .init(repeating: 0, count: size - 4))
            }
            let text = base64(der)
            expect(Fixture.token(header: { $0.x5c?[2] = text }), verdict, comment: "\(size)")
        }
    }

    @Test(
        "line 12: JSON edge cases in a payload",
        arguments: [
            ("-0", .valid), ("9007199254740993", .valid), ("9223372036854775808", .valid),
            ("1e999", .valid), ("1.5", .valid), (#""\ud83d\ude00""#, .valid),
            ("NaN", .malformed), ("Infinity", .malformed), ("+1", .malformed), ("01", .malformed),
            (".5", .malformed), ("1.", .malformed), ("0x10", .malformed), ("'a'", .malformed),
            (#""\ud800""#, .malformed), (#""\udc00\ud800""#, .malformed), ("1/**/", .malformed),
            ("1//\n", .malformed), ("[1,]", .malformed), ("\"\u{1}\"", .malformed),
            ("undefined", .malformed), ("tru", .malformed), ("", .malformed), ("1}", .malformed),
        ] as [(String, Verdict)])
    func json(value: String, verdict: Verdict) {
        let text = Fixture.text(Fixture.payload()).dropLast() + ",\"extra\":" + value + "}"
        expect(Fixture.token(Array(text.utf8)), verdict, comment: value)
    }

    @Test("line 12: depth, counts, sizes, encodings and trailing bytes", .timeLimit(.minutes(1)))
    func jsonShapes() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        // The payload itself is the first level.
        for (depth, verdict) in [
            (1, Verdict.valid), (16, .valid), (31, .valid), (32, .malformed), (17_000, .malformed),
        ] {
            let token = Fixture.token(Fixture.payload(changing: ["extra": nested(depth)]))
            expect(token, verdict, comment: "depth \(depth)")
        }
        #expect(throws: JSONError.self) {
            try JSONDocument.parse([UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
        }
        let many = (0..<4000).map { "\"k\($0)\":0" }.joined(separator: ",")
        expect(Fixture.token(Fixture.payload(changing: ["extra": "{\(many)}"])), .valid)
        expect(
            Fixture.token(Fixture.payload(changing: ["extra": "{\(many),\"k7\":0}"])), .malformed)

        let payload = Fixture.payload()
        let bytes: [([UInt8], Verdict)] = [
            ([0xEF, 0xBB, 0xBF] + payload, .malformed), (payload + [0], .malformed),
            (payload + payload, .malformed), (payload + Array(" \n".utf8), .valid),
            (Array("\t".utf8) + payload, .valid), (payload.dropLast(), .malformed),
            (
                payload.dropLast() + Array(",\"x\":\"".utf8) + [0xC0, 0x80] + Array("\"}".utf8),
                .malformed
            ),
            (payload.dropLast() + Array(",\"x\":\"".utf8) + [0xFF] + Array("\"}".utf8), .malformed),
            (payload.flatMap { [$0, 0] }, .malformed), ([], .malformed),
        ]
        for (index, (bytes, verdict)) in bytes.enumerated() {
            expect(Fixture.token(bytes), verdict, comment: "\(index)")
        }
    }

    @Test("line 12: members of a wrong type refuse the payload")
    func wrongTypes() {
        let refused: [(String, String, Verdict)] = [
            ("signedDate", "\"1767225600000\"", .invalidDate),
            ("purchaseDate", "\"2026\"", .malformed),
            ("quantity", "1.5", .malformed), ("price", "1e999", .malformed),
            ("transactionId", "1", .malformed), ("bundleId", "[\"com.example.app\"]", .malformed),
            ("environment", "{}", .malformed), ("purchaseDate", "1e999", .malformed),
        ]
        for (name, json, verdict) in refused {
            expect(
                Fixture.token(Fixture.payload(changing: [name: json])), verdict,
                comment: "\(name) \(json)")
        }
        // Xcode writes fractions.
        expect(
            Fixture.token(Fixture.payload(changing: ["purchaseDate": "1767225600000.25"])), .valid)
    }

    @Test(
        "line 13: a payload or header that is not an object",
        arguments: ["[]", "\"\"", "1", "null", "true", "[{}]", "\"{}\""])
    func noObject(json: String) {
        expect(Fixture.token(Array(json.utf8)), .malformed)
        expect(Fixture.token(header: { $0.raw = Array(json.utf8) }), .malformed)
    }
}
