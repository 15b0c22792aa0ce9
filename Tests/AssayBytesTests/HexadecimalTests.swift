import AssayBytes
import Testing

@Suite("Hexadecimal")
struct HexadecimalTests {
    @Test("digits of either case have a value, and no other character has one")
    func digits() {
        for byte in UInt8.min ... .max {
            let value = byte < 0x80 ? Int(String(UnicodeScalar(byte)), radix: 16) : nil
            #expect(byte.hexadecimalDigit.map(Int.init) == value)
            #expect(byte.isHexadecimalDigit == (value != nil))
        }
    }

    @Test(
        "bytes have two digits each",
        arguments: [
            ("", []), ("00", [0]), ("0aF9", [0x0A, 0xF9]), ("DEADbeef", [0xDE, 0xAD, 0xBE, 0xEF]),
            ("0", nil), ("0af", nil), ("0g", nil), ("g0", nil), ("0x", nil), (" 0", nil),
            ("+1", nil), ("\u{FF11}\u{FF12}", nil),
        ] as [(String, [UInt8]?)])
    func decoded(text: String, bytes: [UInt8]?) {
        #expect([UInt8](hexadecimal: text.utf8.span) == bytes)
        guard let bytes else { return }
        #expect(hexadecimal(bytes.span) == text.lowercased())
    }

    @Test("four digits have a value of 16 bits")
    func fourDigits() {
        let text = Array("x00fFg1234".utf8)
        #expect(text.span.hexadecimal4(at: 1) == 0xFF)
        #expect(text.span.hexadecimal4(at: 6) == 0x1234)
        for position in [0, 2, 5] { #expect(text.span.hexadecimal4(at: position) == nil) }
    }

    @Test("one octet of a message has a prefix")
    func message() {
        #expect(hexadecimal(0x0A) == "0x0a")
        #expect(hexadecimal(0xFF) == "0xff")
    }
}
