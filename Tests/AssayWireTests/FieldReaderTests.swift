import AssayWire
import Testing

@Suite("Fields of messages") struct FieldReaderTests {
    struct Case: CustomTestStringConvertible {
        let bytes: [UInt8]
        /// The numbers of the fields; nil: the message is refused.
        let numbers: [Int]?
        var testDescription: String { "\(bytes.prefix(16))" }

        init(_ bytes: [UInt8], _ numbers: [Int]?) {
            self.bytes = bytes
            self.numbers = numbers
        }
    }

    static let cases = [
        Case([], []),
        Case([0x08, 0x01], [1]),
        Case([0x08, 0x01, 0x12, 0x02, 0x61, 0x62], [1, 2]),
        Case([0x12, 0x00], [2]),
        Case([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4], [1, 2]),
        // Field 100, and the largest number.
        Case([0xA2, 0x06, 0x01, 0xFF], [100]),
        Case([0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0x00], [(1 << 29) - 1]),
        // The largest varint, and one bit more; a longer one.
        Case([0x08] + [UInt8](repeating: 0xFF, count: 9) + [0x01], [1]),
        Case([0x08] + [UInt8](repeating: 0xFF, count: 9) + [0x02], nil),
        Case([0x08] + [UInt8](repeating: 0x80, count: 10) + [0x00], nil),
        // Number 0, and one too large.
        Case([0x00, 0x01], nil),
        Case([0x80, 0x80, 0x80, 0x80, 0x10, 0x00], nil),
        // A tag and a length of five bytes, and of six.
        Case([0x88, 0x80, 0x80, 0x80, 0x00, 0x05], [1]),
        Case([0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 0x05], nil),
        Case([0x12, 0x81, 0x80, 0x80, 0x80, 0x00, 0x61], [2]),
        Case([0x12, 0x81, 0x80, 0x80, 0x80, 0x80, 0x00, 0x61], nil),
        // Groups, and wire types that do not exist.
        Case([0x0B, 0x0C], nil), Case([0x0C], nil), Case([0x0E, 0x01], nil),
        Case([0x0F, 0x01], nil),
        // Truncated: a tag, a number, a length, a content.
        Case([0x80], nil), Case([0x08], nil), Case([0x08, 0x80], nil), Case([0x12], nil),
        Case([0x12, 0x80], nil), Case([0x12, 0x02, 0x61], nil),
        Case([0x09, 1, 2, 3, 4, 5, 6, 7], nil), Case([0x15, 1, 2, 3], nil),
        // Lengths beyond the end, and beyond 32 bits.
        Case([0x12, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F], nil),
        Case([0x12] + [UInt8](repeating: 0xFF, count: 9) + [0x01], nil),
    ]

    @Test("messages, and their malformed neighbours", arguments: cases)
    func fields(_ test: Case) {
        var reader = FieldReader()
        var numbers: [Int]? = []
        do throws(MessageError) {
            while let field = try reader.next(in: test.bytes.span) { numbers?.append(field.number) }
        } catch {
            numbers = nil
        }
        #expect(numbers == test.numbers)
    }

    @Test("a field that has begun to arrive is found with its length, and not before")
    func beginning() throws {
        let message: [UInt8] = [0x08, 0x05, 0xA2, 0x06, 0x80, 0x02, 1, 2, 3]
        for count in 0...message.count {
            var reader = FieldReader()
            let bytes = message.span.extracting(0..<count)
            let first = try reader.begin(in: bytes)
            #expect((first != nil) == (count >= 2), "\(count)")
            guard let first else { continue }
            #expect(first.value == .varint(5))
            reader.skip(first)
            let second = try reader.begin(in: bytes)
            #expect((second != nil) == (count >= 6), "\(count)")
            if let second { #expect(second.value == .bytes(6..<6 + 256)) }
        }
    }

    @Test("packed numbers, and one without an end")
    func packed() throws {
        func read(_ bytes: [UInt8]) throws -> [UInt64] {
            var (reader, numbers): (FieldReader, [UInt64]) = (FieldReader(), [])
            while let number = try reader.nextPacked(in: bytes.span) { numbers.append(number) }
            return numbers
        }
        #expect(try read([0x01, 0x96, 0x01, 0x00]) == [1, 150, 0])
        #expect(throws: MessageError.malformed) { try read([0x01, 0x96]) }
    }

    @Test("what is built is read")
    func building() throws {
        var message = MessageBuilder()
        message.set(1, varint: .max)
        message.set(100, bytes: [7, 8])
        message.set(3, text: "é")
        var reader = FieldReader()
        let bytes = message.bytes
        #expect(try reader.next(in: bytes.span)?.value == .varint(.max))
        guard case .bytes(let second)? = try reader.next(in: bytes.span)?.value,
            case .bytes(let third)? = try reader.next(in: bytes.span)?.value
        else {
            Issue.record("no bytes")
            return
        }
        #expect(Array(bytes[second]) == [7, 8] && Array(bytes[third]) == [0xC3, 0xA9])
        #expect(try reader.next(in: bytes.span) == nil)
    }
}
