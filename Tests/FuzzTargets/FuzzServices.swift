import AssayBytes
import AssayHTTP
import AssayWire

/// What calls of the services are made of: fields of messages, and gzip. The calls themselves are
/// seeds of HTTPConnection.
extension FuzzTarget {
    /// Invariants: the start of a field that is arriving is that of the whole message, and a
    /// field's range is in the bytes.
    static var fields: FuzzTarget {
        let seeds: [[UInt8]] = [
            [0x08, 0x05, 0x12, 0x02, 0x61, 0x62, 0xA2, 0x06, 0x01, 0x07],
            [0x2A, 0x02, 0x08, 0x06, 0xA2, 0x06, 0x03, 0x65, 0x79, 0x4A],
            [0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4],
        ]
        return FuzzTarget("Fields", seeds: seeds) { bytes in
            var (reader, arriving) = (FieldReader(), FieldReader())
            while let field = try? reader.next(in: bytes) {
                precondition(field.range.upperBound <= bytes.count)
                if case .bytes(let content) = field.value {
                    precondition(field.range.contains(content.lowerBound) || content.isEmpty)
                    precondition(content.upperBound == field.range.upperBound)
                }
                // With as few bytes as its tag and length have.
                var found: FieldReader.Field?
                for end in field.range.lowerBound...field.range.upperBound where found == nil {
                    found = try? arriving.begin(in: bytes.extracting(0..<end))
                }
                precondition(found == field, "a field that arrives differs")
                arriving.skip(field)
            }
        }
    }

    /// Invariants: no more bytes than the limit, and the same under every limit that admits them.
    static var gzip: FuzzTarget {
        let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        let end: [UInt8] = [0x43, 0xBE, 0xB7, 0xE8, 1, 0, 0, 0]
        let seeds: [[UInt8]] = [
            header + [0x4B, 0x04, 0x00] + end,
            header + [0x01, 0x01, 0x00, 0xFE, 0xFF, 0x61] + end,
        ]
        return FuzzTarget("Gzip", seeds: seeds) { bytes in
            let limit = 1 << 16
            guard let output = try? Gzip.decompress(bytes, limit: limit) else { return }
            precondition(output.count <= limit)
            precondition((try? Gzip.decompress(bytes, limit: output.count)) == output)
            precondition(
                output.isEmpty || (try? Gzip.decompress(bytes, limit: output.count - 1)) == nil)
        }
    }
}
