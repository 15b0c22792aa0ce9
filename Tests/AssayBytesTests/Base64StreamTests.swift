import AssayBytes
import AssayMint
import Testing

@Suite struct Base64StreamTests {
    /// Decodes the text in chunks. Returns nil when it is refused.
    private static func decode(_ text: [UInt8], chunk: Int = .max) -> [UInt8]? {
        var stream = Base64Stream()
        var bytes: [UInt8] = []
        do throws(Base64Error) {
            var start = 0
            while start < text.count {
                let end = min(text.count, chunk == .max ? .max : start + chunk)
                try stream.decode(Array(text[start..<end]).span, into: &bytes)
                start = end
            }
            try stream.finish(into: &bytes)
        } catch {
            return nil
        }
        return bytes
    }

    @Test(arguments: [
        ("", ""), ("Zg==", "f"), ("Zg", "f"), ("Zm8=", "fo"), ("Zm8", "fo"), ("Zm9v", "foo"),
        ("Zm9vYg==", "foob"), ("Zm9v\r\nYg==", "foob"), ("Z m9vYg==\r\n", "foob"),
        ("Zm9vYg=\n=", "foob"), ("Zm9vYg== \n \r", "foob"), ("\r\nZm9v", "foo"),
    ])
    func accepts(text: String, expected: String) {
        for chunk in [1, 2, 3, 4, 5, Int.max] {
            #expect(
                Self.decode(Array(text.utf8), chunk: chunk) == Array(expected.utf8),
                "\(text.debugDescription) by \(chunk)")
        }
    }

    @Test(arguments: [
        "Z", "Zm9vY", "Zg=", "Zg===", "Zm9v=", "Zm9v==", "Zm8==", "=", "====", "Zh==", "Zm9=",
        "Zg==Zg==", "Zm9vYg==Zm9v", "Zm9v\tYg==", "Zm9v\u{0}", "Zm-v", "Zm_v", "Zm9v.", "Zm9v!",
        "Zm9\u{e9}", "\u{FEFF}Zm9v",
    ])
    func refuses(text: String) {
        for chunk in [1, 2, 3, 4, 5, Int.max] {
            #expect(
                Self.decode(Array(text.utf8), chunk: chunk) == nil,
                "\(text.debugDescription) by \(chunk)")
        }
    }

    /// Faults are found at every position of a text longer than one block.
    @Test func longTexts() {
        var random = SplitMix64(state: 7)
        let bytes = random.bytes(20_000)
        let text = Base64.encode(bytes.span)
        #expect(Self.decode(text) == bytes)
        for chunk in [1, 63, 4096, 4097, 10_001] {
            #expect(Self.decode(text, chunk: chunk) == bytes, "\(chunk)")
            #expect(
                Self.decode(ReceiptMinter.base64(bytes, lineLength: 76), chunk: chunk) == bytes,
                "\(chunk)")
        }
        for _ in 0..<50 {
            var broken = text
            let index = Int(random.next() % UInt64(text.count - 2))
            broken[index] = [0x00, 0x2D, 0x5F, 0x80, 0xFF, 0x3D][Int(random.next() % 6)]
            #expect(Self.decode(broken, chunk: 5000) == nil, "\(index)")
        }
    }
}
