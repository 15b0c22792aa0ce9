import Testing

@testable import AssayBytes

struct Base64Tests {
    /// RFC 4648, section 10, without padding, and bytes whose text differs between the two
    /// alphabets.
    static let pairs: [(bytes: [UInt8], text: String)] = [
        ([], ""),
        (Array("f".utf8), "Zg"),
        (Array("fo".utf8), "Zm8"),
        (Array("foo".utf8), "Zm9v"),
        (Array("foob".utf8), "Zm9vYg"),
        (Array("fooba".utf8), "Zm9vYmE"),
        (Array("foobar".utf8), "Zm9vYmFy"),
        ([0xFB, 0xFF, 0xBF], "-_-_"),
        ([0x00], "AA"),
        ([0xFF], "_w"),
        ([0xFF, 0xFF], "__8"),
    ]

    @Test func urlPairs() throws {
        for (bytes, text) in Self.pairs {
            #expect(try Base64URL.decode([UInt8](text.utf8).span) == bytes)
            #expect(Base64URL.encode(bytes.span) == [UInt8](text.utf8))
        }
    }

    @Test func standardPairs() throws {
        for (bytes, text) in Self.pairs {
            let standard = Self.standard(text)
            #expect(try Base64.decode([UInt8](standard.utf8).span) == bytes)
            #expect(Base64.encode(bytes.span) == [UInt8](standard.utf8))
        }
    }

    static func standard(_ text: String) -> String {
        let digits = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(digits) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }

    @Test(
        "What base64url refuses",
        arguments: [
            ("A", .length), ("AAAAA", .length), ("=", .length),
            ("AA==", .invalidCharacter(offset: 2)), ("AAA=", .invalidCharacter(offset: 3)),
            ("+AAA", .invalidCharacter(offset: 0)), ("AAA/", .invalidCharacter(offset: 3)),
            ("AA A", .invalidCharacter(offset: 2)), ("AAAA\r\n", .invalidCharacter(offset: 4)),
            ("AAAA\n\n", .invalidCharacter(offset: 4)), ("AA\0A", .invalidCharacter(offset: 2)),
            ("AAAAAA.A", .invalidCharacter(offset: 6)), ("AAé", .invalidCharacter(offset: 2)),
            ("AB", .trailingBits), ("AP", .trailingBits), ("AAB", .trailingBits),
            ("AAAAAAD", .trailingBits), ("Zh", .trailingBits), ("Zm9", .trailingBits),
        ] as [(String, Base64Error)])
    func refusedURL(text: String, error: Base64Error) {
        #expect(throws: error) { try Base64URL.decode([UInt8](text.utf8).span) }
    }

    @Test(
        "What base64 refuses",
        arguments: [
            ("AA", .length), ("AAA", .length), ("AA=", .length), ("A", .length), ("=", .length),
            ("====", .invalidCharacter(offset: 0)), ("A===", .invalidCharacter(offset: 1)),
            ("AA=A", .invalidCharacter(offset: 2)), ("AA==AAAA", .invalidCharacter(offset: 2)),
            ("AAAA====", .invalidCharacter(offset: 4)), ("-AAA", .invalidCharacter(offset: 0)),
            ("AAA_", .invalidCharacter(offset: 3)), ("AAA\n", .invalidCharacter(offset: 3)),
            ("AB==", .trailingBits), ("AAB=", .trailingBits),
            ("\u{FF21}A", .invalidCharacter(offset: 0)),
        ] as [(String, Base64Error)])
    func refusedStandard(text: String, error: Base64Error) {
        #expect(throws: error) { try Base64.decode([UInt8](text.utf8).span) }
    }

    /// After one digit, exactly four of the 64 last digits are canonical; after two digits,
    /// sixteen.
    @Test("a digit's value is its offset in the alphabet, and padding is no digit")
    func values() {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        let (standard, url) = (Array((alphabet + "+/").utf8), Array((alphabet + "-_").utf8))
        for byte in UInt8.min ... .max {
            let (value, urlValue) = (standard.firstIndex(of: byte), url.firstIndex(of: byte))
            #expect(Base64.value(of: byte).map(Int.init) == value)
            #expect(Base64URL.value(of: byte).map(Int.init) == urlValue)
            #expect(Base64.isDigit(byte) == (value != nil))
            #expect(Base64URL.isDigit(byte) == (urlValue != nil))
        }
    }

