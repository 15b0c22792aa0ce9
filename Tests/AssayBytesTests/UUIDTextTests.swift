import AssayBytes
import Testing

@Suite("UUIDs as text") struct UUIDTextTests {
    @Test("a random one is of version 4 and variant 10, in lower case, and all digits vary")
    func random() {
        var seen = Set<String>()
        var digits = [Set<UInt8>](repeating: [], count: 36)
        for _ in 0..<500 {
            let text = UUIDText.random()
            #expect(UUIDText.isValid(text) && text == text.lowercased())
            let bytes = Array(text.utf8)
            #expect(bytes[14] == UInt8(ascii: "4") && "89ab".utf8.contains(bytes[19]))
            for (index, byte) in bytes.enumerated() { digits[index].insert(byte) }
            seen.insert(text)
        }
        #expect(seen.count == 500)
        for (index, values) in digits.enumerated() {
            let expected =
                [8, 13, 14, 18, 23].contains(index) ? 1 : index == 19 ? 4 : 16
            #expect(values.count == expected, "digit \(index)")
        }
    }

    @Test("another form is refused")
    func forms() {
        let uuid = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"
        #expect(UUIDText.isValid(uuid) && UUIDText.isValid(uuid.uppercased()))
        for text in [
            "", "-", uuid + "0", String(uuid.dropLast()), uuid.replacing("-", with: ""),
            uuid.replacing("7e3fb204", with: "7g3fb204"), "{\(uuid)}", " " + uuid,
            uuid.replacing("7e3fb204-2a9c", with: "7e3fb2042a-9c"),
        ] {
            #expect(!UUIDText.isValid(text), "\(text)")
        }
    }
}