    @Test func trailingBits() {
        let digits = [UInt8](
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        let one = digits.filter { (try? Base64URL.decode([digits[0], $0].span)) != nil }
        let two = digits.filter { (try? Base64URL.decode([digits[0], digits[0], $0].span)) != nil }
        #expect(one == [0, 16, 32, 48].map { digits[$0] })
        #expect(two == stride(from: 0, to: 64, by: 4).map { digits[$0] })
    }

    /// Every byte that is not a digit is refused at every position of a block.
    @Test func everyByte() {
        let digits = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for offset in 0..<8 {
            for byte in UInt8.min...UInt8.max {
                var text = [UInt8]("AAAAAAAA".utf8)
                text[offset] = byte
                let decoded = try? Base64URL.decode(text.span)
                #expect((decoded != nil) == digits.contains(byte))
            }
        }
    }

    /// Vector instructions read 32 characters at a time from 44 on. Every byte is refused there
    /// unless it is a digit, at every offset of three steps, in both alphabets.
    @Test func everyByteOfLongTexts() {
        for (coding, alphabet) in [(Base64Digits.url, "-_"), (Base64Digits.standard, "+/")] {
            let digits = Set(
                ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + alphabet).utf8)
            func decoded(_ text: [UInt8]) -> Result<[UInt8], Base64Error> {
                Result { () throws(Base64Error) in
                    var bytes: [UInt8] = []
                    try coding.decode(text.span, into: &bytes)
                    return bytes
                }
            }
            for offset in 0..<108 {
                for byte in UInt8.min...UInt8.max {
                    var text = [UInt8](repeating: UInt8(ascii: "A"), count: 112)
                    text[offset] = byte
                    // The table decodes a block of its own.
                    let start = offset / 4 * 4
                    let block = decoded(Array(text[start..<start + 4]))
                    switch (decoded(text), block) {
                    case (.success(let all), .success(let three)):
                        var expected = [UInt8](repeating: 0, count: 84)
                        expected.replaceSubrange(start / 4 * 3..<start / 4 * 3 + 3, with: three)
                        #expect(digits.contains(byte))
                        #expect(all == expected)
                    case (.failure(let error), .failure):
                        #expect(!digits.contains(byte))
                        #expect(error == .invalidCharacter(offset: offset))
                    default: Issue.record("\(offset) \(byte) \(alphabet)")
                    }
                }
            }
        }
    }

    /// Texts of every length around the steps of vector instructions. Under AddressSanitizer also:
    /// nothing is written beyond the octets.
    @Test func wholeOrInParts() throws {
        for count in 30..<200 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 59 &+ count) }
            let text = Base64URL.encode(bytes.span)
            // By the table alone.
            let parts = try stride(from: 0, to: text.count, by: 40).flatMap { start in
                try Base64URL.decode(Array(text[start..<min(start + 40, text.count)]).span)
            }
            #expect(parts == bytes)
            #expect(try Base64URL.decode(text.span) == bytes)
        }
    }

    @Test func roundTripOfAnyLength() throws {
        for count in 0..<300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ count) }
            #expect(try Base64URL.decode(Base64URL.encode(bytes.span).span) == bytes)
            #expect(try Base64.decode(Base64.encode(bytes.span).span) == bytes)
        }
    }

    @Test func appendsOrLeavesUnchanged() throws {
        var bytes: [UInt8] = [1, 2]
        try Base64URL.decode([UInt8]("Zm9v".utf8).span, into: &bytes)
        #expect(bytes == [1, 2] + Array("foo".utf8))
        #expect(throws: Base64Error.trailingBits) {
            try Base64URL.decode([UInt8]("Zm9vZh".utf8).span, into: &bytes)
        }
        #expect(bytes == [1, 2] + Array("foo".utf8))
    }
}
